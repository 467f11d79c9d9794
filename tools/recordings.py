"""Record what explorers show, so that their controls move on a page without Python behind it.

A recording holds every state of an explorer's main controls, computed by the explorer itself. The
states are nearly alike. So each state is cut into rows, each row into tags and texts, and a piece
that occurs in many states is stored once. The result is compressed.

Each language has its own. After ``python -m tools.translations.program zh_CN``,
``TRANSLATION=zh_CN python -m tools.recordings`` stores those in Chinese that are kept. Where words
have changed that the first state does not show, delete the file before.
"""

import base64
import hashlib
import html
import json
import math
import multiprocessing
import os
import re
import zlib
from collections.abc import Collection, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import torch

from chapter3_helpers._language import LANGUAGE, say
from chapter3_helpers.explorers.core.controls import (
    Choice,
    Clicked,
    Control,
    Listed,
    Settings,
    TextField,
    call,
)
from chapter3_helpers.explorers.core.marks import SIDES, click_attribute, clicked_settings
from chapter3_helpers.explorers.core.style import CSS
from chapter3_helpers.explorers.core.widget import SCRIPT, Explorer
from tools.notebook_files import ExplorerCall, explorer_calls, notebook_paths, read
from tools.translations.catalogues import speaker
from tools.translations.traditional import traditional

MOST_STATES = (640, 320, 160, 80)  # as many as fit into the largest size
MOST_STEPS = 11
STEPS = {"angle": 26, "length_a": 21}  # of what is dragged, more
LARGEST = 400_000  # bytes
# What is recorded of a text that a reader types. Beside it nothing is sorted and no row is clicked:
# there would be too many states.
FIVE = "18.6 17.3 17.4 18.7 23.2"
TYPED = {"off": ("", "16.0", FIVE)}
STORED = Path(__file__).parents[1] / "docs" / "recordings"
MOST_WORKERS = 4  # each needs half a gigabyte
# What book.js says itself, and has from here.
BOOK_WORDS = {
    "back": "Back to the start",
    "stop": "Stop {slider}",
    "none": "none",
    "recorded": "Recorded from the real code.",
    "grey": "The grey controls move where the notebook runs: make lab opens it in JupyterLab.",
}


def thinned(values: list[Any], keep: Collection[Any], most: int = MOST_STEPS) -> list[Any]:
    """Return about so many of many values: both ends, those to ``keep``, and an even choice."""
    if len(values) <= most:
        return values
    last = len(values) - 1
    chosen = {round(i * last / (most - 2)) for i in range(most - 1)}
    return [value for i, value in enumerate(values) if i in chosen or value in keep]


def choices(control: Control, settings: Settings, thin: bool = True) -> list[Choice]:
    """Return the steps of a control that are recorded, where it stands at these settings."""
    if isinstance(control, TextField):
        return [(text, text) for text in TYPED.get(control.name, ())]
    pairs = control.choices(settings)
    kept = [value for _, value in pairs]
    most = STEPS.get(control.name, MOST_STEPS)
    keep = {settings[control.name]}
    if thin and isinstance(control, Listed) and control.returns_to:
        keep.add(call(control.returns_to, settings))  # what it was before it was changed
    kept = thinned(kept, keep, most) if thin else kept
    return [(label, value) for label, value in pairs if value in kept]


def recorded_controls(explorer: Explorer, names: Collection[str], most: int) -> list[Control]:
    """Return the controls that a recording moves: those named, or the first that fit."""
    unknown = set(names) - {control.name for control in explorer.controls}
    if unknown:
        raise ValueError(f"what is recorded must be controls of {explorer.name}, got {unknown}")
    if names:
        chosen = [control for control in explorer.controls if control.name in names]
        typed = any(isinstance(control, TextField) for control in chosen)
        return [control for control in chosen if not (typed and control.name == "sort")]
    chosen, states = [], 1
    for control in explorer.controls:
        steps = len(choices(control, explorer.settings))
        if steps and control.is_shown(explorer.settings) and states * steps <= most:
            chosen.append(control)
            states *= steps
    return chosen


