"""A pytest plugin: what a processor rounds comes out one rounding off, in kernels as well.

Another processor adds the parts of a product in another order, so its last bit differs. Under this
noise any processor finds the tests and the cells that depend on that bit. The noise is the same
for the same operation on the same shapes, so what holds to the bit everywhere holds here, too.

Loaded with ``-p tests.regression.noise``, as ``make test-noise`` does. With NOISE_IN=kernels, as in
``.ci/run``, it is in the notebooks alone.
"""

import os
import tempfile
import warnings
import zlib
from functools import cache, lru_cache
from pathlib import Path

import numpy as np
import pytest
import torch
from torch._C._dynamo import eval_frame as dynamo

# Single numbers are added, multiplied and divided alike everywhere; these kernels round many times
# or approximate. matmul, @, linear, einsum, nn.GRU and what autograd computes are made of them.
PRODUCTS = ("mm", "bmm", "addmm", "baddbmm", "mv", "addmv", "dot", "_slow_conv2d_forward")
LAYERS = (
    "mkldnn_convolution",
    "mkldnn_rnn_layer",
    "native_layer_norm",
    "native_layer_norm_backward",
    "_native_multi_head_attention",
    "_scaled_dot_product_flash_attention_for_cpu",
    "_scaled_dot_product_flash_attention_for_cpu_backward",
    "_transformer_encoder_layer_fwd",
)
SUMS = ("sum.dim_IntList", "mean.dim", "cumsum", "var.correction", "std.correction")
NORMS = ("linalg_vector_norm", "dist", "logsumexp", "nll_loss_forward", "_softmax", "_log_softmax")
BACK = ("_softmax_backward_data", "_log_softmax_backward_data")
CURVES = (
    "exp",
    "log",
    "log2",
    "pow.Tensor_Tensor",
    "sin",
    "cos",
    "acos",
    "tanh",
    "sigmoid",
    "silu",
)
SEED = int(os.environ.get("NOISE", "0"))  # another number, another processor
LAST = 0xFFF  # the last bits of a float32: all zero in whole numbers, halves, infinity and NaN

STARTUP = """
import sys
sys.path.append({root!r})
from tests.regression import noise
noise.start()
sys.path.remove({root!r})
del noise, sys
"""


@pytest.hookimpl(trylast=True)
def pytest_configure(config):
    """Start here, and in each notebook's kernel by what IPython runs at its start."""
    made = tempfile.TemporaryDirectory(prefix="ipython")
    config.add_cleanup(made.cleanup)
    os.environ["IPYTHONDIR"] = made.name
    startup = Path(made.name) / "profile_default" / "startup"
    startup.mkdir(parents=True)
    (startup / "noise.py").write_text(STARTUP.format(root=str(Path(__file__).parents[2])))
    if os.environ.get("NOISE_IN") != "kernels":
        start()


@cache
def start() -> torch.library.Library:
    """Put the noise on top of the kernels of this process, for good."""
    noisy = torch.library.Library("aten", "IMPL")
    with warnings.catch_warnings(action="ignore"):  # it says that a kernel is replaced
        for name in PRODUCTS + LAYERS + SUMS + NORMS + BACK + CURVES:
            kernel = _with_noise(name)
            noisy.impl(name, kernel, "CPU", with_keyset=True)
    skip = dynamo._FrameExecStrategy(dynamo._FrameAction.SKIP, dynamo._FrameAction.SKIP)
    dynamo.set_code_exec_strategy(kernel.__code__, skip)  # torch.compile would look into it
    return noisy


def _with_noise(name):
    kernel = torch.library.get_kernel(f"aten::{name}", "CPU")

    def noisy(keys, *arguments, **options):
        results = kernel.call_boxed(keys, *arguments, **options)
        shapes = tuple(part.shape for part in arguments if isinstance(part, torch.Tensor))
        for result in results if isinstance(results, tuple) else (results,):
            if isinstance(result, torch.Tensor) and result.dtype == torch.float32:
                shake(result.numpy(), name, shapes)
        return results

    return noisy


def shake(numbers: np.ndarray, name: str, shapes: tuple) -> None:
    """Move what was rounded by one or two of its last places, in place: of many numbers some."""
    some = numbers.view(np.int32)[None][..., :: numbers.size // 4096 + 1]
    last = some & LAST
    some += _steps(name, shapes, some.shape) * ((last > 2) & (last < LAST - 2))


@lru_cache(maxsize=10_000)
def _steps(name: str, shapes: tuple, shape: tuple) -> np.ndarray:
    """Return the steps of an operation's result: the same for the same shapes of its inputs."""
    draw = np.random.default_rng([zlib.crc32(f"{name} {shapes}".encode()), SEED])
    return draw.choice(np.array([-2, -1, 1, 2], np.int32), shape)
