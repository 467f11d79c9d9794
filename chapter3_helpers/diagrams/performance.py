"""What is read from memory and written to it, by attention step after step and by a fused kernel.

Used by ``12_performance``.
"""

from collections.abc import Mapping

from chapter3_helpers.diagrams.core import Arrow, Block, Bracket, Diagram


def traffic_diagram(traffic: Mapping[str, int], fused: Mapping[str, int]) -> Diagram:
    """Draw both ways from queries, keys and values to context, with the bytes of each step.

    Args:
        traffic: bytes moved by the steps ``compare``, ``softmax`` and ``mix``, one by one.
        fused: the same in one kernel.

    Raises:
        ValueError: a step is missing.

    >>> moved = {"compare": 10**9, "softmax": 5 * 10**9, "mix": 10**9}
    >>> [arrow.text for arrow in traffic_diagram(moved, moved).arrows]
    ['1.00 GB', '5.00 GB', '1.00 GB', 'fused: 7.00 GB']
    """
    steps = ("compare", "softmax", "mix")
    for name, counts in {"traffic": traffic, "fused": fused}.items():
        if set(steps) - set(counts):
            raise ValueError(
                f"{name} must hold the bytes of {', '.join(steps)}, got {list(counts)}"
            )
    small, large = "(B, H, T, D)", "(B, H, T, T)"
    blocks = [
        Block(name="q, k, v", shape=small),
        Block(name="scores", at=(1, 0), shape=large, state="lit"),
        Block(name="weights", at=(2, 0), shape=large, state="lit"),
        Block(name="context", at=(3, 0), shape=small),
        Block(name="q, k, v, fused", at=(0, 1), shape=small, caption="q, k, v"),
        Block(name="context, fused", at=(3, 1), shape=small, caption="context"),
    ]
    words = {step: f"{traffic[step] / 1e9:.2f} GB" for step in steps}
    total = sum(fused[step] for step in steps) / 1e9
    arrows = [
        Arrow("q, k, v", "scores", words["compare"]),
        Arrow("scores", "weights", words["softmax"]),
        Arrow("weights", "context", words["mix"]),
        Arrow("q, k, v, fused", "context, fused", f"fused: {total:.2f} GB"),
    ]
    brackets = [
        Bracket(
            "step by step: all of this lies in memory", ("q, k, v", "scores", "weights", "context")
        ),
    ]
    return Diagram("What crosses the memory bus", blocks, arrows, brackets)
