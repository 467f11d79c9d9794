"""The big explorer: every mechanism of the chapter, on one sentence.

Its home is ``07_fused_multihead``, where the ladder of mechanisms is complete. A class that stands
in a notebook's cell is shown by ``attention_explorer(CausalAttention)``: the explorer opens on the
mechanism that it is, which is told by its layers, and computes that with the class. What is no such
class gets a ``TypeError``.
"""

from dataclasses import replace
from functools import partial
from typing import Any

from chapter3_helpers.dot_products import simple_self_attention
from chapter3_helpers.explorers.core.attention_state import (
    State,
    attention_flow,
    attention_state,
    dropped_cells,
    number_path,
)
from chapter3_helpers.explorers.core.controls import (
    Buttons,
    Clicked,
    DropDown,
    Seed,
    Settings,
    Slider,
    Steps,
    Switch,
    TextField,
    Thumbnails,
)
from chapter3_helpers.explorers.core.drawings import Flow
from chapter3_helpers.explorers.core.handmade_heads import HEADS
from chapter3_helpers.explorers.core.inputs import divisors, row_buttons
from chapter3_helpers.explorers.core.lines import Lines
from chapter3_helpers.explorers.core.mechanisms import (
    AT_RANDOM,
    BY_HAND,
    CAUSAL,
    CLASSES,
    FUSED,
    SIMPLE,
    SPLIT,
    UNMASKED,
    WRAPPER,
    Classes,
    by_hand,
    mechanism_of,
    module_arguments,
)
from chapter3_helpers.explorers.core.panels import Facts, Heads, Matrix, Note, Panel
from chapter3_helpers.explorers.core.source import OldExplorer, sentence_code
from chapter3_helpers.explorers.core.strips import STRIPS, Strip, code_of
from chapter3_helpers.explorers.core.widget import Explorer, described
from chapter3_helpers.fused_multihead import count_parameters

TEXT = "Ann saw cats and Bob saw dogs"
WEIGHTS, COMPUTATION, NUMBER = "weights", "how they come about", "one number"
MOST_HEADS = 24
CLICK = {"q": "row", "k": "column", "show": NUMBER}
STRIP = {"q": "row", "k": "column", "strip": "strip"}


def has_heads(settings: Settings) -> bool:
    return settings["mechanism"] in (WRAPPER, SPLIT, FUSED)


def at_random(settings: Settings) -> bool:
    return settings["mechanism"] != SIMPLE and not by_hand(settings)


def head_options(settings: Settings) -> list[int]:
    """Return the numbers of heads that can be had: divisors of d_out where they share it."""
    if not has_heads(settings):
        return [1]
    if by_hand(settings):
        return list(range(1, len(HEADS) + 1))
    wrapper = settings["mechanism"] == WRAPPER
    return list(range(1, MOST_HEADS + 1)) if wrapper else divisors(settings["d_out"])


def head_names(settings: Settings) -> list[tuple[str, int]]:
    """Return what each head is called: by what it was made for, or by its number."""
    names = HEADS if by_hand(settings) else [f"head {head}" for head in range(MOST_HEADS)]
    return [(name, head) for head, name in enumerate(list(names)[: settings["num_heads"]])]


