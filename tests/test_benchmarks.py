"""The benchmark times one function computed in many ways, and prints all that it finds."""

import os
import platform
import runpy
import subprocess
import sys
from types import SimpleNamespace

import pytest
import torch

from chapter3_helpers import performance
from chapter3_helpers.benchmarks import __main__ as benchmark
from chapter3_helpers.benchmarks import machine, measure, real_model
from chapter3_helpers.benchmarks.machine import (
    best_time,
    in_turn,
    measure_limits,
    peak_memory,
)
from chapter3_helpers.benchmarks.measure import measure_memory, measure_sizes
from chapter3_helpers.benchmarks.real_model import measure_writing
from chapter3_helpers.benchmarks.report import TIMES, memory_table, table, writing_table
from chapter3_helpers.benchmarks.variants import make_variants, shared_weights
from chapter3_helpers.performance import OneDNNLinear, Sizes
from chapter3_helpers.real_model import Llama
from tests.devices import DEVICES
from tests.gguf_files import random_llama

SMALL = Sizes(batch=2, tokens=5, width=21, heads=3)


@pytest.fixture(autouse=True)
def _one_thread():
    """Small steps on a busy machine spend their time waiting for a second thread."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.mark.parametrize("device", DEVICES)
def test_all_variants_are_one_function_with_one_set_of_weights(device):
    x = torch.randn(2, 5, 21, device=device, requires_grad=True)
    before = torch.get_rng_state()
    made, expected = make_variants(SMALL, device), shared_weights(SMALL).to(device)(x)
    assert torch.equal(torch.get_rng_state(), before), "the caller's random numbers stay"
    slopes = torch.autograd.grad(expected.sum(), x)
    for variant in made:
        found = variant.call(x)
        torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)
        found = torch.autograd.grad(found.sum(), x)
        torch.testing.assert_close(found, slopes, atol=1e-5, rtol=1e-5)
    assert len({variant.name for variant in made}) == len(made) == 7


def test_accelerated_is_fused_with_other_layers(monkeypatch):
    monkeypatch.setattr(performance, "onednn_is_faster", lambda: True)
    made = {variant.name: variant.module for variant in make_variants(SMALL)}
    assert type(made["accelerated"].W_qkv) is type(made["accelerated"].out_proj) is OneDNNLinear
    assert type(made["fused"].W_qkv) is torch.nn.Linear


def test_a_gpu_that_is_missing_is_named(monkeypatch, capsys):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(sys, "argv", ["-m", "--device", "cuda"])
    monkeypatch.delitem(sys.modules, benchmark.__name__)  # python -m runs it anew
    with pytest.raises(SystemExit, match="2"):
        runpy.run_module("chapter3_helpers.benchmarks", run_name="__main__")
    assert "--device cuda needs a GPU that torch can use" in capsys.readouterr().err


def test_rows_are_worked_out_from_the_seconds(monkeypatch):
    products = {"x @ W": 0.001, "x @ W accelerated": 0.0005}
    seconds = products | {"wrapper": 0.003, "split": 0.004, "fused": 0.002}
    measured = {}

    def timed(calls, budget, description):
        assert [calls[name]().shape for name in products] == 2 * [(2, 5, 63)]  # one packed product
        measured[description] = {name: peak_memory(call) for name, call in calls.items()}
        return {name: [0.5 * s, s, 3 * s] for name, s in seconds.items()}  # its median is s

    monkeypatch.setattr(measure, "in_turn", timed)
    made = [variant for variant in make_variants(SMALL) if variant.name in seconds]
    rows = measure_sizes(SMALL, made)
    assert [row["variant"] for row in rows] == 2 * list(seconds)
    assert all(p.grad is None for variant in made for p in variant.module.parameters())
    for row in rows:
        spent, is_product = seconds[row["variant"]], row["variant"] in products
        # with 2 * 15 scores a head: 26460 + 1260 + 1260 + 8820 operations, 26460 of the product
        useful = 26460 if is_product else 37800 * (1 if row["pass"] == "forward" else 3)
        assert [row[name] for name in TIMES] == pytest.approx(
            [1e3 * spent * n for n in (1, 0.5, 3)]
        )
        assert row.get("x split") == (None if is_product else pytest.approx(0.004 / spent))
        assert row["of x @ W"] == pytest.approx(useful / spent / (26460 / 0.001))
        assert 1e6 * row["memory MB"] == measured[f"{SMALL} {row['pass']}"][row["variant"]]


def test_what_would_fill_the_memory_is_left_out(monkeypatch):
    monkeypatch.setattr(
        measure.psutil, "virtual_memory", lambda: SimpleNamespace(available=1 << 30)
    )
    large = Sizes(batch=1, tokens=8192, width=4, heads=2)  # 0.54 GB for the scores of both heads
    found = {
        variant.name: [measure._reason(variant, large, "cpu", backward) for backward in (0, 1)]
        for variant in make_variants(large)
    }
    one, two, three = (f"left out: needs about {n} GB" for n in (1, 2, 3))
    assert found.pop("wrapper") == [one, three]
    for name in ("split", "packed", "torch+weights"):
        assert found.pop(name) == [two, three]
    assert found == {"fused": ["", ""], "accelerated": ["", ""], "torch": ["", ""]}


@pytest.mark.parametrize("device", DEVICES)
def test_memory_of_fused_is_a_line_and_of_split_a_square(device):
    rows = measure_memory((1024, 2048), device)
    assert 3.6 < rows[1]["split"] / rows[0]["split"] < 4.4
    assert 1.3 < rows[1]["fused"] / rows[0]["fused"] < 2.5
    assert "2048" in memory_table(rows)


@pytest.mark.parametrize("tied", [True, False])
def test_a_token_is_the_same_one_here_and_in_transformers(monkeypatch, tied):
    model, measured = random_llama(tied=tied), []

    def timed(calls, seconds, description):
        measured.append((torch.get_num_threads(), description, [*calls]))
        calls = dict(calls)
        if "limit" in calls:
            assert len(calls.pop("linear layers")()) == 2 * 7 + 1
            numbers = sum(parameter.numel() for parameter in model.parameters())
            assert numbers - 24 < calls.pop("limit")().numel() * 24 <= numbers
        for _ in range(3):  # a call leaves everything as it was
            here, *others = (call() for call in calls.values())
            for other in others:
                torch.testing.assert_close(other, here, atol=1e-4, rtol=1e-5)
        T = int(description.split(", ")[1].split(" ")[0])
        ids = torch.arange(T + 1)[None]
        expected = model(ids)[:, -1 if "next" in description else -2]
        torch.testing.assert_close(here, expected, atol=1e-4, rtol=1e-5)
        return {name: [0.5, 0.25, 3.0] for name in (*calls, "limit")}

    monkeypatch.setattr(real_model, "in_turn", timed)
    rows = measure_writing(model, (4, 9), threads=(1, 2))
    places = [(row["threads"], row["tokens"]) for row in rows]
    assert places == [(1, 4), (1, 9), (2, 4), (2, 9)]
    assert [threads for threads, *_ in measured] == [1] * 4 + [2] * 4
    assert torch.get_num_threads() == 1, "as it was before"
    names = ["here", "eager", "sdpa"]
    for (_, description, calls), row in zip(measured, [r for r in rows for _ in "12"], strict=True):
        part = description.split(", ")[-1]
        assert [name for name in calls if name in names] == names
        assert row[part]["here"] == 0.5


def test_without_transformers_the_rest_is_measured(monkeypatch):
    monkeypatch.setattr(real_model, "find_spec", lambda _: None)
    monkeypatch.setattr(real_model, "in_turn", lambda calls, *_: {name: [1.0] for name in calls})
    (row,) = measure_writing(random_llama(), (4,), threads=(1,))
    assert [*row["next"]] == ["here", "linear layers", "limit"]
    assert [*row["first"]] == ["here"]


def test_tables_leave_out_what_no_row_has():
    numbers = dict(zip(TIMES, (2.0, 1.0, 3.0), strict=True)) | {"memory MB": 4.0}
    row = {"sizes": "(1, 6, 4, 2)", "pass": "forward", "variant": "split", **numbers}
    row |= {"of x @ W": 0.25, "x split": 1.5}
    product = row | {"variant": "x@W", "x split": None, "of x @ W": 1.0}
    heading, columns, *rows = words_of(table([row, product]))
    assert heading == "(batch, T, d, heads) = (1, 6, 4, 2), forward"
    assert columns == "median ms first quartile third quartile x split of x @ W memory MB"
    assert rows == [
        "split 2.000 1.000 3.000 1.500 0.250 4.000",
        "x@W 2.000 1.000 3.000 1.000 4.000",
    ]
    backward = row | {"pass": "backward"}
    assert "(1, 6, 4, 2), forward" in table([row, backward]).partition("\n\n")[0]
    assert "(1, 6, 4, 2), backward" in table([row, backward]).partition("\n\n")[2]
    memory = [{"tokens": T, "split": T**2, "fused": 4000 * T} for T in (1000, 2000)]
    assert words_of(memory_table(memory))[1:] == [
        "T split fused split, times fused, times",
        "1000 1.000 4.000",
        "2000 4.000 8.000 4.000 2.000",
    ]
    seconds = {"here": 0.05, "linear layers": 0.04, "limit": 0.02, "sdpa": 0.1}
    row = {"threads": 1, "tokens": 10, "first": {"here": 0.1, "sdpa": 0.08}, "next": seconds}
    assert words_of(writing_table([row]))[1:] == [
        "threads prompt tokens/s / linear layers / limit / sdpa first ms first / sdpa",
        "1 10 20.000 1.250 2.500 0.500 100.000 1.250",
    ]


def words_of(text):
    return [" ".join(line.split()) for line in text.splitlines()]


def test_calls_are_timed_in_turn_and_none_is_wasted(monkeypatch):
    now, made = [0.0], []

    def call(name, seconds):
        made.append(name)
        now[0] += seconds

    bars = []

    class Bar(machine.tqdm):
        def close(self):
            bars.append(self.n)

    monkeypatch.setattr(machine, "tqdm", Bar)
    monkeypatch.setattr(machine, "clock", lambda: now[0])
    monkeypatch.setattr(machine, "SHORTEST", 0.5)
    calls = {"short": lambda: call("short", 0.125), "long": lambda: call("long", 1.0)}
    assert in_turn(calls, seconds=0.0) == {"short": [0.125] * 3, "long": [1.0] * 3}
    assert made == ["short", "short", "long"] + 3 * (4 * ["short"] + ["long"])
    assert bars[0] == 6, "a step of the bar for every call of every round"


# In a process of its own: in one that has freed much, a large tensor may fit where another one was.
FAULTS = """
import resource, torch
from chapter3_helpers.benchmarks.machine import memory_kept

