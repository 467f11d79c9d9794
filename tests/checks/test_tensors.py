"""What the package takes for tokens, scores and ids, and what it says of anything else."""

import pytest
import torch

from chapter3_helpers._checks import tensors

IDS = {"vocab_size": 5, "context_length": 3}


@pytest.mark.parametrize(
    ("check", "value", "options", "error", "message"),
    [
        ("check_tensor", [[1.0]], {}, TypeError, "x must be a torch.Tensor, got list"),
        (
            "check_tensor",
            torch.rand(3),
            {},
            ValueError,
            r"x must have shape \(..., T, d_in\), got 1 dimension\(s\): \(3,\)",
        ),
        (
            "check_tensor",
            torch.rand(2, 3),
            {"dims": (1, 3), "form": "(T,) or (B, T, d)"},
            ValueError,
            r"x must have shape \(T,\) or \(B, T, d\), got 2 dimension\(s\): \(2, 3\)",
        ),
        ("check_tensor", torch.rand(2, 0), {}, ValueError, r"not be empty, got shape \(2, 0\)"),
        (
            "check_tensor",
            torch.ones(2, 3).int(),
            {},
            ValueError,
            "must be a floating.*int32",
        ),
        (
            "check_tensor",
            torch.ones(2, 3).cfloat(),
            {},
            ValueError,
            "must be a floating.*complex64",
        ),
        (
            "check_square",
            torch.rand(3, 2, 3),
            {},
            ValueError,
            r"x must have shape \(..., T, T\), got \(3, 2, 3\)",
        ),
        ("check_square", torch.rand(3), {}, ValueError, r"\(..., T, T\), got 1 dimension"),
        ("check_ids", [1, 2], IDS, TypeError, "x must be a torch.Tensor, got list"),
        (
            "check_ids",
            torch.tensor(1),
            IDS,
            ValueError,
            r"x must have shape \(T,\) or \(B, T\), not empty, got \(\)",
        ),
        ("check_ids", torch.ones(1, 1, 1).long(), IDS, ValueError, r"got \(1, 1, 1\)"),
        ("check_ids", torch.ones(0).long(), IDS, ValueError, r"not empty, got \(0,\)"),
        (
            "check_ids",
            torch.ones(2).long(),
            IDS | {"dims": (2,), "form": "(B, T)"},
            ValueError,
            r"x must have shape \(B, T\), not empty, got \(2,\)",
        ),
        ("check_ids", torch.ones(3), IDS, ValueError, "x must be an integer tensor, got torch.flo"),
        ("check_ids", torch.ones(3).bool(), IDS, ValueError, "got torch.bool"),
        ("check_ids", torch.ones(3).short(), IDS, ValueError, "got torch.int16"),
        (
            "check_ids",
            torch.ones(2, 4).long(),
            IDS,
            ValueError,
            "x must hold at most context_length=3 tokens, got 4",
        ),
        ("check_ids", torch.tensor([0, 5]), IDS, ValueError, r"x must be in \[0, 5\), got 0 to 5"),
        ("check_ids", torch.tensor([[-1, 4]]), IDS, ValueError, r"in \[0, 5\), got -1 to 4"),
    ],
)
def test_refusals(check, value, options, error, message):
    with pytest.raises(error, match=message):
        getattr(tensors, check)("x", value, **options)


def test_what_is_right_passes():
    for dims in (None, (2, 4)):
        tensors.check_tensor("x", torch.rand(1, 1), dims=dims)
    tensors.check_square("x", torch.rand(3, 2, 2).half())
    for ids in (torch.tensor([0, 4]), torch.tensor([[0, 4, 1]]).int()):
        tensors.check_ids("x", ids, **IDS)
    tensors.check_ids("x", torch.zeros(2, 99).long(), vocab_size=1)  # any length
    tensors.check_ids("x", torch.zeros(1, 1, 1).long(), vocab_size=1, dims=(3,))


@pytest.mark.filterwarnings("ignore")  # the compiler's own
def test_a_compiled_graph_cannot_look_at_ids():
    compiled = torch.compile(
        lambda ids: tensors.check_ids("x", ids, **IDS), backend="eager", fullgraph=True
    )
    compiled(torch.tensor([7]))
