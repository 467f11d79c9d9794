"""The explorer of ``05_dropout``: p and seed, both generators side by side."""

import torch

from chapter3_helpers.dropout import cpu_dropout_generator, dropout_mask
from chapter3_helpers.explorers.controls import Settings, Slider, Switch
from chapter3_helpers.explorers.inputs import seeded
from chapter3_helpers.explorers.panels import Facts, Matrix, Note, Panel, four_decimals
from chapter3_helpers.explorers.widget import explorer_function
from chapter3_helpers.masking import causal_mask, mask_then_renormalise
from chapter3_helpers.sentence import TOKENS, example_inputs
from chapter3_helpers.trainable_qkv import SelfAttention_v2

CONTROLS = (
    Slider("p", "p", 0.5, "The probability that a weight is dropped", low=0.0, high=0.9, step=0.05),
    Slider("seed", "seed", 123, "Another seed draws another mask", low=0, high=999),
    Switch("training", "training", True, "Dropout works in training only; model.eval() ends it"),
)


def dropout_state(settings: Settings) -> dict[str, torch.Tensor]:
    """Return the causal weights (6, 6) before dropout, and after it by either generator."""
    with seeded(789):
        attention = SelfAttention_v2(3, 2)
    with torch.no_grad():
        weights = mask_then_renormalise(attention.attention_weights(example_inputs()))
    state = {"weights": weights}
    for generator in ("native", "mkl"):
        kept = dropout_mask((6, 6), settings["p"], settings["seed"], generator)
        dropped = weights * kept / (1 - settings["p"])
        state[generator] = dropped if settings["training"] else weights
    return state


def dropout_panels(settings: Settings) -> list[Panel]:
    """Return the weights after dropout by both generators, and their row sums."""
    state = dropout_state(settings)
    hidden = causal_mask(6)
    facts = {"kept weights are multiplied by": f"{1 / (1 - settings['p']):.4f}"}
    for name in ("weights", "native", "mkl"):
        sums = state[name].sum(dim=-1)
        facts[f"row sums, {'before' if name == 'weights' else name}"] = (
            f"{four_decimals(sums)}; mean {sums.mean():.4f}"
        )
    return [
        Note(_note(settings)),
        Matrix("native: one draw for each cell", state["native"], TOKENS, hidden=hidden),
        Matrix("mkl: one draw seeds them all", state["mkl"], TOKENS, hidden=hidden),
        Facts(facts, "row by row"),
    ]


def _note(settings: Settings) -> str:
    if not settings["training"]:
        return "Outside training nothing is dropped and nothing is scaled, whatever p and seed are."
    kinds = {"native": "the left one", "mkl": "the right one"}
    return (
        f"Both masks are right for seed {settings['seed']}; PyTorch draws "
        f"{kinds[cpu_dropout_generator()]} on this machine. A row sums to 1 only on average."
    )


def dropout_code(settings: Settings) -> list[str]:
    """Return the lines of Python that compute the same weights."""
    lines = [
        "import torch",
        "from chapter3_helpers.dropout import dropout_mask",
        "from chapter3_helpers.masking import mask_then_renormalise",
        "from chapter3_helpers.sentence import example_inputs",
        "from chapter3_helpers.trainable_qkv import SelfAttention_v2",
        "",
        "torch.manual_seed(789)",
        "attention = SelfAttention_v2(3, 2)",
        "weights = mask_then_renormalise(attention.attention_weights(example_inputs()).detach())",
        "native = mkl = weights",
    ]
    p, seed = settings["p"], settings["seed"]
    if settings["training"]:
        lines += [
            f'{name} = {name} * dropout_mask((6, 6), {p:g}, {seed}, "{name}") / (1 - {p:g})'
            for name in ("native", "mkl")
        ]
    return lines


dropout_explorer = explorer_function("dropout", CONTROLS, dropout_panels, dropout_code)
