"""The live diagram from x to the context vectors, and what is said of a strip that was clicked."""

from dataclasses import dataclass

from chapter3_helpers._language import say, sentences
from chapter3_helpers.diagrams import Diagram, attention_diagram
from chapter3_helpers.explorers.attention.states import AttentionState
from chapter3_helpers.explorers.core.panels import Panel
from chapter3_helpers.explorers.core.style import escape

MOST_HEADS = 24
PARTS = {
    "x": say("The tokens as they come in, a row each."),
    "queries": say("What each token looks for, a row each."),
    "keys": say("What each token offers to be found by, a row each."),
    "keys.T": say("The keys, transposed: a column for each token."),
    "values": say("What each token hands over if it is attended to."),
    "scores": say("The dot products of each query, a row, with every key."),
    "scaled": say("The scores, divided by √D so that softmax does not become a step."),
    "masked": say("The scores, with -inf where a key comes later than the query."),
    "weights": say("The shares that each query, a row, gives to the keys."),
    "dropped": say("The weights after dropout: some are 0, the others larger."),
    "context": say("The values, mixed by the weights of each query."),
    "concat": say("The context vectors of all heads, side by side."),
    "output": say("What out_proj makes of all heads together."),
}
HEAD_PARTS = ("queries", "keys.T", "values", "weights", "dropped", "context")
STRIPS = (*PARTS, *(f"{part} {head}" for part in HEAD_PARTS for head in range(MOST_HEADS)))


@dataclass(frozen=True)
class Strip(Panel):
    """One strip of the diagram: its name, its shape, and a sentence."""

    name: str
    shape: str
    beside = True
    picture = False

    def html(self) -> str:
        part, _, head = self.name.partition(" ")
        name = say("{part} of head {head}", part=part, head=head) if head else part
        shape = say("Its shape is {shape}.", shape=self.shape)
        said = escape(sentences(PARTS[part], shape))
        return f'<div class="c3w c3strip"><p><b>{escape(name)}</b>: {said}</p></div>'


def attention_flow(state: AttentionState, head: int, row: int, alone: bool = False) -> Diagram:
    """Draw how the context vectors come about: one head step by step, several side by side; or one
    of several alone."""
    parts = {"weights": state.undropped, "context": state.mixed}
    if state.module is not None:
        parts |= {"queries": state.queries, "keys": state.keys, "values": state.values}
    if state.dropout:
        parts["dropped"] = state.weights
    if state.out_proj and not alone:
        parts["output"] = state.context
    elif alone or len(state.weights) == 1:
        parts["scores"] = state.scores
        if state.scaled:
            parts["scaled"] = state.scores / state.queries.shape[-1] ** 0.5
        parts = {name: part[head] for name, part in parts.items()}
    return attention_diagram(
        x=state.x,
        hidden=state.hidden,
        tokens=state.tokens,
        query=row,
        head=head,
        live=True,
        **parts,
    )
