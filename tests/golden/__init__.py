"""The numbers that the sources print, as data."""

import json
from functools import cache
from pathlib import Path

import numpy as np
import torch


@cache
def golden() -> dict[str, dict]:
    """Return the golden values by id: section, recipe, decimals, values, and for some a kind."""
    entries = json.loads(Path(__file__).with_name("printed_values.json").read_text("utf-8"))
    return {entry["id"]: entry for entry in entries}


def assert_prints(name: str, value: torch.Tensor) -> None:
    """Compare a tensor with what a source prints, of which the last digit is rounded."""
    expected = torch.tensor(np.array(golden()[name]["values"], dtype=float))
    expected = expected.where(~expected.isnan(), -torch.inf)  # null in the file
    torch.testing.assert_close(value.detach().double(), expected, rtol=0, atol=0.51e-4)