def faults(rounds=20):  # in some of the first ones the piece that is kept is a little too small
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(rounds):
        torch.ones(9_000_000)  # 36 MB
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

usual = faults()
with memory_kept():
    print(usual, faults(), faults())
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only this library can be told")
def test_memory_that_is_kept_is_not_provided_again():
    """A page fault is counted for every page that the system provides."""
    called = [sys.executable, "-c", FAULTS]
    printed = subprocess.run(called, capture_output=True, text=True, check=True).stdout
    usual, first, then = map(int, printed.split())
    assert first < usual / 2
    assert then < usual / 10


def test_peak_memory_is_the_highest_moment_and_not_the_sum(capfd):
    x = torch.ones(1000)

    def call():
        y = x + x  # 4000 bytes
        z = y + y  # 8000
        del y
        return z + z  # 8000 again, since y is gone

    assert peak_memory(call) == 8000
    assert peak_memory(lambda: None) == 0
    os.write(2, b"still here\n")
    assert capfd.readouterr().err == "still here\n", "what torch's profiler says is not shown"


@pytest.mark.parametrize(
    ("seconds", "limits"),  # of a product, the same accelerated, a copy, an addition
    [((2e-3, 1e-3, 0.5, 0.6), (1.048576e9, 5e6)), ((1e-3, 2e-3, 0.4, 0.75), (1.048576e9, 5e6))],
)
def test_limits_are_those_of_the_faster_ways(monkeypatch, seconds, limits):
    """Of 128 x 64 by 64 x 64: 2 * 128 * 64 * 64 operations; and of arrays of a megabyte."""
    left = list(seconds)

    def timed(call, rounds):
        call()
        return left.pop(0)

    monkeypatch.setattr(machine, "best_time", timed)
    assert measure_limits(megabytes=1, width=64, rounds=2) == pytest.approx(limits)
    assert left == []