CONTROLS = (
    Buttons(
        "show",
        "show",
        WEIGHTS,
        "The weights, the way to them, or the arithmetic of one of them",
        options=(WEIGHTS, COMPUTATION, NUMBER),
    ),
    DropDown("mechanism", "mechanism", SPLIT, "Which attention", options=(SIMPLE, *CLASSES)),
    TextField("text", "sentence", TEXT, "Type a sentence of your own, in any language"),
    Buttons(
        "made",
        "made",
        BY_HAND,
        "Weight matrices that were made for something, or untrained ones",
        lambda settings: settings["mechanism"] != SIMPLE,
        options=(BY_HAND, AT_RANDOM),
        presented=False,
    ),
    Seed("seed", "seed", 123, "Another seed draws other weights", at_random),
    Slider(
        "scale",
        "inputs ×",
        4,
        "By what the inputs are multiplied; at 1 untrained weights are nearly even",
        lambda settings: not by_hand(settings),
        low=1,
        high=12,
        presented=False,
    ),
    Slider(
        "d_out",
        "d_out",
        8,
        "Numbers per context vector: of each head (wrapper), or of all heads together",
        at_random,
        low=1,
        high=24,
        presented=False,
    ),
    Steps(
        "num_heads",
        "heads",
        4,
        "How many heads; where they share d_out, only its divisors",
        has_heads,
        options=head_options,
        presented=False,
    ),
    Slider(
        "dropout",
        "dropout",
        0.0,
        "Share of the weights dropped, as in training; the mask is drawn natively",
        lambda settings: settings["mechanism"] not in UNMASKED,
        low=0.0,
        high=0.9,
        step=0.1,
        presented=False,
    ),
    Switch(
        "causal",
        "hide the future",
        True,
        "The causal mask; built in from 05 on",
        lambda settings: settings["mechanism"] in UNMASKED,
    ),
    Thumbnails("head", "head", 0, "Which head to show in large", has_heads, options=head_names),
    row_buttons(default=6),
    row_buttons(
        2,
        name="column",
        label="about",
        tooltip="Whose key it meets",
        presented=False,
    ),
    Clicked("strip", "strip", None, "The strip of the diagram that was clicked", options=STRIPS),
)


def attention_panels(settings: Settings, classes: Classes = CLASSES) -> list[Panel]:
    """Return the heads to choose from, what is said of one, and the view that was asked for."""
    state = attention_state(settings, classes)
    tokens = state.tokens
    head = min(settings["head"], len(state.weights) - 1)
    row, column = (min(settings[name], len(tokens) - 1) for name in ("row", "column"))
    names = [name for name, _ in head_names(settings)]
    title = f"weights of “{names[head]}”" if has_heads(settings) else "attention weights"
    panels: list[Panel] = [Note(_note(settings, state, head))]
    if has_heads(settings):
        panels.append(Heads(state.weights, state.hidden))
    matrix = Matrix(
        title,
        state.weights[head],
        tokens,
        hidden=state.hidden,
        marked_row=row,
        marked_column=column,
        click=CLICK if state.explained else None,
    )
    if state.weights is not state.undropped:
        matrix = replace(matrix, dropped=dropped_cells(state)[head])
    if not state.explained:
        return [*panels, matrix]
    if settings["show"] == COMPUTATION:
        flow = attention_flow(state, head, row)
        large = partial(attention_flow, state, head, row, alone=True)
        panels.append(Flow(flow, large, click=STRIP))
        strip = settings.get("strip")
        for drawn in (flow, large()) if strip else ():
            if strip in {block.name for block in drawn.blocks}:
                code = strip_code(settings, state, strip, classes)
                return [*panels, Strip(strip, drawn[strip].shape, code)]
        return panels
    lines = Lines(
        "the same, as lines", state.weights[head], tokens, None, state.hidden, row, click=CLICK
    )
    if settings["show"] == NUMBER:
        return [*panels, matrix, number_path(settings, state, head, row, column), lines]
    module, shape = state.module, tuple(state.weights.shape)  # (H, T, T)
    facts = {
        "x": tuple(state.x.shape),
        "weights": shape if has_heads(settings) or shape[0] > 1 else shape[1:],
        "context": tuple(state.context.shape),
        "parameters": 0 if module is None else f"{count_parameters(module):,}",
        "row sums": " ".join(f"{total:.2f}" for total in state.weights[head].sum(dim=-1)),
    }
    return [*panels, matrix, lines, Facts(facts, "shapes and sums")]


def _note(settings: Settings, state: State, head: int) -> str:
    said = _note_of_own_class(settings, state)
    if state.explained:
        said.append(_note_of_weights(settings, state, head))
    return " ".join(said)


