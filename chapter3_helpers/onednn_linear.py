"""The same linear layer on another library: matrix products as convolutions of one pixel.

PyTorch takes its matrix products on a CPU from MKL, Intel's library, and its convolutions from
oneDNN. On two processors of AMD oneDNN was as fast or faster: by up to a third on one, almost
twice as fast on the other. Taught in ``12_performance``.
"""

import functools
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from chapter3_helpers.torch_releases import cpu_capabilities, is_exporting

# From so many tokens and multiplications on, oneDNN was as fast or faster on both, up to 1600 ->
# 4800 numbers (with backward, at worst 0.92 times as fast, at that width on the slower one). It
# puts the whole weight into another order first, at every call, so few tokens do not pay for that.
TOKENS, MULTIPLICATIONS = 1024, 2 * 10**8


class OneDNNLinear(nn.Linear):
    """``nn.Linear``, faster for large inputs on some CPUs of AMD.

    A linear layer treats every token alike, as a convolution of one pixel treats every pixel. So
    the tokens are laid out as pictures one pixel wide, ``in_features`` deep, and convolved.
    Fewer than 1024 tokens or 2 * 10^8 multiplications, other devices, other dtypes and other CPUs
    take ``nn.Linear``'s own way, and so do ``torch.export`` and a process in which oneDNN is
    switched off. oneDNN needs room for a second copy of the weight meanwhile.
    Parameters, shapes and errors are those of ``nn.Linear``.

    Args:
        in_features: numbers per token on the way in.
        out_features: numbers per token on the way out.
        bias: whether it adds a learned bias.

    >>> layer, plain = OneDNNLinear(3, 2), nn.Linear(3, 2)
    >>> _ = plain.load_state_dict(layer.state_dict())
    >>> x = torch.rand(4, 5, 3)
    >>> torch.allclose(layer(x), plain(x))
    True

    Taught in ``12_performance``.
    """

    def __init__(self, in_features: int, out_features: int, bias: bool = True):
        super().__init__(in_features, out_features, bias)
        self.onednn = onednn_is_faster()  # asked once: torch.compile can't trace the question

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map tokens (..., in_features) to (..., out_features)."""
        if is_exporting() or not (self.onednn and self._is_worthwhile(x)):
            return super().forward(x)
        # with a single thread, PyTorch asks oneDNN only if there are 16 pictures
        pictures = 16 if x.shape[:-1].numel() % 16 == 0 else 1
        pixels = x.reshape(pictures, -1, 1, self.in_features).permute(0, 3, 1, 2)  # (N, in, H, 1)
        pixels = functional.conv2d(pixels, self.weight[:, :, None, None], self.bias)
        return pixels.permute(0, 2, 3, 1).reshape(*x.shape[:-1], self.out_features)

    def _is_worthwhile(self, x: torch.Tensor) -> bool:
        fits = x.shape[-1] == self.in_features and x.dtype == self.weight.dtype == torch.float32
        large = x.shape[:-1].numel() >= TOKENS and x.numel() * self.out_features >= MULTIPLICATIONS
        return x.is_cpu and fits and large and torch.backends.mkldnn.enabled

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.onednn = onednn_is_faster()  # the module may have been saved on another machine


@functools.cache
def onednn_is_faster() -> bool:
    """Say whether this CPU is like those on which oneDNN's products were measured to be faster.

    They are made by AMD and have vectors of 512 bits (AVX-512).

    Taught in ``12_performance``.
    """
    libraries = torch.backends.mkl.is_available() and torch.backends.mkldnn.is_available()
    cpu = cpu_capabilities()
    return libraries and "AMD" in cpu.get("cpu_name", "") and cpu.get("avx512_f", False)