def recorded_clicks(explorer: Explorer) -> dict[str, set[Any]]:
    """Return the settings that a click on the first picture can change, with the values that it
    can give them, none where they are numbers of queries or keys."""
    clicked: dict[str, set[Any]] = {}
    for panel in explorer.panels(explorer.settings):
        for side, name in (getattr(panel, "click", None) or {}).items():
            if side in (SIDES["query"], SIDES["key"]):
                clicked[name] = set()
            elif side in explorer.settings and clicked.get(side) != set():
                clicked.setdefault(side, {explorer.settings[side]}).add(name)
    return clicked


def without_clicks(shown: str, recorded: Collection[str], labelled: Collection[str]) -> str:
    """Leave out of a picture that it can be clicked where the answer was not recorded.

    On a page a click sets the label of a choice, which has a language as its value has not, of
    controls that are ``labelled``.
    """

    def kept(found: re.Match) -> str:
        click = json.loads(html.unescape(found[1]))
        typed = any(click.get(name) in texts for name, texts in TYPED.items())
        if not typed and not {*clicked_settings(click)} <= {*recorded}:
            return ""
        labels = {
            name: say(value) if name in labelled and isinstance(value, str) else value
            for name, value in click.items()
        }
        return found[0] if labels == click else click_attribute(labels)

    return re.sub(r' data-click="([^"]*)"', kept, shown)


def without_drags(shown: str, recorded: Collection[str]) -> str:
    """Leave out the heads of arrows that move what was not recorded."""

    def kept(found: re.Match) -> str:
        drag = json.loads(html.unescape(found[1]))
        return found[0] if {drag["length"], *drag["turns"]} <= set(recorded) else ""

    return re.sub(r'<circle data-drag="([^"]*)"[^>]*/>', kept, shown)


