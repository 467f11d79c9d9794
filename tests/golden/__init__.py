"""The numbers that the sources print, as data."""

import json
from functools import cache
from pathlib import Path


@cache
def golden() -> dict[str, dict]:
    """Return the golden values by id: section, recipe, decimals, values, and for some a kind."""
    entries = json.loads(Path(__file__).with_name("printed_values.json").read_text("utf-8"))
    return {entry["id"]: entry for entry in entries}
