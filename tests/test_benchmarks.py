"""The benchmark times only what is right, says why it leaves something out, and saves all."""

import json
import os
import subprocess
import sys
from dataclasses import replace

import pytest
import torch

from chapter3_helpers.benchmarks import __main__ as benchmark
from chapter3_helpers.benchmarks import measure, variants
from chapter3_helpers.benchmarks.measure import (
    in_turn,
    measure_generation,
    measure_memory,
    measure_sizes,
)
from chapter3_helpers.benchmarks.report import generation_table, memory_table, table
from chapter3_helpers.benchmarks.variants import (
    find_wrong,
    flex_attention_variant,
    make_variants,
    shared_weights,
)
from chapter3_helpers.fused_multihead import MultiHeadAttention
from chapter3_helpers.performance import Sizes, peak_memory
from tests.devices import DEVICES

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
    made = make_variants(SMALL, device)
    x = torch.randn(2, 5, 21, device=device)
    expected = shared_weights(SMALL).to(device)(x)
    for variant in made:
        torch.testing.assert_close(variant.call(x), expected, atol=1e-5, rtol=1e-5)
    assert len({variant.name for variant in made}) == len(made) == 7
    assert find_wrong(made, x) == {}


def test_what_was_measured_is_saved_before_the_rest_is(tmp_path, monkeypatch, capsys):
    def stop_at_the_second(sizes, *arguments):
        if sizes == benchmark.QUICK_SIZES[1]:
            raise KeyboardInterrupt
        return measure_sizes(sizes, "cpu", 0.01, flex=False)

    monkeypatch.setattr(benchmark, "measure_sizes", stop_at_the_second)
    with pytest.raises(KeyboardInterrupt):
        benchmark.main(["--quick", "--device", "cpu", "--out", str(tmp_path)])
    results = json.loads((tmp_path / "attention.json").read_text())
    assert {row["sizes"] for row in results["times"]} == {str(benchmark.QUICK_SIZES[0])}
    assert [row["tokens"] for row in results["memory"]] == [256, 512]
    assert "fused" in capsys.readouterr().out


def test_what_is_wrong_is_listed_and_not_timed():
    made = make_variants(SMALL)
    made[4] = replace(made[4], call=lambda x, right=made[4].call: right(x) + 0.01)
    made[5] = replace(made[5], call=lambda x: torch.full_like(x, torch.nan))
    rows = measure_sizes(SMALL, seconds=0.01, flex=False, variants=made)
    by_name = {(row["variant"], row["pass"]): row for row in rows}
    for name in ("fused", "torch"):
        for way in ("forward", "forward + backward"):
            assert by_name[name, way]["reason"].startswith("WRONG")
            assert "median" not in by_name[name, way]
    assert by_name["packed", "forward"]["median"] > 0
    assert "WRONG by 0.01, not timed" in table(rows)


def wrong_rows(rows):
    return {
        (row["variant"], row["pass"])
        for row in rows
        if row.get("reason", "").startswith("WRONG") and "median" not in row
    }


@pytest.mark.parametrize("place", [0, 1])  # the first one, and the one that speeds refer to
def test_a_wrong_variant_condemns_no_other(place):
    made = make_variants(SMALL)
    made[place] = replace(made[place], call=lambda x, right=made[place].call: right(x) + 0.01)
    rows = measure_sizes(SMALL, seconds=0.01, flex=False, variants=made)
    name = made[place].name
    assert wrong_rows(rows) == {(name, "forward"), (name, "forward + backward")}


def test_a_wrong_gradient_is_listed_and_not_timed():
    """The right numbers with the gradient of something else; the forward pass may be timed."""
    made = make_variants(SMALL)
    made[4] = replace(
        made[4], call=lambda x, right=made[4].call: right(x) + 0.01 * (x - x.detach())
    )
    made[5] = replace(made[5], call=lambda x, right=made[5].call: right(x.detach()) + 0 * x)
    made[6] = replace(made[6], call=made[5].call, backward=False)
    rows = measure_sizes(SMALL, seconds=0.01, flex=False, variants=made)
    way = "forward + backward"
    assert wrong_rows(rows) == {("fused", way), ("torch", way)}
    by_name = {(row["variant"], row["pass"]): row for row in rows}
    assert by_name["fused", way]["reason"] == "WRONG by 0.01, not timed"
    assert by_name["fused", "forward"]["median"] > 0
    assert by_name["torch+weights", way]["reason"] == "has no backward here"