class Recording:
    """All states of an explorer's main controls: those that are named, or the first that fit."""

    def __init__(self, explorer: Explorer, names: Collection[str], most: int):
        self.explorer = explorer
        self.start = explorer.settings
        controls = recorded_controls(explorer, names, most)
        typed = any(isinstance(control, TextField) for control in controls)
        self.clicked = {} if typed else recorded_clicks(explorer)
        self.others = [control for control in controls if control.name not in self.clicked]
        self.controls = [*self.others, *(c for c in explorer.controls if c.name in self.clicked)]
        self.everywhere = math.prod(len(self.steps(c, self.start)) for c in self.controls) <= most
        self.tokens: dict[str, int] = {}
        self.rows: dict[tuple[int, ...], int] = {}
        self.states: dict[tuple[int, ...], int] = {}
        self.first = self.view()
        self.tree = self.branch([])

    def view(self) -> str:
        """Return what the explorer shows now: what lies under buttons, the panels, the code."""
        code = self.explorer.code(self.explorer.settings)
        recorded = [c.name for c in self.others if isinstance(c, Clicked)]
        if self.starts(self.explorer.settings):
            recorded += self.clicked
        labelled = [c.name for c in self.explorer.controls if c.stands]
        shown = without_clicks(self.explorer.view.value, recorded, labelled)
        shown = without_drags(shown, [control.name for control in self.controls])
        return "\0".join([self.explorer.pictures, shown, html.escape(code)])

    def starts(self, settings: Settings) -> bool:
        """Return whether clicks are recorded: where all but what clicks set is as at the start, or
        everywhere if so many states fit."""
        return self.everywhere or all(
            settings[c.name] == self.start[c.name]
            for c in self.explorer.controls
            if c.name not in self.clicked and not isinstance(c, Clicked)
        )

    def branch(self, done: list[Choice]) -> Any:
        """Return the choices of the next control and where each leads, down to a state; 1 where the
        control itself is not shown; and what returns when it is chosen."""
        moved = {c.name: value for c, (_, value) in zip(self.controls, done, strict=False)}
        self.explorer.move(**self.start)
        self.explorer.move(**moved)
        if len(done) == len(self.controls):
            self.explorer.set()
            return self.state()
        control = self.controls[len(done)]
        settings = self.explorer.settings
        set_by_click = isinstance(control, Clicked)  # and so nothing of it is shown
        offered = control.is_shown(settings) or set_by_click
        if not (self.starts(settings) if control.name in self.clicked else offered):
            value = self.explorer.settings[control.name]
            return [None, [self.branch([*done, ("", value)])]]
        steps = self.steps(control, settings)
        unseen = int(not (set_by_click or control.is_shown(settings)))
        returned = [self.returned(control, {**settings, control.name: step}) for _, step in steps]
        node = [[label for label, _ in steps], [self.branch([*done, step]) for step in steps]]
        return [*node, unseen, returned] if any(returned) else [*node, 1][: 2 + unseen]

    def returned(self, control: Control, settings: Settings) -> dict[str, str]:
        """Return where other recorded controls go when one is chosen, wherever they have been."""
        goes_to = {}
        for other in self.controls:
            if isinstance(other, Listed) and control.name in other.returns_when:
                ends = other.choices(settings)[:: max(1, len(other.choices(settings)) - 1)]
                goals = {call(other.returns_to, {**settings, other.name: end}) for _, end in ends}
                if len(goals) == 1:
                    settings = {**settings, other.name: goals.pop()}
                    label = (
                        name for name, end in other.choices(settings) if end == settings[other.name]
                    )
                    goes_to[other.name] = next(label)
        return goes_to

    def steps(self, control: Control, settings: Settings) -> list[Choice]:
        """Return the choices of a control that are recorded: those that a click can make."""
        can = self.clicked.get(control.name)
        thin = can is None and not isinstance(control, Clicked)
        return [step for step in choices(control, settings, thin) if not can or step[1] in can]

    def state(self) -> int:
        """Return the number of what is shown now."""
        rows = []
        for row in re.split(r"(?=<(?:tr|table|section|p|g|path|rect|text)\b)|(?=\n)", self.view()):
            tokens = (number(self.tokens, token) for token in re.split(r"(?=<)", row))
            rows.append(number(self.rows, tuple(tokens)))
        steps = (row - before for row, before in zip(rows, [0, *rows], strict=False))
        return number(self.states, tuple(steps))

    def data(self) -> dict[str, Any]:
        """Return the recording as plain data."""
        return {
            "controls": [self.described(control) for control in self.controls],
            "others": [
                self.described(control)
                for control in self.explorer.controls
                if control not in self.controls and control.is_shown(self.start)
            ],
            "tokens": list(self.tokens),
            "rows": list(self.rows),
            "states": list(self.states),
            "tree": self.tree,
        }

    def described(self, control: Control) -> dict[str, Any]:
        start = self.start[control.name]
        named = choices(control, self.start)
        label = next((label for label, value in named if value == start), str(start))
        return {
            "name": control.name,
            "label": control.label,
            "tooltip": control.tooltip,
            "kind": "list" if named and control.kind == "text" else control.kind,
            "play": getattr(control, "play", None),
            "start": label,
        }


def number(known: dict[Any, int], piece: Any) -> int:
    """Return the number of a piece, a new one if it was not met before."""
    return known.setdefault(piece, len(known))


def write_shared(folder: Path) -> None:
    """Write the CSS that all explorers share, and the script that answers to clicks."""
    (folder / "explorers.css").write_text(CSS, "utf-8")
    (folder / "hands.js").write_text(SCRIPT, "utf-8")


def record(call: ExplorerCall) -> dict[str, str]:
    """Record an explorer: what it is called, its first state as HTML, and all states, packed."""
    explorer = call.build()
    for most in MOST_STATES:
        explorer.reset()
        recording = Recording(explorer, call.recorded, most)
        data = json.dumps(recording.data(), separators=(",", ":"), ensure_ascii=False)
        packed = base64.b64encode(zlib.compress(data.encode(), 9)).decode()
        if len(packed) <= LARGEST:
            break
    else:
        raise ValueError(
            f"a recording must have at most {LARGEST} bytes, {call.name} has {len(packed)}"
        )
    still = recording.first.split("\0")[1]
    return {"name": explorer.name, "typed": repr(TYPED), "still": still, "packed": packed}


