"""What the book shows of explorers: which states are recorded, and what can be clicked there."""

import base64
import html
import json
import re
import zlib
from types import SimpleNamespace

import pytest
from nbformat.v4 import new_code_cell, new_notebook

from chapter3_helpers.explorers import model_explorer, softmax_explorer
from tests.explorers.test_cutting import TEXT
from tests.explorers.test_model import TOKENS, WEIGHTS
from tests.gguf_files import byte_tokenizer, random_llama
from tools import recordings
from tools.notebook_files import (
    NOTEBOOKS,
    code_cells,
    explorer_calls,
    lines_of,
    notebook_paths,
    printed,
    read,
)
from tools.translations import catalogues

RECORDED = ("sort", "off", "layer", "head")


@pytest.fixture
def asked(monkeypatch):
    """An explorer of a model, of which one set of heads is recorded."""
    monkeypatch.setattr(recordings, "TYPED", {"off": ("", "0.1 1.2")})
    return model_explorer(
        random_llama(vocab_size=256), TEXT, tokenizer=byte_tokenizer(), sort="itself"
    )


def shown(recording: recordings.Recording, *path: int) -> str:
    """Return what is recorded for some choices, as a page puts it together."""
    data, node = recording.data(), recording.tree
    for step in path:
        node = node[1][step]
    row, parts = 0, []
    for step in data["states"][node]:
        row += step
        parts += [data["tokens"][token] for token in data["rows"][row]]
    return "".join(parts)


def test_of_a_model_each_head_is_recorded_with_each_set_that_is_off(asked):
    recording = recordings.Recording(asked, RECORDED, 80)
    controls = recording.data()["controls"]
    assert [(c["name"], c["kind"]) for c in controls] == [
        *[("off", "list"), ("layer", "clicked"), ("head", "board")]
    ]
    assert (recording.tree[0], controls[0]["start"]) == (["", "0.1 1.2"], "")
    assert [c["name"] for c in recording.data()["others"]] == ["text", "sort", "without_first"]
    for n, off in enumerate(("", "0.1 1.2")):
        for layer, head in ((0, 1), (1, 5)):
            asked.reset()
            asked.set(off=off, layer=layer, head=head)
            view = shown(recording, n, layer, head).split("\0")
            assert without_clicks(view[1]) == without_clicks(asked.view.value)
            assert view[0] == asked.pictures


def without_clicks(view: str) -> str:
    return re.sub(r' data-click="[^"]*"', "", view)


def test_what_was_not_recorded_has_no_click(asked):
    recording = recordings.Recording(asked, RECORDED, 80)
    recordings.TYPED["off"] = ("", "0.1")  # of one head
    one = recordings.Recording(asked, RECORDED, 80)
    switch = re.compile(r'c3switch"[^>]*data-click="([^"]*)"')
    for path, clicked in (((0, 0, 1), "0.1"), ((1, 0, 1), ""), ((0, 0, 2), None)):
        found = switch.search(shown(one, *path))
        assert (found and json.loads(html.unescape(found[1]))) == (
            None if clicked is None else {"off": clicked}
        )
        assert not switch.search(shown(recording, *path))
    assert "data-q" in shown(one, 0, 0, 0)
    assert "&quot;row&quot;" not in shown(one, 0, 0, 0)  # no row is clicked
    assert "&quot;layer&quot;: 0, &quot;head&quot;" in shown(one, 0, 0, 0)  # a listed head is


def test_where_controls_return_to_when_another_is_chosen_is_recorded():
    sorted_by = model_explorer(WEIGHTS, TOKENS)
    labels, _, _, returned = recordings.Recording(sorted_by, ("sort", "layer", "head"), 640).tree
    assert returned[0] == {}  # as handed over: it stays
    for name, goes_to in zip(labels[1:], returned[1:], strict=True):
        sorted_by.widgets["sort"].value = name
        chosen = {side: str(sorted_by.settings[side]) for side in ("layer", "head")}
        assert goes_to == chosen
    softmax = recordings.Recording(softmax_explorer(), (), 640)
    assert [step["score"].endswith("(as it was)") for step in softmax.tree[3]] == [True] * 6


def test_a_stored_recording_stays_as_it_is_but_for_what_changes(asked, tmp_path, monkeypatch):
    asked.set(text="a text that is a picture, as is a head")
    asked._start = asked.settings
    monkeypatch.setattr(recordings, "STORED", tmp_path / "made")
    call = SimpleNamespace(
        name="model_explorer-model", recorded=RECORDED, stored=True, build=lambda: asked
    )
    recordings.store(call, "16_x")
    (path,) = (tmp_path / "made").iterdir()
    first = path.read_bytes()
    assert len(first) < recordings.LARGEST
    old = json.loads(first)
    path.write_text(json.dumps(old | {"packed": "kept", "still": rounded(old["still"])}))
    recordings.store(call, "16_x")
    assert json.loads(path.read_text())["packed"] == "kept"
    path.write_text(json.dumps(old | {"packed": "old", "still": old["still"] + "<p>gone</p>"}))
    recordings.store(call, "16_x")
    assert path.read_bytes() == first
    call.build = None  # where the book is made there is no model
    page = recordings.write(recordings.recorded(call, "16_x"), call, "16_x", tmp_path)
    assert '<div class="c3-explorer" id="model_explorer-model"' in page
    assert old["still"] in page
    script = (tmp_path / "16_x-model_explorer-model.js").read_text()
    assert script.startswith(f'c3Record("model_explorer-model", "{old["packed"]}", {{"back": "Back')


