"""What is drawn: all heads, those that come first by a measure, and one of them in large."""

from collections.abc import Sequence
from dataclasses import dataclass

from chapter3_helpers._figures.writing import short
from chapter3_helpers._language import in_a_row, say, sentences, to_say
from chapter3_helpers.explorers.core.lines import Lines
from chapter3_helpers.explorers.core.panels import Bars, Matrix, Note, Panel
from chapter3_helpers.explorers.model.cutting import written_heads
from chapter3_helpers.explorers.model.measures import LOST, sentence
from chapter3_helpers.explorers.model.montage import Large, Montage
from chapter3_helpers.explorers.model.padding import spans
from chapter3_helpers.explorers.model.ranking import Ranking
from chapter3_helpers.explorers.model.state import ModelState
from chapter3_helpers.explorers.model.text import Text
from chapter3_helpers.explorers.model.written import HeadNote, Written

AS_TABLE, AS_LINES = 16, 24  # tokens, at most
NARROW = 10  # more columns have turned labels
LISTED, NAMED = 6, 5  # heads
LARGEST = 12  # weights of a row
READ = 0.005  # a smaller weight is written as 0.00
CLICK_ROW = {"q": "row"}


def model_panels(
    state: ModelState, *, sort: str, layer: int, head: int, row: int, layers: range
) -> list[Panel]:
    """Return all heads, those that come first by a measure, and one of them in large."""
    read, window, measures = state.read, state.window, state.measures
    places = [(i, j) for i in layers for j in range(len(read.layers[i]))]
    names = [say("layer {layer}, head {head}", layer=read.numbers[i], head=j) for i, j in places]
    its_name = say("Layer {layer}, head {head}", layer=read.numbers[layer], head=head)
    chosen = places.index((layer, head))
    listed = [places.index(place) for place in state.order[:LISTED]]
    outlined = [(i - layers.start, j) for i, j in state.order[:LISTED]]
    if chosen not in listed:
        listed = [*listed, chosen]
    queries, keys = _labels(read.names)[read.first : len(read.tokens)], _labels(read.key_names)
    weights, hidden = window.of(state.weights), window.hidden(*window.shape)
    longest, without = max(len(queries), len(keys)), window.left_out is not None
    lines = [
        sentence(measures, chosen, its_name, brief=brief, without_first=without)
        for brief in (False, True)
    ]
    off = _listed(state.off)
    panels: list[Panel] = [
        Montage(
            state.tiles,
            chosen=(layer - layers.start, head),
            first=layers.start,
            outlined=outlined,
            off=[(i - layers.start, j) for i, j in state.off if i in layers],
            said=names[chosen],
        ),
        _note(state, [sentences(said, *_passed_over(state)) for said in lines], (layer, head)),
        *([Written(_labels(read.names), *state.answers, off)] if state.answers else []),
        Ranking(
            measures,
            listed,
            [places[n] for n in listed],
            read.numbers,
            chosen,
            sort,
            beside=len(listed) > 1 and not state.tiles.above,
        ),
    ]
    large = Large(names[chosen], weights, window, row, queries, keys)
    if longest <= AS_TABLE:
        marked = {"hidden": hidden, "marked_row": row, "click": CLICK_ROW}
        marked["narrow"] = longest > NARROW
        shown = large if state.tiles.above and longest > NARROW else None
        panels.append(Table(names[chosen], weights, queries, keys, **marked, large=shown))
    else:
        panels.append(large)
    beside = longest > (NARROW if state.tiles.above else AS_TABLE)
    panels.append(_row(state, row, say("where {token} looks", token=queries[row]), keys, beside))
    if state.answers and longest <= AS_TABLE:
        return panels  # with what the model says there is enough to look at
    if longest <= AS_LINES:
        title = say("the same, as lines")
        panels.append(Lines(title, weights, queries, keys, hidden, row, click=CLICK_ROW))
    else:
        panels += _texts(state, row, say("what {token} looks at", token=queries[row]))
    return panels


