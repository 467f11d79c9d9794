"""Heads in several processes equal one process that holds them all; the processes always end."""

import copy
import ipaddress
import os
import re
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from unittest import mock

import psutil
import pytest
import torch
from torch import distributed, nn

from chapter3_helpers.fused_multihead import FusedMultiHeadAttention, MultiHeadAttention
from chapter3_helpers.grouped_query import GroupedQueryAttention
from chapter3_helpers.tensor_parallel import (
    comparison,
    exchanged_bytes,
    parallelize,
    processes,
)
from chapter3_helpers.tensor_parallel.comparison import compare, run
from chapter3_helpers.tensor_parallel.processes import run_processes
from tests.listening import listening_addresses

ROOT = Path(__file__).parents[1]
KINDS = ("multi-head", "biased", "grouped")


def make(kind: str) -> nn.Module:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(13)
        if kind == "multi-head":
            return MultiHeadAttention(7, 12, 11, dropout=0.0, num_heads=4)
        if kind == "fused":
            return FusedMultiHeadAttention(7, 12, 11, dropout=0.0, num_heads=4)
        if kind == "biased":
            biased = MultiHeadAttention(5, 22, 11, dropout=0.3, num_heads=2, qkv_bias=True)
            return biased.double()
        return GroupedQueryAttention(36, num_heads=6, num_kv_heads=2, context_length=13)


