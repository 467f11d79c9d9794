"""Operations and bytes are counted as they happen, and a module imports no more than it needs."""

import subprocess
import sys

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from chapter3_helpers import performance
from chapter3_helpers.benchmarks.variants import make_variants
from chapter3_helpers.fused_multihead import FusedMultiHeadAttention, MultiHeadAttention
from chapter3_helpers.performance import (
    SOFTMAX_PASSES,
    VARIANTS,
    Sizes,
    best_time,
    count_bytes,
    count_flops,
    intensity,
    least_seconds,
    measure_limits,
    peak_memory,
    roof,
)

SMALL = Sizes(batch=2, tokens=5, width=21, heads=3)  # head_dim 7


@pytest.mark.parametrize("name", ["wrapper", "split", "packed"])
def test_flops_are_those_that_torch_sees(name):
    variant = next(variant for variant in make_variants(SMALL) if variant.name == name)
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        variant.call(torch.rand(2, 5, 21))
    assert counter.get_total_flops() == sum(count_flops(SMALL, skip_hidden=False).values())


def test_flops_by_hand():
    flops = count_flops(SMALL)
    assert flops == {
        "project": 2 * 2 * 5 * 21 * 63,
        "compare": 2 * 2 * 3 * 15 * 7,  # 15 = 1 + 2 + 3 + 4 + 5 visible scores
        "mix": 2 * 2 * 3 * 15 * 7,
        "out_proj": 2 * 2 * 5 * 21 * 21,
    }
    assert count_flops(SMALL, skip_hidden=False)["mix"] == 2 * 2 * 3 * 25 * 7


def test_bytes_by_hand():
    x, scores = 2 * 5 * 21, 2 * 3 * 25
    for variant, readings in zip(VARIANTS, (9, 3, 1, 1), strict=True):
        stored = scores if variant != "fused" else 0
        moved = count_bytes(SMALL, variant, bytes_per_number=2)
        assert moved["project"] == 2 * (readings * x + 3 * 21 * 21 + 3 * x)
        assert moved["compare"] == moved["mix"] == 2 * (2 * x + stored)
        assert moved["softmax"] == 2 * SOFTMAX_PASSES * stored
        assert moved["out_proj"] == 2 * ((2 if stored else 0) * x + 2 * x + 21 * 21)


def test_a_longer_step_is_waited_for():
    assert roof(4.0, 100.0, 10.0) == 40.0
    assert roof(40.0, 100.0, 10.0) == 100.0
    only_memory = least_seconds(SMALL, "split", 1e30, 2.0)
    only_flops = least_seconds(SMALL, "split", 2.0, 1e30)
    assert only_memory == pytest.approx(sum(count_bytes(SMALL, "split").values()) / 2)
    assert only_flops == pytest.approx(sum(count_flops(SMALL, skip_hidden=False).values()) / 2)
    assert least_seconds(SMALL, "split", 2.0, 2.0) >= max(only_memory, only_flops)


def test_intensity_is_operations_over_bytes():
    done = sum(count_flops(SMALL, skip_hidden=False).values())
    assert intensity(SMALL, "split") == done / sum(count_bytes(SMALL, "split").values())
    assert intensity(SMALL, "fused", 2) == pytest.approx(2 * intensity(SMALL, "fused", 4))


def test_peak_memory_is_the_highest_moment_and_not_the_sum():
    x = torch.ones(1000)

    def call():
        y = x + x  # 4000 bytes
        z = y + y  # 8000
        del y
        return z + z  # 8000 again, since y is gone

    assert peak_memory(call) == 8000


def test_memory_grows_with_t_for_fused_and_with_its_square_for_split():
    peaks = {MultiHeadAttention: [], FusedMultiHeadAttention: []}
    for T in (1024, 2048):
        for cls, values in peaks.items():
            module, x = cls(8, 8, T, 0.0, 1).eval(), torch.rand(1, T, 8)
            with torch.no_grad():
                values.append(peak_memory(lambda module=module, x=x: module(x)))
    split, fused = peaks.values()
    assert 3.8 < split[1] / split[0] < 4.2
    assert fused[1] / fused[0] < 2.2
    assert split[0] >= 4 * 1024 * 1024 * 3


