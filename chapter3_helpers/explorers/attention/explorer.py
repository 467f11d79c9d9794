"""The big explorer: every mechanism of the chapter, on one sentence.

Used by ``05_dropout``, ``06_multihead_wrapper`` and ``one_page``. A class that stands in a
notebook's cell is shown by ``attention_explorer(CausalAttention)``: the explorer opens on the
mechanism that it is, which is recognised by its layers, and computes that with the class. Anything
else gets a ``TypeError``.
"""

from functools import partial
from typing import Any

from chapter3_helpers._language import say, sentences, to_say
from chapter3_helpers.explorers.attention.flow import MOST_HEADS, STRIPS, Strip, attention_flow
from chapter3_helpers.explorers.attention.handmade_heads import HEADS
from chapter3_helpers.explorers.attention.mechanisms import (
    AT_RANDOM,
    BY_HAND,
    CLASSES,
    HAVING_HEADS,
    SIMPLE,
    SPLIT,
    UNMASKED,
    WRAPPER,
    mechanism_of,
)
from chapter3_helpers.explorers.attention.states import STATES, AttentionState
from chapter3_helpers.explorers.core.controls import (
    Buttons,
    Clicked,
    DropDown,
    Seed,
    Slider,
    Steps,
    Switch,
    TextField,
    Thumbnails,
)
from chapter3_helpers.explorers.core.drawings import Flow
from chapter3_helpers.explorers.core.inputs import divisors, options_of, read_tokens, token_options
from chapter3_helpers.explorers.core.lines import Lines
from chapter3_helpers.explorers.core.number_path import NumberPath
from chapter3_helpers.explorers.core.panels import Facts, Heads, Matrix, Note, Panel
from chapter3_helpers.explorers.core.widget import Explorer, OneOf, described
from chapter3_helpers.fused_multihead import count_parameters

TEXT = "Ann saw cats and Bob saw dogs"
WEIGHTS, COMPUTATION = to_say("weights"), to_say("how they come about")
NUMBER = to_say("one number")
CLICK_WEIGHT = {"q": "row", "k": "column", "show": NUMBER}
CLICK_STRIP = {"q": "row", "k": "column", "strip": "strip"}


def has_heads(mechanism: str) -> bool:
    return mechanism in HAVING_HEADS


def at_random(mechanism: str, made: str) -> bool:
    return mechanism != SIMPLE and made == AT_RANDOM


def head_options(mechanism: str, made: str, d_out: int) -> list[int]:
    """Return the numbers of heads that can be had: divisors of d_out where they share it."""
    if not has_heads(mechanism):
        return [1]
    if made == BY_HAND:
        return list(range(1, len(HEADS) + 1))
    return list(range(1, MOST_HEADS + 1)) if mechanism == WRAPPER else divisors(d_out)


def head_names(mechanism: str, made: str, num_heads: int) -> list[tuple[str, int]]:
    """Return what each head is called: by what it was made for, or by its number."""
    by_hand = made == BY_HAND and mechanism != SIMPLE
    names = HEADS if by_hand else [say("head {head}", head=head) for head in range(MOST_HEADS)]
    return [(name, head) for head, name in enumerate(list(names)[:num_heads])]


TOKENS = options_of(read_tokens, token_options)
CONTROLS = (
    Buttons(
        "show",
        say("show"),
        WEIGHTS,
        say("The weights, the way to them, or the arithmetic of one of them"),
        options=(WEIGHTS, COMPUTATION, NUMBER),
    ),
    DropDown(
        "mechanism", say("mechanism"), SPLIT, say("Which attention"), options=(SIMPLE, *CLASSES)
    ),
    TextField("text", say("sentence"), TEXT, say("Type a sentence of your own, in any language")),
    Buttons(
        "made",
        say("made"),
        BY_HAND,
        say("Weight matrices that were made for something, or untrained ones"),
        lambda mechanism: mechanism != SIMPLE,
        options=(BY_HAND, AT_RANDOM),
        presented=False,
    ),
    Seed("seed", say("seed"), 123, say("Another seed draws other weights"), at_random),
    Slider(
        "scale",
        say("inputs ×"),
        4,
        say("By what the inputs are multiplied; at 1 untrained weights are nearly even"),
        lambda mechanism, made: mechanism == SIMPLE or made == AT_RANDOM,
        low=1,
        high=12,
        presented=False,
    ),
    Slider(
        "d_out",
        "d_out",
        8,
        say("Numbers per context vector: of each head (wrapper), or of all heads together"),
        at_random,
        low=1,
        high=24,
        presented=False,
    ),
    Steps(
        "num_heads",
        say("heads"),
        4,
        say("How many heads; where they share d_out, only its divisors"),
        has_heads,
        options=head_options,
        presented=False,
    ),
    Slider(
        "dropout",
        say("dropout"),
        0.0,
        say("Share of the weights dropped, as in training; the mask is drawn natively"),
        lambda mechanism: mechanism not in UNMASKED,
        low=0.0,
        high=0.9,
        step=0.1,
        presented=False,
    ),
    Switch(
        "causal",
        say("hide the future"),
        True,
        say("The causal mask; built in from 05 on"),
        lambda mechanism: mechanism in UNMASKED,
    ),
    Thumbnails(
        "head", say("head"), 0, say("Which head to show in large"), has_heads, options=head_names
    ),
    Buttons("row", say("asking"), 6, say("Whose row of weights to read"), options=TOKENS),
    Buttons(
        "column",
        say("about"),
        2,
        say("Whose key it meets"),
        lambda show: show == NUMBER,
        options=TOKENS,
        presented=False,
    ),
    Clicked("strip", "strip", None, "The strip of the diagram that was clicked", options=STRIPS),
)