def test_nothing_to_compare_is_nothing_wrong():
    assert find_wrong([], torch.ones(1)) == {}


def test_variants_neither_heed_nor_change_the_random_numbers_of_the_caller(monkeypatch):
    monkeypatch.setattr(variants.torch, "compile", lambda function: 1 / 0)
    torch.manual_seed(123)
    expected = MultiHeadAttention(21, 21, 5, 0.0, 3).state_dict()
    torch.manual_seed(7)
    before = torch.get_rng_state()
    found = shared_weights(SMALL).state_dict()
    make_variants(SMALL)
    flex_attention_variant(SMALL)
    assert torch.equal(torch.get_rng_state(), before)
    torch.testing.assert_close(dict(found), dict(expected), rtol=0, atol=0)


def test_a_gpu_that_is_missing_is_named(monkeypatch, capsys):
    monkeypatch.setattr(benchmark.torch.cuda, "is_available", lambda: False)
    for device, message in (
        ("cuda", "--device cuda needs a GPU that torch can use"),
        ("abacus", "invalid choice: 'abacus'"),
    ):
        with pytest.raises(SystemExit, match="2"):
            benchmark.main(["--quick", "--device", device])
        assert message in capsys.readouterr().err


@pytest.mark.parametrize("device", DEVICES)
def test_rows_hold_what_the_table_says(device):
    rows = measure_sizes(SMALL, device, seconds=0.01, flex=False)
    assert len(rows) == 14
    for row in rows:
        low, high = row["quartiles"]
        assert 0 < low <= row["median"] <= high
        assert 0 < row["best"] <= row["median"]
        assert row["rounds"] >= 3
        assert row["memory"] > 0
        assert row["limit"] >= row["fastest_limit"] > 0
    split = {row["pass"]: row for row in rows if row["variant"] == "split"}
    assert {row["speed"] for row in split.values()} == {1.0}
    forward, both = split.values()
    assert both["memory"] > forward["memory"]
    product = {row["flops_per_second"] / row["limit"] for row in rows if row["pass"] == "forward"}
    assert max(product) == pytest.approx(min(product))  # all against the same product


SECONDS = {"x @ W": 0.001, "oneDNN": 0.0005, "wrapper": 0.003, "split": 0.004, "fused": 0.002}
USEFUL = 37800  # with 2 * 15 scores a head: 26460 + 1260 + 1260 + 8820 operations


@pytest.mark.parametrize("faster", ["x @ W", "oneDNN"])
def test_rows_are_worked_out_from_the_seconds(monkeypatch, faster):
    seconds = SECONDS | {faster: 0.00025}
    measured = {}

    def timed(calls, budget, description):
        assert calls["x @ W"]().shape == (10, 63)  # one packed projection of all tokens
        assert calls["oneDNN"]().shape == (2, 5, 63)
        measured[description] = {name: peak_memory(call) for name, call in calls.items()}
        return {name: [0.5 * s, s, 3 * s] for name, s in seconds.items()}  # its median is s

    monkeypatch.setattr(measure, "in_turn", timed)
    made = [variant for variant in make_variants(SMALL) if variant.name in seconds]
    rows = measure_sizes(SMALL, flex=False, variants=made)
    assert len(rows) == 6
    product, onednn = 26460 / seconds["x @ W"], 26460 / seconds["oneDNN"]
    for row in rows:
        spent = seconds[row["variant"]]
        useful = USEFUL * (3 if row["pass"] == "forward + backward" else 1)
        assert row["median"] == spent
        assert row["best"] == 0.5 * spent
        assert row["speed"] == pytest.approx(0.004 / spent)
        assert row["flops_per_second"] == pytest.approx(useful / spent)
        assert row["limit"] == pytest.approx(useful / spent / product)
        assert row["fastest_limit"] == pytest.approx(useful / spent / max(product, onednn))
        assert row["memory"] == measured[f"{SMALL} {row['pass']}"][row["variant"]]


def test_memory_does_not_depend_on_who_was_measured_before():
    alone = measure_sizes(SMALL, seconds=0.01, flex=False, variants=make_variants(SMALL)[-1:])
    made = make_variants(SMALL)
    rows = measure_sizes(SMALL, seconds=0.01, flex=False, variants=made)
    memory = {row["pass"]: row["memory"] for row in rows if row["variant"] == "torch+weights"}
    assert memory == {row["pass"]: row["memory"] for row in alone}
    for variant in made:
        assert all(parameter.grad is None for parameter in variant.module.parameters())


