"""How soon does a key press reach the screen? ``python -m tests.ui.benchmark``

In JupyterLab in Chromium, the time from an arrow key on a slider to the changed picture, for the
explorer and for ``ipywidgets.interact`` with ``seaborn.heatmap`` on the same settings, in turns in
one run. Then an arrow key is held for 40 steps: how many of them were drawn during the hold, and
how long after the last key press the picture was final.
"""

import statistics
import sys
import tempfile
from pathlib import Path

from tqdm import tqdm

from tests.ui.lab import (
    HOW_TO_GET_IT,
    browse,
    find_chromium,
    open_notebook,
    run_all,
    serve,
    write_notebook,
)

PRESSES = 15
HELD_STEPS = 40
HOLD_INTERVAL_MS = 33  # a keyboard repeats about 30 times a second

INTERACT = """
import ipywidgets
import matplotlib.pyplot as plt
import seaborn
import torch
from chapter3_helpers.{module} import {kind}
from chapter3_helpers.sentence import TOKENS, example_inputs
%matplotlib inline

def draw(seed):
    torch.manual_seed(seed)
    module = {kind}({arguments})
    weights = module.attention_weights(example_inputs()).detach()
    weights = weights.reshape(-1, 6, 6)
    figure, axes = plt.subplots({rows}, {columns}, figsize={size}, squeeze=False)
    for matrix, ax in zip(weights, axes.flat):
        seaborn.heatmap(matrix.numpy(), vmin=0, vmax=1, annot={annotate}, fmt=".4f", cmap="viridis",
                        cbar=False, xticklabels=TOKENS, yticklabels=TOKENS, ax=ax)
    plt.show()

_ = ipywidgets.interact(draw, seed=ipywidgets.IntSlider(value=123, min=0, max=999))
"""
EXPLORER = """
from chapter3_helpers.explorers import attention_explorer
attention_explorer({settings})
"""
CASES = {
    "one 6 x 6 matrix, annotated": (
        {"settings": "mechanism='v2 (03)', d_out=2, causal=False"},
        {
            "module": "trainable_qkv",
            "kind": "SelfAttention_v2",
            "arguments": "3, 2",
            "rows": 1,
            "columns": 1,
            "size": (6, 5),
            "annotate": True,
        },
    ),
    "diagram of 4 heads": (
        {"settings": "mechanism='split (07)', d_out=8, num_heads=4"},
        {
            "module": "fused_multihead",
            "kind": "MultiHeadAttention",
            "arguments": "3, 8, 6, 0.0, 4",
            "rows": 1,
            "columns": 4,
            "size": (20, 5),
            "annotate": True,
        },
    ),
    "2 x 12 heads": (
        {"settings": "mechanism='wrapper (06)', d_out=1, num_heads=24"},
        {
            "module": "multihead_wrapper",
            "kind": "MultiHeadAttentionWrapper",
            "arguments": "3, 1, 6, 0.0, 24",
            "rows": 2,
            "columns": 12,
            "size": (18, 4),
            "annotate": False,
        },
    ),
}
# Notes when a key went down and when each change that followed was on the screen.
WATCH = """output => {
    const noted = window.noted = {press: 0, release: 0, changes: []};
    addEventListener('keydown', event => { noted.press = performance.now(); }, true);
    addEventListener('keyup', event => { noted.release = performance.now(); }, true);
    new MutationObserver(() => {
        const image = output.querySelector('img');
        const ready = image ? image.decode().catch(() => {}) : Promise.resolve();
        ready.then(() => requestAnimationFrame(() => noted.changes.push(performance.now())));
    }).observe(output, {
        childList: true, subtree: true, attributes: true, attributeFilter: ['src']
    });
}"""
QUIET_MS = 400


def settled(page) -> dict:
    """Wait until nothing has changed for a while, and return what was noted."""
    for _ in range(200):
        page.wait_for_timeout(QUIET_MS / 2)
        noted = page.evaluate("({...window.noted, now: performance.now()})")
        if noted["changes"] and noted["now"] - noted["changes"][-1] > QUIET_MS:
            return noted
    raise TimeoutError("the picture did not change")


def measure(page, output: str, progress: tqdm) -> dict:
    """Press an arrow key again and again, then hold it; return milliseconds."""
    handle = page.locator(".c3-control-seed .noUi-handle, .widget-interact .noUi-handle").first
    page.locator(output).first.evaluate(WATCH)
    handle.focus()
    single = []
    for press in range(PRESSES + 3):
        page.evaluate("window.noted.changes = []")
        page.keyboard.press("ArrowRight")
        noted = settled(page)
        if press >= 3:  # the first ones warm up
            single.append(noted["changes"][-1] - noted["press"])
        progress.update()
    page.evaluate("window.noted.changes = []")
    for _ in range(HELD_STEPS):
        page.keyboard.down("ArrowRight")
        page.wait_for_timeout(HOLD_INTERVAL_MS)
    page.keyboard.up("ArrowRight")
    noted = settled(page)
    during = sum(change < noted["release"] for change in noted["changes"])
    return {
        "median": statistics.median(single),
        "worst": max(single),
        "drawn": during,
        "final": max(0.0, noted["changes"][-1] - noted["release"]),
    }


def main() -> int:
    if find_chromium() is None:
        print(HOW_TO_GET_IT)
        return 1
    rows = []
    with tempfile.TemporaryDirectory() as name, browse() as browser:
        folder = Path(name) / "notebooks"
        folder.mkdir()
        with (
            serve(folder, Path(name)) as server,
            tqdm(total=2 * len(CASES) * (PRESSES + 3), unit="press") as progress,
        ):
            for case, (settings, interact) in CASES.items():
                results = {}
                for way, source, output in (
                    ("explorer", EXPLORER.format(**settings), ".c3-explorer .c3-view"),
                    ("interact", INTERACT.format(**interact), ".widget-interact .widget-output"),
                ):
                    write_notebook(folder / f"{way}.ipynb", source)
                    page = open_notebook(browser, server, f"{way}.ipynb")
                    run_all(page)
                    page.locator(output).first.wait_for()
                    page.wait_for_timeout(1500)
                    results[way] = measure(page, output, progress)
                    page.close()
                rows.append((case, results))
    print(f"\nKey press to changed picture, median (worst) of {PRESSES}, in ms:")
    for case, results in rows:
        explorer, interact = results["explorer"], results["interact"]
        for way, result in results.items():
            print(
                f"  {case:28} {way:9} {result['median']:7.0f} ({result['worst']:.0f})   "
                f"held for {HELD_STEPS} steps: drew {result['drawn']}, "
                f"final {result['final']:.0f} ms after release"
            )
        print(f"  {case:28} ratio     1 : {interact['median'] / explorer['median']:.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