def tokens(module: nn.Module, *shape: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(17)
    x = torch.randn(*shape, module.W_query.in_features, generator=generator)
    return x.to(module.W_query.weight.dtype)


class Linear(nn.Sequential):
    """A layer as adapters and quantisation put in, whose class is often called Linear as well."""


def replaced(name: str) -> nn.Module:
    """A module in which another has taken a projection's place."""
    module = make("multi-head")
    setattr(module, name, Linear(getattr(module, name)))
    return module


# its layers can be asked for, but lie one module further down
COMPILED = torch.compile(make("multi-head"), backend="eager")


# What the processes do: each fact is found inside of them, and asserted here, outside.


def facts() -> list[dict]:
    rank, found = distributed.get_rank(), {}
    mesh = distributed.device_mesh.init_device_mesh("cpu", (2,))
    for kind in KINDS:
        module = make(kind).eval()
        found[kind] = compare(module, tokens(module, 3, 5), num_threads=1, repeats=1)
    found["a fault"] = differences_of_a_fault()
    found["generation"] = generation(mesh)
    module = parallelize(make("multi-head"), mesh)
    sizes = ("num_heads", "head_dim", "context_length")
    found["sizes"] = {name: getattr(module, name) for name in sizes}
    found["listening"] = sorted(listening_addresses(psutil.Process()))
    found["environment"] = (rank, distributed.get_world_size(), distributed.get_backend())
    every = [None, None]
    distributed.all_gather_object(every, found)
    return every


def differences_of_a_fault() -> dict[str, float]:
    """What is compared, if process 1 has other values."""

    def wrong(module, mesh):
        module = parallelize(module, mesh)
        if distributed.get_rank() == 1:
            with torch.no_grad():
                module.W_value.weight.to_local().add_(0.5)
        return module

    module = make("multi-head").eval()
    with mock.patch.object(comparison, "parallelize", wrong):
        return compare(module, tokens(module, 3, 5), num_threads=1, repeats=1).differences


def generation(mesh) -> tuple[float, tuple[int, ...]]:
    """A prompt, then token by token, into caches that hold each process's own heads."""
    whole = make("grouped").requires_grad_(False)
    x = tokens(whole, 2, 9)
    shared = parallelize(copy.deepcopy(whole), mesh)
    cache = shared.new_cache(2)
    parts = [shared(piece, cache) for piece in x.split([4, 1, 1, 1, 2], dim=1)]
    difference = (torch.cat(parts, dim=1) - whole(x)).abs().max().item()
    return difference, tuple(cache.keys.shape)


def fail_in_the_last_process(how: str) -> None:
    if distributed.get_rank() == distributed.get_world_size() - 1:
        if how == "raise":
            raise LookupError("no such token")
        os.kill(os.getpid(), signal.SIGKILL)
    distributed.all_reduce(torch.ones(1))  # waits for the one that never comes


@pytest.fixture(scope="module")
def found() -> list[dict]:
    results = run_processes(facts, 2)
    assert children() == []
    return results


def children() -> list[psutil.Process]:
    """The processes that this one has started, but for the helper that multiprocessing keeps."""
    found = psutil.Process().children(recursive=True)
    return [child for child in found if "resource_tracker" not in " ".join(child.cmdline())]


@pytest.mark.parametrize("kind", KINDS)
def test_two_processes_equal_one_forward_and_backward(found, kind):
    differences = found[0][kind].differences
    parameters = {f"gradient of {name}" for name, _ in make(kind).named_parameters()}
    assert set(differences) == {"output", "gradient of x"} | parameters
    assert max(differences.values()) <= (1e-13 if kind == "biased" else 1e-5)


def test_a_fault_in_one_process_is_a_difference_in_all_that_depends_on_it(found):
    differences = found[0]["a fault"]
    untouched = {"gradient of W_value.weight", "gradient of out_proj.bias"}
    for name, difference in differences.items():
        assert difference <= 1e-5 if name in untouched else difference > 1e-2, name
    assert found[1]["a fault"] == differences


@pytest.mark.parametrize("kind", KINDS)
def test_one_all_reduce_a_direction_of_the_size_of_what_is_summed(found, kind):
    report, module = found[0][kind], make(kind)
    assert report.all_reduces == (1, 1)
    number = module.W_query.weight.element_size()
    assert report.message_bytes == (
        15 * module.out_proj.out_features * number,
        15 * module.W_query.in_features * number,
    )


def test_report_in_words(found):
    report = replace(found[0]["grouped"], seconds={"1 process": 0.0025, "2 processes": 1.5})
    lines = dict(re.split(r" {2,}", line) for line in str(report).splitlines())
    assert lines["num_kv_heads by process"] == "0 to 0 | 1 to 1"
    assert lines["time, 1 process"] == "2.50 ms"
    assert lines["time, 2 processes"] == "1500.00 ms"
    assert lines["difference, output"] == f"{report.differences['output']:.1e}"
    assert lines["all-reduces, forward"] == "1, of 2,160 bytes in all"  # 15 tokens, 36 numbers


def test_every_process_has_the_weights_of_its_own_heads(found):
    for kind in ("multi-head", "grouped"):
        module = make(kind).eval()
        with torch.no_grad():
            whole = module.attention_weights(tokens(module, 3, 5))
        parts = found[1][kind].weights
        assert [part.shape[1] for part in parts] == [module.num_heads // 2] * 2
        torch.testing.assert_close(torch.cat(parts, dim=1), whole)


def test_no_process_holds_more_than_its_share(found):
    shapes = found[0]["grouped"].shapes
    assert shapes["W_query.weight"] == [(18, 36)] * 2
    assert shapes["W_key.weight"] == shapes["W_value.weight"] == [(6, 36)] * 2
    assert shapes["out_proj.weight"] == [(36, 18)] * 2
    assert found[0]["biased"].shapes["W_query.bias"] == [(11,)] * 2
    sizes = {"num_heads": 2, "head_dim": 3, "context_length": 11}
    assert [part["sizes"] for part in found] == [sizes, sizes]


def test_generation_from_a_cache_of_the_local_heads(found):
    for part in found:
        difference, cache = part["generation"]
        assert difference <= 1e-5
        assert cache == (2, 1, 9, 6)


def test_the_processes_know_their_places_and_listen_on_loopback_alone(found):
    assert [part["environment"] for part in found] == [(0, 2, "gloo"), (1, 2, "gloo")]
    for part in found:
        assert part["listening"], "gloo always listens somewhere"
        assert all(ipaddress.ip_address(ip).is_loopback for ip in part["listening"])


def test_run_leaves_the_module_alone(monkeypatch):
    """What its processes find is what notebook 14 prints."""
    monkeypatch.setattr(comparison, "run_processes", lambda *given: given)
    module = make("multi-head").train().requires_grad_(False)
    _, _, whole, *_ = run(module, tokens(module, 6))  # without a batch
    assert (module.training, whole.training) == (True, False)
    for mine, theirs in zip(module.parameters(), whole.parameters(), strict=True):
        assert mine is not theirs
        assert mine.equal(theirs)
        assert (mine.requires_grad, theirs.requires_grad) == (False, True)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("kill", "process 1 terminated with signal SIGKILL"),
        ("raise", "process 1 of 2 stopped with LookupError: no such token"),
    ],
)
def test_a_process_that_dies_ends_the_run_and_leaves_none_behind(how, message):
    with pytest.raises(RuntimeError, match=f"^{message}"):
        run_processes(fail_in_the_last_process, 2, how)
    assert children() == []