def test_what_would_fill_the_memory_is_left_out(monkeypatch):
    class Little:
        available = 1000

    monkeypatch.setattr(measure.psutil, "virtual_memory", lambda: Little)
    rows = measure_sizes(SMALL, seconds=0.01, flex=False)
    reasons = {row["variant"]: row.get("reason") for row in rows if row["pass"] == "forward"}
    assert reasons["split"] == "left out: needs about 0 GB"
    assert reasons["fused"] is None
    assert all(row["speed"] is None for row in rows if "median" in row)
    assert "left out" in table(rows)
    made = make_variants(SMALL)
    made[3] = replace(made[3], call=lambda x, right=made[3].call: right(x) + 0.01)
    rows = measure_sizes(SMALL, seconds=0.01, flex=False, variants=made)
    assert {name for name, _ in wrong_rows(rows)} == {"kernel"}


def test_flex_attention_without_a_compiler_is_a_reason(monkeypatch):
    def no_compiler(function):
        raise RuntimeError("No working C++ compiler found\nand more lines")

    monkeypatch.setattr(variants.torch, "compile", no_compiler)
    found, reason = flex_attention_variant(SMALL)
    assert found is None
    assert reason == "RuntimeError: No working C++ compiler found"
    rows = measure_sizes(SMALL, seconds=0.01, variants=make_variants(SMALL)[:4])
    assert rows[0]["reason"].startswith("does not run here: RuntimeError: No working C++")


@pytest.mark.parametrize("device", DEVICES)
def test_memory_of_fused_is_a_line_and_of_split_a_square(device):
    rows = measure_memory((1024, 2048), device)
    assert 3.6 < rows[1]["split"] / rows[0]["split"] < 4.4
    assert 1.3 < rows[1]["fused"] / rows[0]["fused"] < 2.5
    assert "T =   2048" in memory_table(rows)


@pytest.mark.parametrize("device", DEVICES)
def test_generation_keeps_its_cache_in_place_and_its_numbers_right(device):
    (row,) = measure_generation((48,), device, seconds=0.01)
    assert row["difference"] < 1e-5
    assert not row["cache_moved"]
    assert row["cached"] > 0
    assert "cache moved: False" in generation_table([row])


def test_seconds_of_one_token_are_not_those_of_all(monkeypatch):
    monkeypatch.setattr(
        measure, "in_turn", lambda *_: {"cached": [0.8, 0.4, 3.0], "recomputed": [0.5, 0.1, 0.3]}
    )
    (row,) = measure_generation((48,), new_tokens=8)
    assert (row["cached"], row["recomputed"]) == pytest.approx((0.1, 0.3))


def test_calls_are_timed_in_turn_and_none_is_wasted(monkeypatch):
    now, made = [0.0], []

    def call(name, seconds):
        made.append(name)
        now[0] += seconds

    monkeypatch.setattr(measure, "clock", lambda: now[0])
    monkeypatch.setattr(measure, "SHORTEST", 0.5)
    calls = {"short": lambda: call("short", 0.125), "long": lambda: call("long", 1.0)}
    assert in_turn(calls, seconds=0.0) == {"short": [0.125] * 3, "long": [1.0] * 3}
    assert made == ["short", "short", "long"] + 3 * (4 * ["short"] + ["long"])


def test_sizes_reach_from_six_tokens_to_8192():
    assert benchmark.SIZES[0].tokens == 6
    assert Sizes(8, 1024, 768, 12) in benchmark.SIZES
    assert max(sizes.tokens for sizes in benchmark.SIZES) == 8192


def test_quick_run_prints_and_saves(tmp_path):
    command = [sys.executable, "-m", "chapter3_helpers.benchmarks", "--quick", "--out", "results"]
    done = subprocess.run(
        [*command, "--device", "cpu"],
        cwd=tmp_path,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert "sizes: 100%" in done.stderr  # the progress bar
    for words in ("(batch, T, d, heads) = (2, 128, 64, 4), forward + backward", "fused", "cached"):
        assert words in done.stdout
    results = json.loads((tmp_path / "results" / "attention.json").read_text())
    assert results["machine"]["torch"] == torch.__version__
    assert len(results["times"]) == 2 * 2 * 7
    picture = (tmp_path / "results" / "attention.png").read_bytes()
    assert picture.startswith(b"\x89PNG")
