"""A cell that is run again lets go of the explorers of its former run, and of no others."""

import builtins
import gc
from weakref import WeakSet

import pytest
from IPython.core.interactiveshell import InteractiveShell
from ipywidgets.widgets.widget import _instances as alive
from traitlets.config import Config

from chapter3_helpers import explorers

WEIGHTS = "[[[[1.0, 0.0], [0.5, 0.5]]]]"  # one layer, one head, two tokens
GIVEN = {"model_explorer": f"torch.tensor({WEIGHTS}), ['a', 'b']"}
IMPORTS = "import ipywidgets, torch; from chapter3_helpers.explorers import *"


class Notebook:
    """A shell in which cells are run, as a page does it."""

    def __init__(self, shell: InteractiveShell):
        self.shell = shell

    def run(self, code: str, cell: str | None = "cell") -> None:
        """Run a cell by its id, or by its text where a page gives it none."""
        self.shell.run_cell(code, store_history=True, cell_id=cell).raise_error()

    def open(self) -> int:
        """Return how many widgets are alive."""
        return len(alive)


@pytest.fixture
def notebook(capsys, monkeypatch):
    monkeypatch.delattr(builtins, "_", raising=False)  # of a doctest; IPython would leave it alone
    before = set(alive)
    no_file = Config(HistoryManager={"hist_file": ":memory:"})
    shell = InteractiveShell.instance(config=no_file)
    notebook = Notebook(shell)
    notebook.run(IMPORTS, "imports")
    yield notebook
    InteractiveShell.clear_instance()
    for widget in [alive[key] for key in set(alive) - before]:
        widget.close()


@pytest.mark.parametrize(
    ("code", "cell"),
    [
        *((f"{name}({GIVEN.get(name, '')})", "an id") for name in explorers.__all__),
        ("dot_products_explorer()", None),
        ("never_shown = dot_products_explorer()", "an id"),
    ],
)
def test_a_cell_that_is_run_again_leaves_as_many_widgets_as_after_its_first_run(
    notebook, code, cell
):
    before = notebook.open()
    notebook.run(code, cell)
    once = notebook.open()
    assert once > before + 20
    for _ in range(2):
        notebook.run(code, cell)
        assert notebook.open() == once


@pytest.mark.parametrize("name", explorers.__all__)
def test_close_closes_all_and_what_is_shown_later_opens_as_it_was(notebook, name):
    before = set(alive)
    notebook.run(f"kept = {name}({GIVEN.get(name, '')})")
    kept, opened = notebook.shell.user_ns["kept"], set(alive)
    kept.close()
    assert set(alive) == before
    notebook.run("kept", "another cell")
    assert set(alive) == opened
    shown = notebook.shell.display_formatter.format(kept)[0]
    view = shown["application/vnd.jupyter.widget-view+json"]
    assert alive[view["model_id"]] is kept


TWO = "first, second = dot_products_explorer(), softmax_explorer()"


def are_open(notebook: Notebook, *names: str) -> list[bool]:
    return [notebook.shell.user_ns[name].comm is not None for name in names]


def test_two_explorers_of_one_cell_live_and_go_together(notebook):
    notebook.run(f"{TWO}; display(first); second")
    assert are_open(notebook, "first", "second") == [True, True]
    before = notebook.open()
    notebook.run("old = first, second", "another cell")
    notebook.run(f"{TWO}; ipywidgets.HBox([first, second])")
    assert are_open(notebook, "first", "second") == [True, True]
    assert [explorer.comm for explorer in notebook.shell.user_ns["old"]] == [None, None]
    boxed = notebook.open()
    notebook.run(f"{TWO}; ipywidgets.HBox([first, second])")
    box_and_layout = 2  # of the reader's own, which ipywidgets keeps
    assert boxed == before + box_and_layout == notebook.open() - box_and_layout


def test_one_that_another_cell_shows_lives_until_that_cell_is_run_again(notebook):
    for how in ("kept", "display(kept)", "ipywidgets.VBox([kept])"):
        notebook.run("kept = former = softmax_explorer()", "makes")
        notebook.run(how, "shows")
        notebook.run("kept = softmax_explorer()", "makes")
        assert are_open(notebook, "former", "kept") == [True, True]
        notebook.run(how, "shows")
        assert are_open(notebook, "former", "kept") == [False, True]


def test_one_that_no_cell_has_made_is_closed_by_none(notebook):
    """As one that a button of the reader's makes."""
    space = notebook.shell.user_ns
    notebook.run("softmax_explorer()")
    space["made_by_a_button"] = explorers.softmax_explorer()
    for cell in ("cell", "another cell") * 2:
        notebook.run("softmax_explorer()", cell)
    assert are_open(notebook, "made_by_a_button") == [True]


def test_one_that_is_kept_can_be_shown_after_its_cell_has_become_another(notebook):
    notebook.run("kept = softmax_explorer()")
    notebook.run("1 + 1")
    notebook.run("boxed = ipywidgets.VBox([kept])", "boxes")
    notebook.run("boxed", "shows")
    assert are_open(notebook, "kept") == [True]
    notebook.shell.user_ns["kept"].set(temperature=5.0)
    assert notebook.shell.user_ns["kept"].settings["temperature"] == 5.0


@pytest.mark.parametrize("settings", [{"seed": 5000}, {"nonsense": 1}])
def test_an_explorer_that_cannot_be_made_leaves_nothing(settings):
    before = set(alive)
    with pytest.raises(ValueError, match="must be"):
        explorers.positions_explorer(**settings)
    assert set(alive) == before


@pytest.mark.parametrize(
    ("cell", "own"),
    [
        ("class Own(CausalAttention): pass\nattention_explorer(Own)", "Own"),
        ("def own(scores): return mask_scores(scores)\nmasking_explorer(own)", "own"),
        ("dot_products_explorer()", "_"),
    ],
)
def test_what_a_cell_has_let_go_of_takes_no_memory(notebook, cell, own):
    notebook.run(
        "from chapter3_helpers.causal_attention import CausalAttention\n"
        "from chapter3_helpers.masking import mask_scores"
    )
    defined = WeakSet()
    for _ in range(9):
        notebook.run(cell)
        defined.add(notebook.shell.user_ns[own])
    for _ in range(2):  # comms have finalisers
        gc.collect()
    assert len(defined) == 3  # which IPython calls _, __ and ___
