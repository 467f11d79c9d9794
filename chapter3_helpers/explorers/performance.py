"""The explorer of ``12_performance``: operations, bytes, and what a machine waits for."""

import math
from typing import Any

from chapter3_helpers.explorers.core.controls import Buttons, Settings, Steps
from chapter3_helpers.explorers.core.drawings import Curves
from chapter3_helpers.explorers.core.inputs import divisors
from chapter3_helpers.explorers.core.panels import Bars, Facts, Note, Panel
from chapter3_helpers.explorers.core.source import source_of
from chapter3_helpers.explorers.core.widget import explorer_function
from chapter3_helpers.performance import (
    VARIANTS,
    Sizes,
    count_bytes,
    count_flops,
    intensity,
    least_seconds,
    roof,
)

# operations and bytes per second, in float32: round numbers, for comparison with your own
MACHINES = {
    "two CPU cores": (200e9, 20e9),
    "a desktop": (1e12, 60e9),
    "a large GPU": (60e12, 4e12),
}
LENGTHS = tuple(2**k for k in range(15))
WIDTHS = (64, 128, 256, 512, 768, 1024, 1600, 2048, 4096)


def _head_options(settings: Settings) -> list[int]:
    return [heads for heads in divisors(settings["width"]) if heads <= 128]


CONTROLS = (
    Buttons(
        "machine",
        "machine",
        next(iter(MACHINES)),
        "The two limits to count with: arithmetic and memory, in round numbers",
        options=tuple(MACHINES),
    ),
    Steps("tokens", "T (tokens)", 1024, "Tokens in a sentence", options=LENGTHS),
    Steps("batch", "batch", 8, "Sentences at once", options=LENGTHS[:8], presented=False),
    Steps("width", "d (width)", 768, "Numbers for each token", options=WIDTHS),
    Steps(
        "heads",
        "heads",
        12,
        "Heads: divisors of d, up to 128",
        options=_head_options,
        presented=False,
    ),
)


def performance_state(settings: Settings) -> dict[str, Any]:
    """Return operations, bytes, intensities and least seconds of every variant."""
    sizes = Sizes(settings["batch"], settings["tokens"], settings["width"], settings["heads"])
    return {
        "useful": sum(count_flops(sizes).values()),
        "moved": [sum(count_bytes(sizes, variant).values()) for variant in VARIANTS],
        "intensities": [intensity(sizes, variant) for variant in VARIANTS],
        "seconds": [
            least_seconds(sizes, variant, *MACHINES[settings["machine"]]) for variant in VARIANTS
        ],
        "scores_bytes": 4 * sizes.batch * sizes.heads * sizes.tokens**2,
        "context_bytes": 4 * sizes.batch * sizes.tokens * sizes.width,
    }


def _sizes(settings: Settings) -> Sizes:
    return Sizes(*(settings[name] for name in ("batch", "tokens", "width", "heads")))


def performance_panels(settings: Settings) -> list[Panel]:
    """Return the roof with the variants under it, times, memory, and times against T."""
    state, limits = performance_state(settings), MACHINES[settings["machine"]]
    milliseconds = [1e3 * seconds for seconds in state["seconds"]]
    largest = max(milliseconds)
    unit = 1 if largest >= 1 else 1e-3
    against = {
        variant: [
            1e3 * least_seconds(_sizes({**settings, "tokens": T}), variant, *limits)
            for T in LENGTHS
        ]
        for variant in ("split", "fused")
    }
    names = [
        f"{variant}: {value:.1f} operations/byte"
        for variant, value in zip(VARIANTS, state["intensities"], strict=True)
    ]
    return [
        Note(_note(settings, state)),
        Bars(
            f"least time in {'ms' if unit == 1 else 'microseconds'}",
            names,
            [value / unit for value in milliseconds],
            largest / unit,
            decimals=0 if largest / unit >= 100 else 1,
        ),
        _roof(state["intensities"][1], state["intensities"][3], limits),
        Curves(
            "least time for each T",
            "T",
            "ms",
            LENGTHS,
            against,
            mark=settings["tokens"],
            log="xy",
            width=344,
        ),
        Facts(
            {
                "useful operations": f"{state['useful'] / 1e9:,.3g} GFLOP",
                "scores (B, H, T, T)": f"{state['scores_bytes'] / 1e6:,.3g} MB",
                "contexts (B, T, d)": f"{state['context_bytes'] / 1e6:,.3g} MB",
                "this machine computes": f"{limits[0] / 1e9:,.0f} GFLOP/s",
                "and moves": f"{limits[1] / 1e9:,.0f} GB/s",
                "break-even": f"{limits[0] / limits[1]:.0f} operations/byte",
            },
            "counted",
        ),
    ]


def _roof(split: float, fused: float, limits: tuple[float, float]) -> Curves:
    """Draw the roof, and a post up to it where each of two intensities stands."""
    ends = min(0.1, split), max(1000.0, 2 * limits[0] / limits[1], fused)
    across = [ends[0] * (ends[1] / ends[0]) ** (k / 40) for k in range(41)]
    across = sorted([*across, split, split, fused, fused])
    heights = [roof(value, *limits) / 1e9 for value in across]
    lines = {}  # the roof last, so that split and fused have the same colours in both pictures
    for name, intensity_there in (("split", split), ("fused", fused)):
        foot = across.index(intensity_there)
        lines[name] = [math.nan] * len(across)
        lines[name][foot : foot + 2] = heights[0], heights[foot]
    lines["roof"] = heights
    return Curves(
        "split and fused under the roof",
        "operations for each byte moved",
        "GFLOP/s",
        across,
        lines,
        log="xy",
        width=344,
    )


def _note(settings: Settings, state: dict[str, Any]) -> str:
    flops_per_second, _ = MACHINES[settings["machine"]]
    done = sum(count_flops(_sizes(settings), skip_hidden=False).values())
    busy = done / flops_per_second / state["seconds"][1]
    gain = state["seconds"][1] / state["seconds"][3]
    return (
        f"By the two limits alone, fused is {gain:.1f} times as fast as split. In split, the "
        f"processor would compute for {busy:.0%} of its time, and wait for memory for the rest."
    )


performance_explorer = explorer_function(
    "operations and bytes", CONTROLS, performance_panels, source_of(performance_state)
)
