"""What does dropping weights do? Dropout masks, drawn the two ways PyTorch draws them on a CPU.

``nn.Dropout`` has printed two masks for the same seed, since PyTorch has had two generators for
them: which one is in use depends on the release, on how it was built and on the CPU. Both are
written out here, so that any machine can show both.

Source: section 3.5.2. Taught in ``05_dropout``.
"""

import math

import numpy as np
import torch

from chapter3_helpers._switches import as_torch_starts, seeded

GENERATORS = ("native", "mkl")

# MCG31m1, the multiplicative congruential generator of Intel's MKL
MKL_MODULUS = 2**31 - 1
MKL_MULTIPLIER = 1132489760


def dropout_mask(
    shape: tuple[int, ...], p: float, seed: int, generator: str = "native"
) -> torch.Tensor:
    """Draw the mask that ``nn.Dropout(p)`` draws right after ``torch.manual_seed(seed)``.

    Args:
        shape: the shape of the (contiguous) tensor that dropout would be applied to.
        p: the probability that a cell is dropped.
        seed: any integer from 0 to 2**32 - 1.
        generator: ``"native"`` reads one 53-bit number per cell from the Mersenne Twister;
            ``"mkl"`` reads one 32-bit number for all cells, which seeds MKL's MCG31m1 generator.
            ``cpu_dropout_generator`` says which one this machine uses.

    Returns:
        Boolean tensor of ``shape`` on the CPU, True where the cell is kept.

    Raises:
        ValueError: ``p`` is outside [0, 1), or there is no such generator.

    >>> dropout_mask((2, 3), p=0.5, seed=123, generator="native")
    tensor([[ True,  True, False],
            [ True,  True, False]])
    >>> dropout_mask((2, 3), p=0.5, seed=123, generator="mkl")
    tensor([[True, True, True],
            [True, True, True]])

    Source: section 3.5.2 and PyTorch's own behaviour.
    """
    if not 0 <= p < 1:
        raise ValueError(f"p must be in [0, 1), got {p}")
    if generator not in GENERATORS:
        raise ValueError(f"generator must be one of {', '.join(GENERATORS)}, got {generator!r}")
    if generator == "native":
        twister = torch.Generator().manual_seed(seed)
        draws = torch.rand(shape, dtype=torch.float64, device="cpu", generator=twister)
        return draws < 1 - p
    first_draw = np.random.RandomState(seed).randint(0, 2**32, dtype=np.uint32)
    draws = mcg31_states(int(first_draw), math.prod(shape)) / MKL_MODULUS
    return torch.from_numpy(draws < 1 - p).reshape(shape)


def mcg31_states(first_draw: int, cells: int) -> np.ndarray:
    """Run MKL's MCG31m1 generator: every state is the one before, times a constant, modulo m.

    The array grows by doubling, since the next n states are the last n times the constant to
    the power of n: a million cells take milliseconds, where a loop over them takes seconds.

    The first state is ``first_draw`` modulo m, or 1 if that is 0. States are int64, (cells,).

    >>> mcg31_states(2991312382, 3).tolist()  # the first draw after seed 123
    [843828735, 459765758, 453103405]
    """
    states = np.array([first_draw % MKL_MODULUS or 1], dtype=np.int64)
    power = MKL_MULTIPLIER  # the multiplier to the power of len(states)
    while len(states) < cells:
        states = np.concatenate([states, states * power % MKL_MODULUS])  # below 2**62
        power = power * power % MKL_MODULUS
    return states[:cells]


def cpu_dropout_generator() -> str:
    """Find out which of the two generators draws the masks on this machine.

    PyTorch built with MKL used ``"mkl"`` up to release 2.6 (at first on Intel CPUs alone, later
    on AMD's as well); from 2.7 on, and in every build without MKL, it is ``"native"``. So this
    function does not guess from names: it draws a mask and compares.

    Returns:
        ``"native"`` or ``"mkl"``: the one whose mask equals what ``nn.Dropout`` really drew.
        The state of torch's random generator is left as it was.

    Raises:
        RuntimeError: neither recipe gives the mask that was drawn: a third way to draw it exists.

    >>> cpu_dropout_generator() in ("native", "mkl")
    True
    """
    shape, seed = (8, 8), 123
    with as_torch_starts(), seeded(seed):
        drawn = torch.nn.functional.dropout(torch.ones(shape), p=0.5) > 0
    for generator in GENERATORS:
        if torch.equal(drawn, dropout_mask(shape, 0.5, seed, generator)):
            return generator
    raise RuntimeError(
        "nn.Dropout must draw a mask that the native or the mkl recipe gives, got neither; "
        f"this is PyTorch {torch.__version__}"
    )
