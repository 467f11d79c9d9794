"""The last line of ``make check-cpus`` says what differs where, and what could not be varied."""

import pytest

from tests.regression import cpus

SAME = "all 3 cells print the same"
OTHER = "1 of 3 cells print something else: rounding cell 2"


@pytest.mark.parametrize(
    ("capability", "instructions", "found", "last", "failed"),
    [
        (
            "AVX512",
            ["AVX-512", "SSE4.2"],
            {},
            f"SSE4.2, AVX2, AVX-512, as it is, noise: {SAME}. Not varied: nothing.",
            False,
        ),
        (
            "AVX2",
            ["AMD", "AMD"],
            {"AVX2": OTHER, "noise": OTHER},
            f"SSE4.2, as it is: {SAME}; AVX2, noise: {OTHER}. "
            "Not varied: no AVX-512 here, MKL_ENABLE_INSTRUCTIONS does nothing here.",
            True,
        ),
    ],
)
def test_the_last_line(monkeypatch, capsys, capability, instructions, found, last, failed):
    answers = iter(instructions)
    monkeypatch.setattr(cpus, "ask", lambda code, **_: f"{capability}\n")
    monkeypatch.setattr(cpus, "of_mkl", lambda **_: next(answers))
    monkeypatch.setattr(cpus, "differences", lambda corner: found.get(corner, SAME))
    assert cpus.main() == failed
    assert capsys.readouterr().out.splitlines()[-1] == last


def test_what_is_set_already_is_not_inherited(monkeypatch):
    monkeypatch.setenv(cpus.ATEN, "avx2")
    assert cpus.ATEN not in cpus.environment()
    assert cpus.environment(**{cpus.ATEN: "default"})[cpus.ATEN] == "default"