def store(call: ExplorerCall, page: str) -> None:
    """Record an explorer into a file that is kept: where a page is made there may be no model.

    Where its first state is as it was, apart from pictures, and so is what was typed, the file
    stays: rounding differs from processor to processor.
    """
    path, new = stored(call, page, LANGUAGE), record(call)
    old = json.loads(path.read_text("utf-8")) if path.exists() else {}
    if _first(old) != _first(new):
        STORED.mkdir(exist_ok=True)
        path.write_text(json.dumps(new, ensure_ascii=False, indent=1) + "\n", "utf-8")


def _first(recorded: dict[str, str]) -> tuple[str | None, str]:
    still = re.sub(r"data:image/png[^\"]*", "", recorded.get("still", ""))
    return recorded.get("typed"), still


def stored(call: ExplorerCall, page: str, language: str) -> Path:
    """Return the file in which a recording is kept in a language."""
    return STORED / f"{page}-{call.name}{f'.{language}' * bool(language)}.json"


def record_all(calls: Iterable[tuple[ExplorerCall, str]]) -> Iterator[dict[str, str]]:
    """Yield the recordings of explorers, each with its page, made side by side or read if kept."""
    workers = min(MOST_WORKERS, os.cpu_count() or 1)
    spawn = multiprocessing.get_context("spawn")  # torch may have threads already
    with ProcessPoolExecutor(workers, spawn, torch.set_num_threads, (1,)) as pool:
        yield from pool.map(recorded, *zip(*calls, strict=True))


def recorded(call: ExplorerCall, page: str) -> dict[str, str]:
    """Return the recording of an explorer: made now, or as it is kept, in English if need be."""
    if not call.stored:
        return record(call)
    if LANGUAGE != "zh_TW":
        path = stored(call, page, LANGUAGE)
        english = stored(call, page, "")
        return json.loads((path if path.exists() else english).read_text("utf-8"))
    kept = json.loads(stored(call, page, "zh_CN").read_text("utf-8"))
    data = zlib.decompress(base64.b64decode(kept["packed"])).decode()
    english = "rows"  # of pictures, which have no lines of code
    packed = zlib.compress(traditional(data, english).encode(), 9)
    kept["packed"] = base64.b64encode(packed).decode()
    return kept | {name: traditional(kept[name], english) for name in ("name", "still")}


def write(made: dict[str, str], call: ExplorerCall, page: str, folder: Path) -> str:
    """Write a recording as a script of its own; return what stands in its place on the page."""
    speak = speaker(LANGUAGE, "book") if LANGUAGE else str
    words = {name: speak(text) for name, text in BOOK_WORDS.items()}
    words |= {"reset": say("Reset"), "lines": say("The lines that give these numbers")}
    words |= {"play": say("Play {slider}"), "start": say("Play"), "end": say("Stop")}
    script = f'c3Record("{call.name}", "{made["packed"]}", {json.dumps(words)});\n'
    path = folder / f"{page}-{call.name}.js"
    path.write_text(script, "utf-8")
    version = hashlib.sha256(script.encode()).hexdigest()[:8]
    label = html.escape(say("Explorer: {name}", name=made["name"]))
    return (
        f'<div class="c3-explorer" id="{call.name}" role="group" aria-label="{label}">'
        '<div class="c3-controls"></div><div class="c3-under"></div>'
        f'<div class="c3-view">{made["still"]}</div></div>'
        f'<script defer src="../_static/recordings/{path.name}?v={version}"></script>'
    )


if __name__ == "__main__":
    for notebook in notebook_paths():
        for each in filter(None, explorer_calls(read(notebook))):
            if each.stored:
                store(each, notebook.stem)
