"""Which explorers the cells of a notebook have made and show.

ipywidgets keeps every widget until it is closed, and IPython keeps every result in ``Out``. So once
a cell has been run again, the explorers that its former run made or showed are closed, unless
another cell shows them. One that somebody still has, in a variable say, opens when it is shown.
"""

from collections.abc import Iterator
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

import ipywidgets as widgets
from IPython import get_ipython


def made(explorer: widgets.Widget) -> None:
    """Remember an explorer as made by the cell that is running; without IPython there is none."""
    shell = get_ipython()
    if shell is None:
        return
    if shell not in _NOTEBOOKS:
        _NOTEBOOKS[shell] = Notebook(shell)
    _NOTEBOOKS[shell].explorers.add(explorer)
    _NOTEBOOKS[shell].running.add(explorer)


class Notebook:
    """The explorers of one notebook, by the cell whose last run made or showed them.

    A cell is known by the id that the page gives it, else by its text.
    """

    def __init__(self, shell: Any):
        self.explorers: WeakSet[widgets.Widget] = WeakSet()
        self.running: WeakSet[widgets.Widget] = WeakSet()  # of the cell that is running
        self.of_cell: dict[str, WeakSet[widgets.Widget]] = {}
        shell.events.register("pre_run_cell", self.begin)
        shell.events.register("post_run_cell", self.end)
        shell.display_formatter.mimebundle_formatter.for_type(widgets.Widget, self.show)

    def begin(self, _info: Any) -> None:
        """Start with none: what was made since the last cell, by a button say, is no cell's."""
        self.running = WeakSet()

    def end(self, result: Any) -> None:
        """Close what the former run of this cell made or showed, and no other cell shows."""
        cell = result.info.cell_id or result.info.raw_cell
        former = self.of_cell.pop(cell, WeakSet())
        if self.running:
            self.of_cell[cell] = self.running
        self.running = WeakSet()
        for explorer in set(former).difference(*self.of_cell.values()):
            explorer.close()
            _forget(explorer)

    def show(self, widget: widgets.Widget) -> Any:
        """Return what a page is sent of any widget, and remember the explorers in it as shown."""
        for explorer in self._inside(widget):
            explorer.open()
            self.running.add(explorer)
        return widget._repr_mimebundle_ and widget._repr_mimebundle_()

    def _inside(self, widget: widgets.Widget) -> Iterator[widgets.Widget]:
        if widget in self.explorers:
            yield widget
            return
        for child in getattr(widget, "children", ()):
            yield from self._inside(child)


def _forget(explorer: widgets.Widget) -> None:
    """Take it out of ``Out``, where a result has the number of its run."""
    shell = get_ipython()
    results = shell.history_manager.output_hist
    for number in [number for number, result in results.items() if result is explorer]:
        del results[number]
        shell.drop_by_id({f"_{number}": explorer})


_NOTEBOOKS: WeakKeyDictionary[Any, Notebook] = WeakKeyDictionary()
