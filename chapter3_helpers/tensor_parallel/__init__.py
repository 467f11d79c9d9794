"""How do heads spread over devices? Each holds some of them, and one sum joins what they found.

``comparison.run`` starts the processes for a notebook or a script. From a shell::

    python -m chapter3_helpers.tensor_parallel                        # starts two by itself
    torchrun --nproc-per-node 2 -m chapter3_helpers.tensor_parallel   # any number

It opens no port beyond loopback. ``torchrun`` itself listens for other machines as well.

Source: Shoeybi et al., "Megatron-LM" (2019), section 3. Taught in ``14_tensor_parallel``.
"""

from typing import Any

import torch
from torch import nn

from chapter3_helpers.read_attention import described


def heads_by_process(num_heads: int, num_processes: int, name: str = "num_heads") -> list[range]:
    """Say which heads live in which process: neighbours together, equally many in each.

    Raises:
        ValueError: ``num_heads``, which the message calls ``name``, is not divisible by
            ``num_processes``.

    >>> heads_by_process(6, num_processes=2)
    [range(0, 3), range(3, 6)]
    """
    if num_heads % num_processes != 0:
        raise ValueError(
            f"{name} must be divisible by num_processes, got {num_heads} and {num_processes}"
        )
    share = num_heads // num_processes
    return [range(rank * share, (rank + 1) * share) for rank in range(num_processes)]


def exchanged_bytes(
    num_tokens: int,
    width: int,
    num_processes: int,
    all_reduces: int = 1,
    bytes_per_number: int = 4,
) -> int:
    """Count the bytes that each process sends when vectors are summed over all of them in a ring.

    Each process cuts its (num_tokens, width) numbers into n pieces. In n - 1 rounds it passes a
    piece on, to be added to its neighbour's; in n - 1 more rounds the sums are passed on. That is
    2 (n - 1) pieces: nearly twice the message, however many processes there are.

    Args:
        num_tokens, width: the shape of one message.
        num_processes: the n in the ring.
        all_reduces: how many such sums; attention needs one per layer and direction.
        bytes_per_number: 4 for float32, 2 for bfloat16.

    >>> exchanged_bytes(1, width=4096, num_processes=8, bytes_per_number=2)  # 14 pieces of 512
    14336

    Source: Patarasuk and Yuan, "Bandwidth optimal all-reduce" (2009).
    """
    piece = -(-num_tokens * width // num_processes)  # rounded up
    return all_reduces * 2 * (num_processes - 1) * piece * bytes_per_number


def parallelize(module: nn.Module, mesh: Any) -> nn.Module:
    """Keep this process's share of the heads of a module, in place; call it in every process.

    The rows of W_query, W_key and W_value that make these heads stay here, and the columns of
    out_proj that read them; one all-reduce then sums the outputs of all processes. On the way
    back, another sums the gradients of x. ``num_heads`` (and ``num_kv_heads``) become the numbers
    of heads *here*; head_dim stays as it is. Every process must get the same x. In training with
    dropout each process draws for its own heads, from a seed of its own.

    ::

        x --+-- process 0: W_query, W_key, W_value --> heads 0, 1 --> out_proj --+
            |                                                                    + --> output
            +-- process 1: W_query, W_key, W_value --> heads 2, 3 --> out_proj --+

    Args:
        module: a MultiHeadAttention or GroupedQueryAttention, or a class with their layers; the
            same in every process.
        mesh: a one-dimensional ``torch.distributed.DeviceMesh``.

    Returns:
        The module. It still maps x (..., T, d_in) to (..., T, d_out), but ``attention_weights``
        returns those of its own heads, as a new cache holds theirs; parameters are
        of type ``DTensor``.

    Raises:
        TypeError: W_query, W_key, W_value or out_proj is missing, or is not an ``nn.Linear``.
        ValueError: the heads, or key/value heads, are not divisible by the number of processes.

    Source: Shoeybi et al. (2019), section 3.
    """
    # imported here, as it takes longer than all the rest of this module
    from torch.distributed.tensor import DTensor, Replicate
    from torch.distributed.tensor.parallel import (
        ColwiseParallel,
        RowwiseParallel,
        parallelize_module,
    )

    shares = find_shares(module, mesh.size())
    columns = {name: ColwiseParallel() for name in ("W_query", "W_key", "W_value")}
    parallelize_module(module, mesh, {**columns, "out_proj": RowwiseParallel()})
    for name, ranges in shares.items():
        setattr(module, name, len(ranges[0]))

    def share_input(module: nn.Module, args: tuple, kwargs: dict) -> tuple[tuple, dict]:
        # As one x for all three projections, it collects their gradients before these are summed
        # over the processes: one all-reduce on the way back instead of three.
        if args and isinstance(args[0], torch.Tensor):
            x = DTensor.from_local(args[0], mesh, [Replicate()], run_check=False)
            args = (x, *args[1:])
        return args, kwargs

    module.register_forward_pre_hook(share_input, with_kwargs=True)
    return module


def find_shares(module: nn.Module, num_processes: int) -> dict[str, list[range]]:
    """Return the heads of every process by attribute, or refuse a module that can't be shared."""
    if num_processes < 1:
        raise ValueError(f"num_processes must be at least 1, got {num_processes}")
    layers = module._modules if isinstance(module, nn.Module) else {}  # not those of a wrapper
    for name in ("W_query", "W_key", "W_value", "out_proj"):
        if not isinstance(layers.get(name), nn.Linear):
            raise TypeError(
                "module must have W_query, W_key, W_value and out_proj, each a torch.nn.Linear, to "
                f"be shared, got {described(module)} with {described(layers.get(name))} for {name}"
            )
    names = [name for name in ("num_heads", "num_kv_heads") if hasattr(module, name)]
    return {name: heads_by_process(getattr(module, name), num_processes, name) for name in names}