def test_errors_of_a_call_pass_through_and_the_error_stream_comes_back(capfd):
    def fail():
        raise RuntimeError("as intended")

    with pytest.raises(RuntimeError, match="as intended"):
        peak_memory(fail)
    print("still here", file=sys.stderr)
    assert capfd.readouterr().err == "still here\n"


@pytest.mark.parametrize(
    ("seconds", "limits"),  # of a product, the same by oneDNN, a copy, an addition
    [
        ((2e-3, 1e-3, 0.5, 0.6), (1.048576e9, 5e6)),
        ((1e-3, 2e-3, 0.4, 0.75), (1.048576e9, 5e6)),
    ],
)
def test_limits_are_those_of_the_faster_ways(monkeypatch, seconds, limits):
    """Of 128 x 64 by 64 x 64: 2 * 128 * 64 * 64 operations; and of arrays of a megabyte."""
    left = list(seconds)

    def timed(call, rounds, device="cpu"):
        call()
        return left.pop(0)

    monkeypatch.setattr(performance, "best_time", timed)
    assert measure_limits(megabytes=1, width=64, rounds=2) == pytest.approx(limits)
    assert left == []


def test_the_best_time_is_the_shortest_but_not_the_first(monkeypatch):
    clock = iter([0.0, 1.0, 1.0, 14.0, 14.0, 16.0, 16.0, 23.0])  # 1 to warm up, then 13, 2, 7
    monkeypatch.setattr(performance.time, "perf_counter", lambda: next(clock))
    calls = []
    assert best_time(lambda: calls.append(1), rounds=3) == 2.0
    assert len(calls) == 4


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"heads": 4}, ValueError, "must be divisible by num_heads, got d_out=21 and num_heads=4"),
        ({"tokens": 0}, ValueError, "tokens must be at least 1, got 0"),
        ({"batch": 1.0}, TypeError, "batch must be an integer, got 1.0"),
    ],
)
def test_refuses_bad_sizes(change, error, message):
    with pytest.raises(error, match=message):
        Sizes(**{"batch": 2, "tokens": 5, "width": 21, "heads": 3} | change)


@pytest.mark.parametrize("speed", ["flops_per_second", "bytes_per_second"])
@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        (0, ValueError, "must be above 0, got 0"),
        (-1.0, ValueError, "must be above 0, got -1.0"),
        ("fast", TypeError, "must be a number, got 'fast'"),
    ],
)
def test_refuses_a_machine_that_stands_still(speed, value, error, message):
    speeds = {"flops_per_second": 1.0, "bytes_per_second": 2.0, speed: value}
    with pytest.raises(error, match=f"{speed} {message}"):
        least_seconds(SMALL, "split", **speeds)
    with pytest.raises(error, match=f"{speed} {message}"):
        roof(1.0, **speeds)


def test_refuses_to_time_nothing():
    with pytest.raises(ValueError, match="rounds must be at least 1, got 0"):
        best_time(lambda: pytest.fail("called"), 0)


def test_refuses_an_unknown_variant():
    with pytest.raises(ValueError, match="variant must be one of 'wrapper', 'split'"):
        count_bytes(SMALL, "nonsense")


@pytest.mark.parametrize(
    ("module", "heavy"),
    [
        ("chapter3_helpers", ("torch", "numpy", "matplotlib", "ipywidgets")),
        ("chapter3_helpers.explorers", ("torch", "numpy", "matplotlib", "ipywidgets")),
        ("chapter3_helpers.plots", ("torch", "seaborn", "pandas", "ipywidgets")),
        ("chapter3_helpers.explorers.panels", ("torch", "seaborn", "pandas", "ipywidgets")),
        ("chapter3_helpers.handmade_transformer", ("torch", "matplotlib")),
        ("chapter3_helpers.copy_weights", ("matplotlib", "pandas", "ipywidgets")),
        ("chapter3_helpers.transformer_block", ("matplotlib", "pandas", "ipywidgets")),
        ("chapter3_helpers.grouped_query", ("matplotlib", "pandas", "ipywidgets")),
        ("chapter3_helpers.performance", ("matplotlib", "pandas", "torch._dynamo")),
    ],
)
def test_imports_no_more_than_it_needs(module, heavy):
    code = f"import sys, {module}; print([m for m in {heavy!r} if m in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (found.stdout.strip(), found.stderr) == ("[]", "")
