"""The pictures that notebooks hold."""

import pytest

from tools.notebook_files import notebook_paths, read


@pytest.mark.parametrize("path", notebook_paths(), ids=lambda path: path.stem)
def test_every_figure_says_in_words_what_it_shows_and_whether_its_colours_are_numbers(path):
    pictures = [
        output.metadata.get("image/png", {})
        for cell in read(path).cells
        for output in cell.get("outputs", [])
        if "image/png" in output.get("data", {})
    ]
    for picture in pictures:
        assert picture["alt"]
        assert "state" in picture or picture["shows"] in ("cells", "ink"), "or it is an explorer"
