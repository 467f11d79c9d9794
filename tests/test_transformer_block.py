"""What ``09_transformer_block`` teaches: folding, feed-forward, the smallest language model."""

import pytest
import torch
from torch import nn
from torch.nn import functional
from torch.utils._python_dispatch import TorchDispatchMode

from chapter3_helpers.copy_weights import copy_weights
from chapter3_helpers.fused_multihead import count_parameters
from chapter3_helpers.masking import causal_mask
from chapter3_helpers.softmax import softmax
from chapter3_helpers.transformer_block import (
    GPT,
    FeedForward,
    MinimalLanguageModel,
    TransformerBlock,
    collapse_two_layers,
)

VOCAB, D, CONTEXT, HEADS, B, T = 13, 22, 11, 2, 3, 5


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(123)


def make():
    return MinimalLanguageModel(VOCAB, D, CONTEXT, HEADS)


def draw_ids(*shape):
    return torch.randint(VOCAB, shape)


def draw_weights(*shape):
    return softmax(torch.randn(*shape).masked_fill(causal_mask(shape[-1]), -torch.inf))


class TestCollapse:
    def test_two_layers_are_one(self):
        x, V1, V2 = torch.randn(B, T, 7), torch.randn(7, 3), torch.randn(3, 2)
        alpha1, alpha2 = draw_weights(B, T, T), draw_weights(B, T, T)
        alpha, V = collapse_two_layers(alpha1, alpha2, V1, V2)
        assert torch.allclose(alpha @ x @ V, alpha2 @ (alpha1 @ x @ V1) @ V2, atol=1e-5)
        assert (alpha[:, causal_mask(T)] == 0).all()


class TestFeedForward:
    def test_hidden_is_four_times_d_unless_said_otherwise(self):
        assert FeedForward(7).up.weight.shape == (28, 7)
        assert FeedForward(7, 35).up.weight.shape == (35, 7)


class TestModel:
    def test_is_its_pieces_in_order(self):
        model, ids = make(), draw_ids(B, T)
        x = model.embedding.weight[ids] + model.positions.weight[:T]
        hidden = torch.ones(T, T, dtype=torch.bool).triu(1)
        attention, parts = model.attention, []
        for head in torch.arange(D).chunk(HEADS):
            q, k, v = (
                functional.linear(x, layer.weight[head])
                for layer in (attention.W_query, attention.W_key, attention.W_value)
            )
            visible = functional.scaled_dot_product_attention(q, k, v, attn_mask=~hidden)
            parts.append(visible)
        mixed = attention.out_proj(torch.cat(parts, dim=-1))
        assert torch.equal(model.attention_weights(ids), attention.attention_weights(x))
        inner = functional.relu(functional.linear(mixed, *model.feed_forward.up.parameters()))
        worked = functional.linear(inner, *model.feed_forward.down.parameters())
        assert torch.allclose(model(ids), model.output(worked), atol=1e-5)

    def test_a_device_is_not_asked_for_values(self):
        """Which is what a GPU would have to be waited for; a meta device stands in for it."""

        class Silence(TorchDispatchMode):
            def __torch_dispatch__(self, function, types, args=(), kwargs=None):
                assert function is not torch.ops.aten._local_scalar_dense.default
                return function(*args, **(kwargs or {}))

        model, ids = make().to("meta"), draw_ids(B, T).to("meta")
        with Silence():
            assert model(ids).shape == (B, T, VOCAB)


def torchs_own(block: TransformerBlock, d: int, heads: int) -> nn.TransformerEncoderLayer:
    """PyTorch's layer with the weights of ours; it has biases where ours has none."""
    layer = nn.TransformerEncoderLayer(
        d, heads, dim_feedforward=4 * d, dropout=0.0, batch_first=True, norm_first=True
    ).double()
    copy_weights(block.attention, layer.self_attn)
    for ours, theirs in (
        (block.norm1, layer.norm1),
        (block.norm2, layer.norm2),
        (block.feed_forward.up, layer.linear1),
        (block.feed_forward.down, layer.linear2),
    ):
        theirs.load_state_dict(ours.state_dict())
    return layer


