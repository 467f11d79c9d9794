"""The explorer of ``13_tensor_parallel``: which head lives where, and what a token costs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from chapter3_helpers.explorers.core.controls import Buttons, Settings, Slider, Steps, Switch
from chapter3_helpers.explorers.core.drawings import Curves
from chapter3_helpers.explorers.core.inputs import divisors
from chapter3_helpers.explorers.core.panels import Facts, Note, Panel
from chapter3_helpers.explorers.core.source import source_of
from chapter3_helpers.explorers.core.widget import explorer_function
from chapter3_helpers.grouped_query import kv_cache_bytes
from chapter3_helpers.tensor_parallel import exchanged_bytes, heads_by_process

HEADS = (8, 12, 16, 24, 32)
HEAD_DIMS = (32, 64, 96, 128, 192, 256)
BYTES = 2  # a number in bfloat16
BYTES_PER_SECOND, LINK, START = 3.35e12, 400e9, 10e-6  # memory, link, before every all-reduce


CONTROLS = (
    Buttons("num_heads", "query heads", 32, "Query heads", options=HEADS),
    Buttons(
        "num_kv_heads",
        "kv heads",
        8,
        "Heads with keys and values; a divisor of the query heads",
        options=lambda settings: divisors(settings["num_heads"]),
    ),
    Buttons(
        "num_processes",
        "devices",
        8,
        "Devices that share the heads; a divisor of the kv heads",
        options=lambda settings: divisors(settings["num_kv_heads"]),
    ),
    Steps(
        "head_dim",
        "head_dim",
        128,
        "Numbers per head; the width of a token is heads times this",
        options=HEAD_DIMS,
        presented=False,
    ),
    Slider("num_layers", "layers", 32, "Layers of the model", low=1, high=128, presented=False),
    Switch(
        "feed_forward",
        "feed-forward too",
        True,
        "Count its weights, and its all-reduce, in every layer",
        presented=False,
    ),
)


@dataclass(frozen=True)
class Devices(Panel):
    """A box for each device: its kv heads, each with the query heads that read it.

    Args:
        heads, kv_heads: the ranges of heads of each device.
    """

    heads: Sequence[range]
    kv_heads: Sequence[range]

    def html(self) -> str:
        boxes = []
        for device, kv_heads in enumerate(self.kv_heads):
            groups = "".join(self._group(kv_head) for kv_head in kv_heads)
            boxes.append(
                '<div style="border:1px solid var(--jp-border-color1,#bbb);padding:4px 8px">'
                f'<b>device {device}</b><div class="c3g" style="gap:2px 12px">{groups}</div></div>'
            )
        title = "which head lives where: kv heads, each with its query heads"
        return (
            f'<div class="c3w"><p style="margin:0 0 4px;font-weight:600">{title}</p>'
            f'<div class="c3g">{"".join(boxes)}</div></div>'
        )

    def _group(self, kv_head: int) -> str:
        """Write one kv head above the query heads that read it."""
        size = self.heads[-1].stop // self.kv_heads[-1].stop
        cells = "".join(
            f'<td class="w20" style="min-width:1.4em;padding:3px">{head}</td>'
            for head in range(kv_head * size, (kv_head + 1) * size)
        )
        name = f'<caption style="font-weight:400;white-space:nowrap">kv {kv_head}</caption>'
        return f'<table class="c3m">{name}<tr>{cells}</tr></table>'


def tensor_parallel_state(settings: Settings) -> dict[str, Any]:
    """Return who holds which heads, and bytes and weights for one token, of one device.

    Returns:
        ``heads`` and ``kv_heads``, a range for each device; ``layer_bytes`` and ``token_bytes``
        that a device sends for one token, in one layer and in all; ``weights`` and ``cache_bytes``
        a token that it holds, in all layers; and how long a token waits until the weights are read
        from memory, ``reading``, and for the all-reduces, ``sending``, in seconds.
    """
    H, K = settings["num_heads"], settings["num_kv_heads"]
    n, D, layers = settings["num_processes"], settings["head_dim"], settings["num_layers"]
    width, times = H * D, 1 + settings["feed_forward"]
    hidden = 7 * width // 2  # of a feed-forward layer with three matrices
    weights = layers * (2 * width * (width + K * D) + settings["feed_forward"] * 3 * width * hidden)
    token_bytes = exchanged_bytes(1, width, n, times * layers, BYTES)
    return {
        "heads": heads_by_process(H, n),
        "kv_heads": heads_by_process(K, n, "num_kv_heads"),
        "layer_bytes": exchanged_bytes(1, width, n, times, BYTES),
        "token_bytes": token_bytes,
        "weights": weights // n,
        "cache_bytes": kv_cache_bytes(1, K // n, D, layers, bytes_per_number=BYTES),
        "reading": BYTES * (weights // n) / BYTES_PER_SECOND,
        "sending": (n > 1) * times * layers * START + token_bytes / LINK,
    }


def tensor_parallel_panels(settings: Settings) -> list[Panel]:
    """Return the devices with their heads, the bytes of a token, and both against devices."""
    state = tensor_parallel_state(settings)
    n, width = settings["num_processes"], settings["num_heads"] * settings["head_dim"]
    possible = divisors(settings["num_kv_heads"])
    each = [tensor_parallel_state({**settings, "num_processes": k}) for k in possible]
    facts = {
        "width": f"{settings['num_heads']} · {settings['head_dim']} = {width:,}",
        "one message": f"{width:,} numbers of {BYTES} bytes = {BYTES * width:,} bytes",
        "all-reduces for a token": f"{settings['num_layers'] * (1 + settings['feed_forward'])}",
        "sent by a device, one layer": f"{state['layer_bytes']:,} bytes",
        "sent by a device, all layers": f"{state['token_bytes']:,} bytes",
        "parameters in a device": f"{state['weights'] / 1e6:,.0f} million",
        "cache of a token in a device": f"{state['cache_bytes']:,} bytes",
    }
    panels: list[Panel] = [
        Note(_note(state, settings)),
        Devices(state["heads"], state["kv_heads"]),
    ]
    if len(possible) > 1:
        reading, sending = ([1e3 * one[name] for one in each] for name in ("reading", "sending"))
        together = [a + b for a, b in zip(reading, sending, strict=True)]
        panels += [
            Curves(
                "what a token waits for",
                "devices",
                "ms",
                possible,
                {"reading weights": reading, "all-reduces": sending, "together": together},
                mark=n,
                width=344,
            ),
            Curves(
                "what a device holds",
                "devices",
                "millions of parameters",
                possible,
                {"millions of parameters": [one["weights"] / 1e6 for one in each]},
                mark=n,
                width=344,
            ),
            Curves(
                "what a device sends for a token",
                "devices",
                "kB sent",
                possible,
                {"kB sent": [one["token_bytes"] / 1e3 for one in each]},
                mark=n,
                width=344,
            ),
        ]
    panels.append(Facts(facts, "for each token, in bfloat16"))
    return panels


def _note(state: dict[str, Any], settings: Settings) -> str:
    n, most = settings["num_processes"], settings["num_kv_heads"]
    if n == 1:
        reason = "a single kv head can't be shared" if most == 1 else f"up to {most} could share"
        return f"One device holds every head and sends nothing; {reason}."
    together = state["reading"] + state["sending"]
    alone = tensor_parallel_state({**settings, "num_processes": 1})["reading"]
    return (
        f"Each of {n} devices holds 1/{n} of the heads. A token takes {1e3 * together:.2f} ms "
        f"instead of {1e3 * alone:.2f}: {alone / together:.1f} times as fast, and "
        f"{state['sending'] / together:.0%} of it is waiting for one another. "
        f"More than {most} can't share {most} kv head{'s' * (most > 1)}."
    )


tensor_parallel_explorer = explorer_function(
    "heads over devices", CONTROLS, tensor_parallel_panels, source_of(tensor_parallel_state)
)
