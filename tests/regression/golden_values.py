"""Find the numbers of the sources in what the notebooks print."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.golden import golden
from tools.notebook_files import code_cells, printed, read, tags

# Which notebooks teach a section; a value must be printed in at least one of them.
SECTIONS = {
    "3.3.1": ("01_dot_products", "02_softmax"),
    "3.3.2": ("01_dot_products", "02_softmax"),
    "3.4.1": ("03_trainable_qkv",),
    "3.4.2": ("03_trainable_qkv",),
    "3.4.2 exercise 3.1": ("03_trainable_qkv",),
    "3.5.1": ("04_masking",),
    "3.5.2": ("05_dropout",),
    "3.5.3": ("05_dropout",),
    "3.6.1": ("06_multihead_wrapper",),
    "3.6.1 exercise 3.2": ("06_multihead_wrapper",),
    "3.6.2": ("07_fused_multihead",),
    "3.6.2 exercise 3.3": ("07_fused_multihead",),
    "handmade transformer": ("11_handmade_transformer",),
}
NUMBER = re.compile(r"-?(?:\d[\d,_]*\.?\d*(?:e[-+]?\d+)?|inf)")


def values_of(notebook: str) -> list[dict]:
    """Return the golden values that belong to a notebook."""
    return [entry for entry in golden().values() if notebook in SECTIONS[entry["section"]]]


def flatten(values: Any) -> Iterator[float]:
    """Yield the numbers of a nested list in printed order; null stands for -inf."""
    if isinstance(values, list):
        for value in values:
            yield from flatten(value)
    else:
        yield float("-inf") if values is None else float(values)


def compared_texts(path: Path) -> list[str]:
    """Return what every cell printed, of those cells that the regression compares."""
    cells = [cell for cell in code_cells(read(path)) if "nbval-ignore-output" not in tags(cell)]
    return [printed(cell) for cell in cells if cell.execution_count is not None]


def is_printed(entry: dict, texts: list[str]) -> bool:
    """Whether all numbers of a value stand in one cell's output, in order, as printed there."""
    if entry.get("kind") == "text":
        return all(
            any(re.search(rf"\b{word}\b.*\b{answer}\b", text) for text in texts)
            for word, answer in entry["values"].items()
        )
    wanted = list(flatten(entry["values"]))
    return any(contains(numbers_in(text), wanted, entry["decimals"]) for text in texts)


def numbers_in(text: str) -> list[float]:
    """Return every number of a text: 1,024 and 1_024 are one number, tensor([1, 2]) holds two."""
    joined = re.sub(r"(?<=\d)[,_](?=\d{3}(?!\d))", "", text)
    return [float(number.rstrip(",_").replace(",", "")) for number in NUMBER.findall(joined)]


def contains(numbers: list[float], wanted: list[float], decimals: int) -> bool:
    """Whether ``wanted`` stands in ``numbers`` as one run, to the last printed decimal."""
    tolerance = 0.5 * 10.0**-decimals + 1e-9 if decimals else 1e-9
    starts = range(len(numbers) - len(wanted) + 1)
    return any(
        all(
            left == right or abs(left - right) <= tolerance
            for left, right in zip(numbers[start:], wanted, strict=False)
        )
        for start in starts
    )


def missing_values(path: Path) -> list[str]:
    """Return the ids of the golden values that a notebook should print and does not."""
    here, others = path.stem, {}
    missing = []
    for entry in values_of(here):
        places = [path.with_name(f"{name}.ipynb") for name in SECTIONS[entry["section"]]]
        for place in places:
            if place not in others and place.exists():
                others[place] = compared_texts(place)
        if not any(is_printed(entry, others[place]) for place in places if place in others):
            missing.append(entry["id"])
    return missing
