"""The same linear layer on another library: matrix products as convolutions of one pixel.

PyTorch takes its matrix products on a CPU from MKL, Intel's library, and its convolutions from
oneDNN. On processors of AMD oneDNN was nearly twice as fast. Taught in ``12_performance``.
"""

import functools

import torch
from torch import nn
from torch.nn import functional

# Multiplications from which on oneDNN was faster, forward and backward, on an AMD EPYC with two
# threads; below, what a convolution takes to get started costs more than it gains.
WORTHWHILE = 10**8


class OneDNNLinear(nn.Linear):
    """``nn.Linear``, faster for large inputs on the CPUs of AMD.

    A linear layer treats every token alike, as a convolution of one pixel treats every pixel. So
    the tokens are laid out as pictures one pixel wide, ``in_features`` deep, and convolved.
    Small inputs, other devices, other dtypes and other CPUs take ``nn.Linear``'s own way.

    Same parameters, shapes and errors as ``nn.Linear``.

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
        large = x.numel() * self.out_features >= WORTHWHILE
        fitting = x.is_cpu and x.dtype == torch.float32 and x.shape[-1] == self.in_features
        if not (self.onednn and large and fitting):
            return super().forward(x)
        # with a single thread, PyTorch asks oneDNN only if there are 16 pictures
        pictures = 16 if x.shape[:-1].numel() % 16 == 0 else 1
        pixels = x.reshape(pictures, -1, 1, self.in_features).permute(0, 3, 1, 2)  # (N, in, H, 1)
        pixels = functional.conv2d(pixels, self.weight[:, :, None, None], self.bias)
        return pixels.permute(0, 2, 3, 1).reshape(*x.shape[:-1], self.out_features)


@functools.cache
def onednn_is_faster() -> bool:
    """Say whether this CPU is one on which oneDNN's products were measured to be the faster ones.

    Taught in ``12_performance``.
    """
    libraries = torch.backends.mkl.is_available() and torch.backends.mkldnn.is_available()
    return libraries and "AMD" in cpu_name()


def cpu_name() -> str:
    """Return what the CPU calls itself, or '' where PyTorch can't tell (before 2.11).

    Taught in ``12_performance``.
    """
    capabilities = getattr(torch.cpu, "get_capabilities", dict)()
    return capabilities.get("cpu_name", "")
