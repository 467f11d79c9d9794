"""What does dropping weights do? Dropout masks, drawn the two ways CPUs draw them.

``nn.Dropout`` gives different masks for the same seed on different CPUs, since PyTorch has two
generators for them. Both are written out here, so that any machine can show both.

Source: section 3.5.2. Taught in ``05_dropout``.
"""

import math

import numpy as np
import torch

from chapter3_helpers.validation import check_choice, check_dropout, check_size, check_sizes

# MCG31m1, the multiplicative congruential generator of Intel's MKL
MKL_MODULUS = 2**31 - 1
MKL_MULTIPLIER = 1132489760


def dropout_mask(
    shape: tuple[int, ...], p: float, seed: int, generator: str = "native"
) -> torch.Tensor:
    """Draw the mask that ``nn.Dropout(p)`` draws right after ``torch.manual_seed(seed)``.

    Args:
        shape: the shape of the tensor that dropout would be applied to.
        p: the probability that a cell is dropped.
        seed: any integer from 0 to 2**32 - 1.
        generator: ``"native"`` (AMD, Apple and Arm CPUs, builds without MKL) reads one 53-bit
            number a cell from the Mersenne Twister; ``"mkl"`` (PyTorch with MKL on an Intel CPU)
            reads one 32-bit number for all, which seeds MKL's MCG31m1 generator.

    Returns:
        Boolean tensor of ``shape``, True where the cell is kept.

    Raises:
        TypeError, ValueError: a size below 1, ``p`` outside [0, 1), a seed out of range, or an
            unknown generator.

    >>> dropout_mask((2, 3), p=0.5, seed=123, generator="native")
    tensor([[ True,  True, False],
            [ True,  True, False]])
    >>> dropout_mask((2, 3), p=0.5, seed=123, generator="mkl")
    tensor([[True, True, True],
            [True, True, True]])

    Source: section 3.5.2 and PyTorch's own behaviour. Taught in ``05_dropout``.
    """
    shape = tuple(shape)
    check_sizes(**{f"shape[{i}]": size for i, size in enumerate(shape)})
    check_dropout(p, name="p")
    check_size("seed", seed, minimum=0)
    if seed >= 2**32:
        raise ValueError(f"seed must be below 2**32, got {seed}")
    check_choice("generator", generator, ("native", "mkl"))
    if generator == "native":
        twister = torch.Generator().manual_seed(seed)
        return torch.rand(shape, dtype=torch.float64, generator=twister) < 1 - p
    cells = math.prod(shape)
    first_draw = np.random.RandomState(seed).randint(0, 2**32, dtype=np.uint32)
    state = int(first_draw) % MKL_MODULUS
    kept = torch.empty(cells, dtype=torch.bool)
    for cell in range(cells):
        kept[cell] = state / MKL_MODULUS < 1 - p
        state = MKL_MULTIPLIER * state % MKL_MODULUS
    return kept.reshape(shape)


def cpu_dropout_generator() -> str:
    """Find out which of the two generators this machine's CPU uses.

    Returns:
        ``"native"`` or ``"mkl"``: the one whose mask equals what ``nn.Dropout`` really drew.
        The state of torch's random generator is left as it was.

    Raises:
        RuntimeError: neither recipe gives the mask that was drawn: a third way to draw it exists.

    >>> cpu_dropout_generator() in ("native", "mkl")
    True

    Taught in ``05_dropout``.
    """
    shape, seed = (8, 8), 123
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        drawn = torch.nn.functional.dropout(torch.ones(shape), p=0.5) > 0
    for generator in ("native", "mkl"):
        if torch.equal(drawn, dropout_mask(shape, 0.5, seed, generator)):
            return generator
    raise RuntimeError(
        "nn.Dropout drew a mask that neither the native nor the mkl recipe gives; "
        f"this is PyTorch {torch.__version__}"
    )