def test_torchrun_prints_the_differences():
    """As notebook 14 has it, but at a port that is free."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    command += ["--nproc-per-node", "2", "-m", "chapter3_helpers.tensor_parallel"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    output = done.stdout
    assert done.returncode == 0, done.stderr
    assert children() == []
    differences = re.findall(r"^difference, (.*?) +(\S+)$", output, re.MULTILINE)
    assert len(differences) == 2 * 7
    assert all(float(value) <= 1e-5 for _, value in differences)
    assert re.findall(r"all-reduces, (\w+) +(.*)", output) == 2 * [
        ("forward", "1, of 393,216 bytes in all"),
        ("backward", "1, of 393,216 bytes in all"),
    ]
    assert len(re.findall(r"time, . process(?:es)? +[\d.]+ ms", output)) == 4


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (
            {"num_processes": 3},
            ValueError,
            "num_heads must be divisible by num_processes, got 4 and 3",
        ),
        ({"num_processes": 0}, ValueError, "num_processes must be at least 1, got 0"),
        ({"x": torch.zeros(5, 3)}, RuntimeError, "5x3 and 7x12"),
        ({"module": make("fused")}, TypeError, "FusedMultiHeadAttention with NoneType for W_query"),
        ({"module": MultiHeadAttention}, TypeError, "got the class MultiHeadAttention itself"),
        ({"module": COMPILED}, TypeError, "OptimizedModule with NoneType for W_query"),
        ({"module": replaced("W_value")}, TypeError, r"tests\.\S+\.Linear for W_value"),
        (
            {"module": make("grouped"), "x": torch.zeros(2, 36), "num_processes": 3},
            ValueError,
            "num_kv_heads must be divisible by num_processes, got 2 and 3",
        ),
    ],
)
def test_bad_input_is_refused_before_any_process_starts(monkeypatch, change, error, message):
    monkeypatch.setattr(processes.multiprocessing, "spawn", lambda *a, **k: pytest.fail("started"))
    arguments = {"module": make("multi-head"), "x": torch.zeros(5, 7), "num_processes": 2} | change
    with pytest.raises(error, match=message):
        run(**arguments)


@pytest.mark.parametrize(("n", "numbers"), [(2, 10), (3, 7), (5, 35), (8, 4096), (1, 6)])
def test_bytes_by_formula_against_a_ring_that_is_run(n, numbers):
    """Every process ends with the sum, and has sent what the formula says."""
    piece = -(-numbers // n)
    mine = torch.randn(n, n, piece, dtype=torch.float64)  # process, piece, numbers
    expected, sent = mine.sum(dim=0), [0] * n
    for step in range(2 * (n - 1)):
        pieces = [(process, (process - step) % n) for process in range(n)]
        for process, k, values in [(p, k, mine[p, k].clone()) for p, k in pieces]:
            sent[process] += values.numel() * 2
            neighbour = (process + 1) % n
            mine[neighbour, k] = mine[neighbour, k] + values if step < n - 1 else values
    torch.testing.assert_close(mine, expected.expand(n, -1, -1))
    assert set(sent) == {exchanged_bytes(1, numbers, n, bytes_per_number=2)}


def test_bytes_grow_with_tokens_layers_and_the_size_of_a_number():
    assert exchanged_bytes(5, 840, 2, all_reduces=3) == 15 * exchanged_bytes(1, 840, 2)
    assert exchanged_bytes(1, 840, 2) == 2 * exchanged_bytes(1, 840, 2, bytes_per_number=2)