class TestBlock:
    def test_equals_torchs_own_in_outputs_and_gradients(self):
        torch.manual_seed(3)
        block = TransformerBlock(D, HEADS, CONTEXT).double()
        for norm in (block.norm1, block.norm2):  # ones and zeros would hide a norm left out
            nn.init.normal_(norm.weight)
            nn.init.normal_(norm.bias)
        layer = torchs_own(block, D, HEADS)
        left = torch.randn(B, T, D, dtype=torch.float64, requires_grad=True)
        right = left.detach().clone().requires_grad_()
        mask = causal_mask(T)
        ours, theirs = block(left), layer(right, src_mask=mask)
        torch.testing.assert_close(ours, theirs)
        factor = torch.linspace(-1, 2, ours.numel(), dtype=torch.float64).view_as(ours)
        (ours * factor).sum().backward()
        (theirs * factor).sum().backward()
        torch.testing.assert_close(left.grad, right.grad)
        torch.testing.assert_close(block.norm1.weight.grad, layer.norm1.weight.grad)
        torch.testing.assert_close(block.feed_forward.up.bias.grad, layer.linear1.bias.grad)

    def test_layers_in_their_order_so_that_seeds_give_the_same(self):
        names = [name for name, _ in TransformerBlock(D, HEADS, CONTEXT).named_children()]
        assert names == ["norm1", "attention", "norm2", "feed_forward", "dropout"]
        model = GPT(VOCAB, D, CONTEXT, 2, HEADS)
        names = [name for name, _ in model.named_children()]
        assert names == ["embedding", "positions", "blocks", "norm", "output"]
        assert model.output.bias is None
        assert all(block.attention.W_query.bias is None for block in model.blocks)

    def test_dropout_reaches_both_parts_and_the_weights(self):
        torch.manual_seed(3)
        block, x = TransformerBlock(D, HEADS, CONTEXT, dropout=0.5), torch.randn(T, D)
        assert block.attention.dropout.p == 0.5
        block.attention.dropout.p = 0.0
        assert not torch.equal(block(x), block(x))
        found = (block(x) - x) == 0  # both parts dropped: a quarter of the numbers
        assert 0.1 < found.float().mean() < 0.4
        assert torch.equal(block.eval()(x), block(x))


class TestGPT:
    @pytest.mark.parametrize("make", [make, lambda: GPT(VOCAB, D, CONTEXT, 3, HEADS)])
    def test_no_row_depends_on_later_ids(self, make):
        model, ids = make(), draw_ids(B, T)
        changed = ids.clone()
        changed[:, 3] = (changed[:, 3] + 1) % VOCAB
        before, after = model(ids), model(changed)
        assert torch.equal(before[:, :3], after[:, :3])
        assert (before[:, 3:] != after[:, 3:]).any(dim=-1).all()

    def test_is_its_blocks_one_after_another(self):
        torch.manual_seed(3)
        model, ids = GPT(VOCAB, D, CONTEXT, 2, HEADS), draw_ids(B, T)
        x = model.embedding.weight[ids] + model.positions.weight[:T]
        x = model.blocks[1](model.blocks[0](x))
        torch.testing.assert_close(model(ids), model.norm(x) @ model.output.weight.T)
        torch.testing.assert_close(model(ids[0]), model(ids)[0])

    def test_counts_gpt2_small(self):
        """Published are 124,439,808: with the biases of queries, keys and values."""
        with torch.device("meta"):
            model = GPT(50257, 768, 1024, 12, 12)
        tied = count_parameters(model) - model.output.weight.numel()
        assert tied == 124_412_160
        assert tied + 12 * 3 * 768 == 124_439_808