@dataclass(frozen=True, kw_only=True)
class Table(Matrix):
    """One head of few tokens, with its numbers; from the back row as a picture, if there is one."""

    large: Large | None

    def presented(self) -> Panel:
        return self.large.presented() if self.large else super().presented()


def _note(state: ModelState, said: list[str], head: tuple[int, int]) -> Note:
    """Return what a head does and, where it can be, what switches it off or on."""
    if not state.answers:
        return Note(*said)
    if head in state.off:
        off = say("It is off: what it finds goes nowhere.")
        said = [sentences(line, off) for line in said]
        left, action = [other for other in state.off if other != head], say("Switch it on")
    else:
        left, action = [*state.off, head], say("Switch it off")
    return HeadNote(*said, off=written_heads(left), action=action)


def _listed(heads: Sequence[tuple[int, int]]) -> str:
    """Write heads as they stand in a sentence: up to five by name, or how many there are."""
    names = [f"{layer}.{head}" for layer, head in heads]
    if len(names) > NAMED:
        return say("{count} heads", count=len(names))
    return in_a_row(names) if names else ""


def _labels(names: Sequence[str]) -> list[str]:
    return [f"{i} {short(name.strip())}" for i, name in enumerate(names)]


def _passed_over(state: ModelState) -> list[str]:
    """Say what is not shown, if there is anything, in sentences."""
    read, said = state.read, []
    parts = [
        (to_say("layers {first} to {last} of {count}"), state.layers, len(read.layers)),
        (to_say("rows {first} to {last} of {count}"), state.window.rows, len(state.weights)),
        (to_say("columns {first} to {last} of {count}"), state.window.columns, len(read.keys)),
    ]
    cut = [
        say(text, first=part.start, last=part.stop - 1, count=f"{count:,}")
        for text, part, count in parts
        if len(part) < count
    ]
    if cut:
        said.append(say("Shown are {parts}.", parts=say(", ").join(cut)))
    if read.unread:
        last = read.names[-1].strip()
        said.append(say("“{token}” was generated last and has no row yet.", token=last))
    if not read.is_text.all():
        places = spans((~read.is_text).nonzero().flatten().tolist())
        padding = to_say(
            "Rows that weigh all keys alike, as padding does, count in no mean: {places}. "
            "attention_mask would say what is text."
        )
        if read.told:
            padding = to_say("Padding, which counts in no mean: {places}.")
        said.append(say(padding, places=places))
    return said


def _row(state: ModelState, row: int, title: str, keys: Sequence[str], beside: bool) -> Bars:
    """Return the largest numbers of one row, what the others sum to, and what goes nowhere."""
    read, weights = state.read, state.weights[row]
    if read.causal and read.has_text[row]:
        weights = weights[: read.first + row + 1]
    largest, places = weights.topk(min(LARGEST, len(weights)))
    numbers = places[largest > READ].sort().values.tolist()
    values, labels = weights[numbers].tolist(), [keys[k] for k in numbers]
    total, count = weights.sum().item(), len(weights) - len(numbers)
    others = total - sum(values)
    if others > READ:
        values.append(others)
        several = to_say("{count} others") if numbers else to_say("{count} tokens")
        single = say("1 other") if numbers else say("1 token")
        labels.append(single if count == 1 else say(several, count=f"{count:,}"))
    if 1 - total > LOST:
        values.append(1 - total)
        labels.append(say("to no token"))
    return Bars(title, labels, values, 2, beside=beside, side="key", numbers=numbers)


def _texts(state: ModelState, row: int, looks: str) -> list[Panel]:
    """Return the tokens in the colours of a row of weights, those of the queries to be clicked."""
    read, (rows, columns) = state.read, (state.window.rows, state.window.columns)
    weights = state.weights[row, columns.start : columns.stop]
    keys = read.key_names[columns.start : columns.stop]
    if not (read.cross or read.first) and rows == columns:
        return [Text(looks, keys, columns.start, weights, "qk", row, CLICK_ROW)]
    queries = read.names[read.first + rows.start : read.first + rows.stop]
    return [
        Text(say("whose row is read"), queries, rows.start, None, "q", row, CLICK_ROW, read.first),
        Text(looks, keys, columns.start, weights, "k"),
    ]