def rounded(still: str) -> str:
    return re.sub(r"base64,....", "base64,AAAA", still)


def test_a_cell_with_a_tag_defines_what_an_explorer_needs():
    load, other = new_code_cell("model = [1, 2]\nmodel[0] = 5"), new_code_cell("count = len('no')")
    load.metadata.tags = ["defines"]
    shows = new_code_cell("model_explorer(model, 'text', tokenizer=None)")
    shows.metadata.explorer = {"stored": True}
    *_, call = explorer_calls(new_notebook(cells=[load, other, shows]))
    assert (call.name, call.stored, call.recorded) == ("model_explorer-model", True, ())
    space = {}
    exec(call.definitions, space)
    assert space["model"] == [5, 2]
    assert "count" not in space
    del load.metadata["tags"]
    shows.metadata.explorer = {"recorded": ["sort", "layer"]}
    *_, call = explorer_calls(new_notebook(cells=[load, other, shows]))
    assert (call.definitions, call.stored, call.recorded) == ("", False, ("sort", "layer"))


def test_every_cell_that_shows_an_explorer_is_marked_and_no_other():
    for path in notebook_paths():
        notebook = read(path)
        for cell, call in zip(notebook.cells, explorer_calls(notebook), strict=True):
            shows = any(line.startswith("Explorer: ") for line in lines_of(cell))
            assert shows == (call is not None), (path.stem, cell.source)


def test_a_name_of_no_control_is_refused():
    with pytest.raises(ValueError, match=r"must be controls of softmax, got \{'scores'\}"):
        recordings.recorded_controls(softmax_explorer(), ("scores",), 640)


def test_every_recording_that_a_notebook_needs_is_stored_and_no_other():
    needed = {
        recordings.stored(call, path.stem, language)
        for path in notebook_paths()
        for call in explorer_calls(read(path))
        if call and call.stored
        for language in ("", "zh_CN")  # zh_TW is made from zh_CN
    }
    assert {*recordings.STORED.glob("*")} == needed
    for path in needed:
        assert path.stat().st_size <= recordings.LARGEST
        assert json.loads(path.read_text("utf-8"))["typed"] == repr(recordings.TYPED)


def test_the_chinese_of_a_stored_recording_is_that_of_the_catalogue():
    """Every run of Chinese letters in it is one of a present translation, or of two, one behind the
    other. So words that have gone from the catalogue are found, but not a new sign between words.
    """

    def letters(texts):
        return {run for text in texts for run in re.findall("[一-鿿]+", text)}

    present = letters(catalogues.shown(catalogues.read("zh_CN", "program")).values())
    for path in recordings.STORED.glob("*.zh_CN.json"):
        kept = json.loads(path.read_text("utf-8"))
        data = zlib.decompress(base64.b64decode(kept["packed"])).decode()
        found = letters([kept["name"], kept["still"], data])
        assert len(found) > 20
        gone = [
            run
            for run in found - present
            if not any({run[:n], run[n:]} <= present for n in range(1, len(run)))
        ]
        assert not gone, "delete it, and store it as tools/recordings.py says"


def test_the_heads_that_are_recorded_as_off_are_those_that_the_notebook_takes_out():
    cells = code_cells(read(NOTEBOOKS / "16_heads_of_a_real_model.ipynb"))
    (fall,) = [cell for cell in cells if cell.source.startswith("for layer, head in five:")]
    five = " ".join(line.split()[0] for line in printed(fall).splitlines())
    assert [*recordings.TYPED["off"]] == ["", "16.0", five]


def test_a_click_sets_what_a_page_shows_of_a_choice_and_names_settings_as_they_are(monkeypatch):
    monkeypatch.setattr(recordings, "say", str.upper)
    click = {"q": "row", "show": "one number", "strip": "framed", "framed": "weights"}
    shown = f"<td{recordings.click_attribute(click)}>"
    said = recordings.without_clicks(shown, ("row", "show", "framed"), ("show", "row"))
    assert said == f"<td{recordings.click_attribute(click | {'show': 'ONE NUMBER'})}>"
    assert recordings.without_clicks(shown, ("row", "show"), ("show", "row")) == "<td>"
