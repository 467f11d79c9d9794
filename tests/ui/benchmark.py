"""How soon does a key press reach the screen? ``python -m tests.ui.benchmark``

In JupyterLab in Chromium, the time from an arrow key on the seed to the changed picture, for the
explorer and, in some rows, for ``ipywidgets.interact`` with ``seaborn.heatmap`` on the same
settings, in turns in one run. Then an arrow key is held for 40 steps: how many of them were drawn
during the hold, and how long after the last key press the picture was final. Named rows are
measured alone: ``python -m tests.ui.benchmark presented "2 x 12 heads"``.
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
attention_explorer(text="Your journey starts with one step", {settings})
"""
# What an explorer starts from, and what interact draws for comparison, if anything.
UNTRAINED = "made='at random', seed=123, "
FOUR_HEADS = UNTRAINED + "mechanism='split (07)', d_out=8, num_heads=4, "
CASES = {
    "one 6 x 6 matrix, annotated": (
        UNTRAINED + "mechanism='v2 (03)', d_out=2, causal=False",
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
    "diagram of one head": (
        UNTRAINED + "mechanism='v2 (03)', d_out=2, show='how they come about'",
        None,
    ),
    "4 heads, one in large": (FOUR_HEADS, None),
    "diagram of 4 heads": (
        FOUR_HEADS + "show='how they come about'",
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
    "path of one number": (FOUR_HEADS + "show='one number'", None),
    "presented": (FOUR_HEADS, None),
    "2 x 12 heads": (
        UNTRAINED + "mechanism='wrapper (06)', d_out=1, num_heads=24",
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
SHOW = "place => place.classList.remove('c3-unpresented')"  # a seed is not there when presented
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
    handle = page.locator(".c3-control-seed input, .widget-interact .noUi-handle").first
    page.locator(output).first.evaluate(WATCH)
    handle.focus()
    single = []
    for press in range(PRESSES + 3):
        page.evaluate("window.noted.changes = []")
        page.keyboard.press("ArrowUp")
        noted = settled(page)
        if press >= 3:  # the first ones warm up
            single.append(noted["changes"][-1] - noted["press"])
        progress.update()
    page.evaluate("window.noted.changes = []")
    for _ in range(HELD_STEPS):
        page.keyboard.down("ArrowUp")
        page.wait_for_timeout(HOLD_INTERVAL_MS)
    page.keyboard.up("ArrowUp")
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
    cases = {name: case for name, case in CASES.items() if not sys.argv[1:] or name in sys.argv[1:]}
    with tempfile.TemporaryDirectory() as name, browse() as browser:
        folder = Path(name) / "notebooks"
        folder.mkdir()
        presses = sum(1 + bool(interact) for _, interact in cases.values()) * (PRESSES + 3)
        with (
            serve(folder, Path(name)) as server,
            tqdm(total=presses, unit="press") as progress,
        ):
            for case, (settings, interact) in cases.items():
                ways = {"explorer": (EXPLORER.format(settings=settings), ".c3-explorer .c3-view")}
                if interact:
                    source = INTERACT.format(**interact)
                    ways["interact"] = source, ".widget-interact .widget-output"
                results = {}
                for way, (source, output) in ways.items():
                    write_notebook(folder / f"{way}.ipynb", source)
                    page = open_notebook(browser, server, f"{way}.ipynb")
                    run_all(page)
                    page.locator(output).first.wait_for()
                    page.wait_for_timeout(1500)
                    if case == "presented":
                        page.get_by_role("button", name="Present").click()
                        page.wait_for_timeout(1000)
                        page.locator(".c3-control-seed").evaluate(SHOW)
                    results[way] = measure(page, output, progress)
                    page.close()
                rows.append((case, results))
    print(f"\nKey press to changed picture, median (worst) of {PRESSES}, in ms:")
    for case, results in rows:
        for way, result in results.items():
            print(
                f"  {case:28} {way:9} {result['median']:7.0f} ({result['worst']:.0f})   "
                f"held for {HELD_STEPS} steps: drew {result['drawn']}, "
                f"final {result['final']:.0f} ms after release"
            )
        if "interact" in results:
            ratio = results["interact"]["median"] / results["explorer"]["median"]
            print(f"  {case:28} ratio     1 : {ratio:.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
