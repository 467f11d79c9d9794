import pytest
import torch

from chapter3_helpers.explorers.trainable_qkv import (
    DRAWS,
    WIDTHS,
    trainable_qkv_panels,
    trainable_qkv_state,
)


@pytest.mark.parametrize("d_k", WIDTHS)
def test_the_slope_is_the_length_of_the_jacobian_that_autograd_finds(d_k):
    state = trainable_qkv_state({"d_k": d_k, "seed": 5})
    torch.manual_seed(5)
    scores = torch.stack([torch.randn(6, d_k) @ torch.randn(6, d_k).T for _ in range(DRAWS)])
    for name, divisor in (("unscaled", 1.0), ("scaled", d_k**0.5)):
        used = scores / divisor
        torch.testing.assert_close(state[name], torch.softmax(used[0], dim=-1))
        jacobians = torch.func.vmap(torch.func.jacrev(lambda row: torch.softmax(row, dim=-1)))(
            used.flatten(0, 1)
        )  # (rows, 6, 6)
        lengths = jacobians.flatten(1).norm(dim=-1)
        torch.testing.assert_close(state[f"{name}_slope"], lengths.mean(), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(
    ("d_k", "said"), [(1, "both are the same"), (64, "slope of softmax is 0.")]
)
def test_the_division_is_told_in_a_sentence(d_k, said):
    assert said in trainable_qkv_panels({"d_k": d_k, "seed": 123})[0].text
