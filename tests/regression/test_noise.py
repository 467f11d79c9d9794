"""The noise finds a cell that rests on a last bit, and leaves alone what is the same everywhere."""

import re
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import nbformat
import numpy as np
import pytest
import torch
from nbformat.v4 import new_code_cell, new_notebook, new_output

from tests.regression.noise import shake

ROOT = Path(__file__).parents[2]
EXACT = "an operation with the same shapes, exact numbers and random ones are the same"
# What a cell does, and what it prints where it was written.
CELLS = {
    "imports": ("import torch", ""),
    "data": ("torch.manual_seed(1)\nx, W = torch.rand(2, 6, 3), torch.rand(3, 3)", ""),
    "batched == single": ("print((x @ W @ x.mT)[0].equal(x[0] @ W @ x[0].T))", "True\n"),
    "within a tolerance": ("print(torch.allclose((x @ W @ x.mT)[0], x[0] @ W @ x[0].T))", "True\n"),
    "on the threshold": (
        """
        scores = torch.zeros(6, 6, requires_grad=True)  # all alike: every weight stays a sixth
        optimizer = torch.optim.SGD([scores], lr=0.1)
        for _ in range(3):
            torch.softmax(scores, dim=-1).square().sum().backward()
            optimizer.step()
        print(f"above a sixth: {(torch.softmax(scores, dim=-1) > 1 / 6).float().mean():.1f}")
        """,
        "above a sixth: 0.0\n",
    ),
    EXACT: (
        """
        later = x.clone()
        later[:, -1] += 1
        masked = torch.softmax((x @ x.mT).masked_fill(torch.ones(6, 6).triu(1) > 0, -torch.inf), -1)
        other = later @ later.mT
        other = torch.softmax(other.masked_fill(torch.ones(6, 6).triu(1) > 0, -torch.inf), -1)
        print((masked @ x)[:, :-1].equal((other @ later)[:, :-1]), masked[:, 0])
        print(torch.arange(6.0).view(2, 3) @ torch.ones(3), (x > 2).float().mean(), torch.rand(1))
        """,
        "True tensor([[1., 0., 0., 0., 0., 0.],\n        [1., 0., 0., 0., 0., 0.]])\n"
        "tensor([ 3., 12.]) tensor(0.) tensor([0.7570])\n",
    ),
    "changed in place": (
        """
        weights = torch.softmax(x.requires_grad_(), dim=-1)
        weights.mul_(2)
        try:
            weights[0, 0, 0].backward()
        except RuntimeError as error:
            print(str(error).split(":")[0])
        """,
        "one of the variables needed for gradient computation has been modified by an inplace "
        "operation\n",
    ),
}


@pytest.mark.skipif(not hasattr(torch.library, "get_kernel"), reason="needs PyTorch 2.9")
def test_cells_that_rest_on_a_last_bit_are_named_and_no_others(tmp_path):
    cells = [
        new_code_cell(
            dedent(source).strip(),
            execution_count=number,
            outputs=[new_output("stream", name="stdout", text=text)] if text else [],
        )
        for number, (source, text) in enumerate(CELLS.values(), start=1)
    ]
    nbformat.write(new_notebook(cells=cells), tmp_path / "rounding.ipynb")
    plugins = [f"-ptests.regression.{name}" for name in ("tolerance", "noise", "differences")]
    command = [sys.executable, "-m", "pytest", "-v", *plugins, "--nbval", "--nbval-current-env"]
    result = subprocess.run(
        [*command, str(tmp_path / "rounding.ipynb")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
    )
    outcomes = re.findall(r"::Cell \d+ (PASSED|FAILED)", result.stdout)
    failed = [name for name, how in zip(CELLS, outcomes, strict=True) if how == "FAILED"]
    assert failed == ["batched == single", "on the threshold"], result.stdout
    assert ": 2 of 7 cells print something else: rounding cell 2, rounding cell 4" in result.stdout


def test_rounded_numbers_move_by_one_or_two_places_and_others_not_at_all():
    exact = np.array([0, 1, 0.5, -3, 1e-45, np.inf, np.nan, np.finfo(np.float32).max], np.float32)
    rounded = np.linspace(0.1, 9.7, 500, dtype=np.float32)
    numbers = np.concatenate([exact, rounded])
    again, other = numbers.copy(), numbers.copy()
    shake(numbers, "product", (3, 4))
    np.testing.assert_array_equal(numbers[: len(exact)], exact)
    places = abs(numbers[len(exact) :] - rounded) / np.spacing(rounded)
    assert places.max() <= 4, "at a power of two a place becomes half of what it was"
    assert (places > 0).mean() > 0.95
    shake(again, "product", (3, 4))
    np.testing.assert_array_equal(again, numbers, "the same for the same shapes")
    shake(other, "product", (4, 3))
    assert not np.array_equal(other, numbers, equal_nan=True)