def _note_of_own_class(settings: Settings, state: State) -> list[str]:
    """Say that a class is the reader's, and what it does otherwise than its mechanism."""
    if state.module is None or type(state.module) in CLASSES.values():
        return []
    said = [f"This is {type(state.module).__name__} as it stands in your notebook."]
    if state.hidden is None and settings["mechanism"] not in UNMASKED:
        said.append("It hides nothing: every token sees the future.")
    if not state.scaled:
        said.append("It does not divide the scores by √D.")
    if not state.explained:
        said.append(
            "What it computes is not the softmax of its queries times its keys, times its values: "
            "only its weights can be shown."
        )
    return said


def _note_of_weights(settings: Settings, state: State, head: int) -> str:
    if by_hand(settings):
        made_for = list(HEADS.values())[head]
        return f"Made by hand, this head attends to {made_for}."
    times = settings["scale"]
    scaled = f"; the inputs are multiplied by {times}, so that it shows" if times > 1 else ""
    if state.module is None:
        return f"Nothing is learned here: a token attends to what resembles it{scaled}."
    return f"Untrained: what a head prefers is chance{scaled}."


def attention_code(settings: Settings, classes: Classes = CLASSES) -> list[str]:
    """Return the lines of Python that compute the weights without the explorer."""
    mechanism, seed, p = settings["mechanism"], settings["seed"], settings["dropout"]
    if by_hand(settings):
        home = "chapter3_helpers.explorers.core.handmade_heads"
        imports = [f"from {home} import make_by_hand, place_and_kind"]
        lines = [f"tokens, x = place_and_kind({settings['text']!r})"]
    else:
        sentence_import, sentence = sentence_code(settings["text"])
        imports, lines = [sentence_import], [sentence]
        if settings["scale"] != 1:
            lines.append(f"x = {settings['scale']} * x")
    if mechanism == SIMPLE:
        imports.append("from chapter3_helpers.dot_products import simple_self_attention")
        lines.append("_, weights = simple_self_attention(x)")
    else:
        kind = classes[mechanism]
        if kind is CLASSES[mechanism]:
            imports.append(f"from {kind.__module__} import {kind.__name__}")
        arguments = module_arguments(settings, "len(x)", classes).items()
        call = f"{kind.__name__}({', '.join(f'{name}={size}' for name, size in arguments)})"
        if by_hand(settings):
            lines.append(f"attention = make_by_hand({call}, x)")
        else:
            lines += [f"torch.manual_seed({seed})", f"attention = {call}"]
        lines.append("weights = attention.attention_weights(x).detach()")
    if mechanism in UNMASKED and settings["causal"]:
        imports.append("from chapter3_helpers.masking import mask_then_renormalise")
        lines.append("weights = mask_then_renormalise(weights)")
    elif mechanism not in UNMASKED and p > 0:
        imports.append("from chapter3_helpers.dropout import dropout_mask")
        heads = 1 if mechanism == CAUSAL else settings["num_heads"]
        lines += [
            f"kept = dropout_mask(({heads}, len(x), len(x)), {p:g}, {seed})",
            f"weights = weights * kept / (1 - {p:g})",
        ]
    return ["import torch", *sorted(imports), "", *lines]


def strip_code(settings: Settings, state: State, strip: str, classes: Classes = CLASSES) -> str:
    """Return the line of Python that makes a strip of the diagram."""
    around = attention_code(settings, classes)
    around = [line for line in around if not line.startswith(("from", "import"))]
    source: Any = simple_self_attention
    if state.module is not None:
        one_head = hasattr(state.module, "heads") and strip not in ("concat", "output")
        source = type(state.module.heads[0] if one_head else state.module)
    return code_of(strip, source, around)


@described(CONTROLS)
def attention_explorer(attention_class: type | None = None, /, **settings: Any) -> Explorer:
    name, classes = "attention", CLASSES
    if attention_class is not None:
        mechanism = mechanism_of(attention_class)
        name = f"attention, as {attention_class.__name__} computes it"
        classes = {**CLASSES, mechanism: attention_class}
        settings = {"mechanism": mechanism, **settings}
    panels, lines = (partial(of, classes=classes) for of in (attention_panels, attention_code))
    return OldExplorer(name, CONTROLS, panels, lines, settings)