def attention_panels(
    state: AttentionState,
    *,
    show: str,
    mechanism: str,
    made: str,
    scale: int,
    num_heads: int,
    head: int,
    row: int,
    column: int,
    strip: str | None,
) -> list[Panel]:
    """Return the heads to choose from, what is said of one, and the view that was asked for."""
    tokens, hidden, several = state.tokens, state.hidden, has_heads(mechanism)
    head = min(head, len(state.weights) - 1)
    row, column = (min(number, len(tokens) - 1) for number in (row, column))
    weights = state.weights[head]
    panels: list[Panel] = [Note(_note(state, mechanism, made, scale, head))]
    if several:
        panels.append(Heads(state.weights, hidden))
    name, _ = head_names(mechanism, made, num_heads)[head]
    matrix = Matrix(
        say("weights of “{name}”", name=name) if several else say("attention weights"),
        weights,
        tokens,
        hidden=hidden,
        marked_row=row,
        marked_column=column if show == NUMBER else None,
        dropped=~state.kept[head] if state.dropout else None,
        click=None if state.fault else CLICK_WEIGHT,
    )
    if state.fault:
        return [*panels, matrix]
    if show == COMPUTATION:
        flow = attention_flow(state, head, row)
        large = partial(attention_flow, state, head, row, alone=True)
        panels.append(Flow(flow, large, click=CLICK_STRIP))
        for drawn in (flow, large()) if strip else ():
            if strip in {block.name for block in drawn.blocks}:
                return [*panels, Strip(strip, drawn[strip].shape)]
        return panels
    lines = Lines(say("the same, as lines"), weights, tokens, None, hidden, row, click=CLICK_WEIGHT)
    if show == NUMBER:
        vectors = state.queries[head], state.keys[head], state.values[head]
        how = {"hidden": hidden, "scaled": state.scaled, "p": state.dropout}
        kept = state.kept[head] if state.dropout else None
        path = NumberPath(tokens, row, column, *vectors, kept=kept, **how)
        return [*panels, matrix, path, lines]
    shape = tuple(state.weights.shape)  # (H, T, T)
    facts = {
        "x": tuple(state.x.shape),
        "weights": shape if several or shape[0] > 1 else shape[1:],
        "context": tuple(state.context.shape),
        say("parameters"): 0 if state.module is None else f"{count_parameters(state.module):,}",
        say("row sums"): " ".join(f"{total:.2f}" for total in weights.sum(dim=-1)),
    }
    return [*panels, matrix, lines, Facts(facts, say("shapes and sums"))]


def _note(state: AttentionState, mechanism: str, made: str, scale: int, head: int) -> str:
    said = []
    if state.module is not None and type(state.module) not in CLASSES.values():
        name = type(state.module).__name__
        said.append(say("This is {name} as it stands in your notebook.", name=name))
        if state.fault:
            return sentences(*said, state.fault, say("Only its weights can be shown."))
        if state.hidden is None and mechanism not in UNMASKED:
            said.append(say("It hides nothing: every token sees the future."))
        if not state.scaled:
            said.append(say("It does not divide the scores by √D."))
    multiplied = to_say(
        "Untrained: what a head prefers is chance; the inputs are multiplied by {scale}, so that "
        "it shows."
    )
    plain = to_say("Untrained: what a head prefers is chance.")
    if state.module is None:
        multiplied = to_say(
            "Nothing is learned here: a token attends to what resembles it; the inputs are "
            "multiplied by {scale}, so that it shows."
        )
        plain = to_say("Nothing is learned here: a token attends to what resembles it.")
    elif made == BY_HAND:
        return sentences(*said, list(HEADS.values())[head])
    return sentences(*said, say(multiplied if scale > 1 else plain, scale=scale))


@described(CONTROLS)
def attention_explorer(attention_class: type | None = None, /, **settings: Any) -> Explorer:
    name, states = say("attention"), STATES
    if attention_class is not None:
        mechanism = mechanism_of(attention_class)
        name = say("attention, as {name} computes it", name=attention_class.__name__)
        own = partial(states[mechanism].func, attention_class=attention_class)
        states = {**STATES, mechanism: own}
        settings = {"mechanism": mechanism, **settings}
    state = OneOf("mechanism", states)
    return Explorer(name, CONTROLS, state, attention_panels, settings, own=attention_class)
