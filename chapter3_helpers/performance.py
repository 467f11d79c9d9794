"""Why is one implementation faster than another? Operations are counted, linear layers swapped.

Taught in ``13_performance``.
"""

import functools
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.nn import functional


@dataclass(frozen=True)
class Sizes:
    """The sizes of one call of causal multi-head attention, with d_in = d_out = width.

    Raises:
        ValueError: ``heads`` does not divide ``width``.

    >>> Sizes(batch=8, tokens=1024, width=768, heads=12).head_dim
    64
    """

    batch: int
    tokens: int
    width: int
    heads: int

    def __post_init__(self) -> None:
        if self.width % self.heads != 0:
            raise ValueError(f"width must be divisible by heads, got {self.width} and {self.heads}")

    @property
    def head_dim(self) -> int:
        return self.width // self.heads

    def __str__(self) -> str:
        return f"({self.batch}, {self.tokens}, {self.width}, {self.heads})"


def count_flops(sizes: Sizes, skip_hidden: bool = True) -> dict[str, int]:
    """Count the additions and multiplications of the matrix products, step by step.

    A product (n, k) @ (k, m) takes 2 * n * m * k. Softmax is left out: it takes a few operations
    per score, where comparing and mixing take 4 * head_dim.

    Args:
        sizes: of the call.
        skip_hidden: count only the T * (T + 1) / 2 scores of a head that a causal mask leaves,
            not all T * T, which every implementation without a fused kernel computes.

    >>> count_flops(Sizes(batch=1, tokens=6, width=4, heads=2))
    {'project': 576, 'compare': 168, 'mix': 168, 'out_proj': 192}
    """
    B, T, d = sizes.batch, sizes.tokens, sizes.width
    pairs = T * (T + 1) // 2 if skip_hidden else T * T  # per head; H heads of d / H numbers: d
    return {
        "project": 2 * B * T * d * 3 * d,
        "compare": 2 * B * pairs * d,
        "mix": 2 * B * pairs * d,
        "out_proj": 2 * B * T * d * d,
    }


# From so many on, oneDNN was as fast or faster on both processors that were measured. At every
# call it reorders the whole weight, which does not pay for few tokens.
FEWEST_TOKENS, FEWEST_MULTIPLICATIONS = 1024, 2 * 10**8


class OneDNNLinear(nn.Linear):
    """``nn.Linear`` as a convolution, which PyTorch hands to oneDNN instead of MKL.

    A linear layer treats every token alike, as a convolution of one pixel treats every pixel. So
    the tokens are laid out as pictures one pixel wide and ``in_features`` deep. Few tokens, other
    devices and dtypes take the way of ``nn.Linear``.

    The class has no state of its own: ``accelerate`` turns layers into it, ``restore`` back.
    """

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map tokens (..., in_features) to (..., out_features)."""
        if not self._is_worthwhile(x):
            return super().forward(x)
        # with a single thread, PyTorch asks oneDNN only if there are 16 pictures
        pictures = 16 if x.shape[:-1].numel() % 16 == 0 else 1
        pixels = x.reshape(pictures, -1, 1, self.in_features).permute(0, 3, 1, 2)  # (N, in, H, 1)
        pixels = functional.conv2d(pixels, self.weight[:, :, None, None], self.bias)
        return pixels.permute(0, 2, 3, 1).reshape(*x.shape[:-1], self.out_features)

    def _is_worthwhile(self, x: torch.Tensor) -> bool:
        fits = x.shape[-1] == self.in_features and x.dtype == self.weight.dtype == torch.float32
        many = x.shape[:-1].numel() >= FEWEST_TOKENS
        much = x.numel() * self.out_features >= FEWEST_MULTIPLICATIONS
        on_cpu = x.is_cpu and self.weight.is_cpu
        return fits and many and much and on_cpu and torch.backends.mkldnn.enabled


def accelerate(module: nn.Module) -> nn.Module:
    """Swap a module's linear layers, in place, for ones on the library that is faster on this CPU.

    PyTorch takes its matrix products on a CPU from MKL and its convolutions from oneDNN, which
    was faster on two AMD processors with AVX-512, by a third on one and almost twice as fast on
    the other. On such processors every layer that is exactly an ``nn.Linear`` becomes a
    ``OneDNNLinear``; on others nothing changes. Only the class changes, so a layer stays the same
    object, with its name, parameters, hooks and ``state_dict``. Subclasses of ``nn.Linear`` keep
    their own ``forward``, and ``nn.MultiheadAttention``, which calls no linear layer, gains
    nothing. ``torch.compile`` takes layers as it first finds them, so call this before. Restore a
    module before it is exported or saved as a whole (its ``state_dict`` may be saved as it is).

    Args:
        module: any module, also an ``nn.Linear`` itself.

    Returns:
        ``module``.

    >>> layer = nn.Linear(3, 2)
    >>> accelerate(layer) is layer
    True
    >>> restore(layer)
    Linear(in_features=3, out_features=2, bias=True)
    """
    return _swap(module, nn.Linear, OneDNNLinear if onednn_is_faster() else nn.Linear)


def restore(module: nn.Module) -> nn.Module:
    """Undo ``accelerate``, in place; a module that it never changed stays as it is."""
    return _swap(module, OneDNNLinear, nn.Linear)


def _swap(module: nn.Module, old: type[nn.Linear], new: type[nn.Linear]) -> nn.Module:
    for layer in module.modules():
        if type(layer) is old:
            layer.__class__ = new
    return module


@functools.cache
def onednn_is_faster() -> bool:
    """Say whether this CPU is like those on which oneDNN was measured to be faster."""
    libraries = torch.backends.mkl.is_available() and torch.backends.mkldnn.is_available()
    cpu = cpu_capabilities()
    return libraries and "AMD" in cpu.get("cpu_name", "") and cpu.get("avx512_f", False)


def cpu_capabilities() -> dict[str, Any]:
    """Say what the CPU is called and can do, by name; {} before PyTorch 2.11."""
    return getattr(torch.cpu, "get_capabilities", dict)()
