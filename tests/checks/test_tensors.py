"""What the package takes for tokens, scores and ids, and what it says of anything else."""

import torch

from chapter3_helpers._checks import tensors

IDS = {"vocab_size": 5, "context_length": 3}


def test_what_is_right_passes():
    for dims in (None, (2, 4)):
        tensors.check_tensor("x", torch.rand(1, 1), dims=dims)
    tensors.check_square("x", torch.rand(3, 2, 2).half())
    for ids in (torch.tensor([0, 4]), torch.tensor([[0, 4, 1]]).int()):
        tensors.check_ids("x", ids, **IDS)
    tensors.check_ids("x", torch.zeros(2, 99).long(), vocab_size=1)  # any length
    tensors.check_ids("x", torch.zeros(1, 1, 1).long(), vocab_size=1, dims=(3,))