def test_the_best_time_is_the_shortest_but_not_the_first(monkeypatch):
    clock = iter([0.0, 1.0, 1.0, 3.0, 3.0, 16.0, 16.0, 23.0])  # 1 to warm up, then 2, 13, 7
    monkeypatch.setattr(machine, "clock", lambda: next(clock))
    calls = []
    assert best_time(lambda: calls.append(1), rounds=3) == 2.0
    assert len(calls) == 4


def test_a_run_prints_every_table(monkeypatch, capsys):
    monkeypatch.setattr(benchmark, "SIZES", (SMALL, Sizes(2, 128, 64, 4)))
    monkeypatch.setattr(benchmark, "LENGTHS", (256, 512))
    monkeypatch.setattr(benchmark, "model_path", lambda: "here")
    monkeypatch.setattr(benchmark, "load_llama", lambda: Llama(53, 24, 2, 6, 2, 37, 400))
    benchmark.main(["--device", "cpu", "--seconds", "0.01"])
    printed = capsys.readouterr()
    for part in ("sizes", "memory", "writing"):
        assert f"{part}: 100%" in printed.err  # the progress bars
    for words in (
        *(f"torch: {torch.__version__}", "one head of 64 numbers", "tokens/s"),
        *("(2, 5, 21, 3), forward", "(2, 128, 64, 4), forward + backward"),
    ):
        assert words in printed.out
    assert printed.out.count("torch+weights") == 2 * 2
