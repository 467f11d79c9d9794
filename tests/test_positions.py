"""What ``08_positions`` teaches: order enters by addition, by penalty or by rotation."""

import math

import pytest
import torch

from chapter3_helpers.causal_attention import CausalAttention
from chapter3_helpers.exercises import positions as exercises
from chapter3_helpers.positions import (
    LearnedPositions,
    alibi_bias,
    alibi_slopes,
    apply_rotary,
    linear_bias,
    rotary_frequencies,
)
from chapter3_helpers.sentence import embed_text

OVEN, BREAD = "the oven cooked the bread so", "the bread cooked the oven so"


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(123)


def sentences(d_in):
    return embed_text(OVEN, d_in)[1], embed_text(BREAD, d_in)[1]


def turn_by_matrices(x, start=0, theta=10000.0):
    """Turn x (T, D) by one block-diagonal rotation matrix a position: no complex numbers."""
    T, D = x.shape
    turned = torch.empty_like(x)
    for row in range(T):
        rotation = torch.zeros(D, D, dtype=x.dtype)
        for k in range(0, D, 2):
            angle = (start + row) * theta ** (-k / D)
            rotation[k, k], rotation[k, k + 1] = math.cos(angle), -math.sin(angle)
            rotation[k + 1, k], rotation[k + 1, k + 1] = math.sin(angle), math.cos(angle)
        turned[row] = rotation @ x[row]
    return turned


class TestLearnedPositions:
    def test_adds_row_i_to_token_i(self):
        positions = LearnedPositions(max_length=11, d=7)
        x = torch.randn(2, 5, 7)
        out = positions(x)
        for b in range(2):
            for i in range(5):
                assert torch.equal(out[b, i], x[b, i] + positions.weight[i])
        assert torch.equal(positions(x[1]), out[1])

    def test_starts_small(self):
        assert LearnedPositions(1000, 7).weight.std().item() == pytest.approx(0.02, rel=0.05)


class TestLinearBias:
    def test_rows_are_those_of_the_source(self):
        T = 7
        n = T - 1
        for i, row in enumerate(linear_bias(T).tolist()):
            assert row == [*range(-i, 1), *range(-1, -(n - i) - 1, -1)]

    def test_causal_hides_exactly_the_future(self):
        T = 7
        for i, row in enumerate(linear_bias(T, causal=True).tolist()):
            assert row == [*range(-i, 1)] + [-math.inf] * (T - 1 - i)


class TestAlibi:
    @staticmethod
    def published(num_heads):
        """The published rule, which calls itself for twice the largest power of two."""
        if num_heads & (num_heads - 1) == 0:
            first = 2 ** -(2 ** -(math.log2(num_heads) - 3))
            return [first ** (h + 1) for h in range(num_heads)]
        power = 2 ** math.floor(math.log2(num_heads))
        return TestAlibi.published(power) + TestAlibi.published(2 * power)[::2][: num_heads - power]

    @pytest.mark.parametrize("num_heads", [*range(1, 34), 40, 71, 112, 128])
    def test_slopes_for_any_number_of_heads(self, num_heads):
        slopes = alibi_slopes(num_heads)
        assert slopes.shape == (num_heads,)
        assert slopes.tolist() == pytest.approx(self.published(num_heads), rel=1e-6)
        assert len(set(slopes.tolist())) == num_heads

    def test_bias_is_slope_times_distance(self):
        bias = alibi_bias(num_heads=3, T=5)
        assert bias.shape == (3, 5, 5)
        for head, slope in enumerate([1 / 16, 1 / 256, 1 / 4]):  # P = 2, and one of four heads
            for i in range(5):
                for j in range(5):
                    assert bias[head, i, j] == -slope * abs(i - j)


class TestRotaryFrequencies:
    @pytest.mark.parametrize(
        ("head_dim", "theta", "m"),  # far positions are as exact as near ones
        [(2, 1.0, 5), (6, 10.0, 12), (22, 10000, 1), (64, 500000.0, 3), (6, 10000.0, 100_000)],
    )
    def test_angle_is_position_times_speed(self, head_dim, theta, m):
        frequencies = rotary_frequencies(head_dim, m + 1, theta)
        assert frequencies.shape == (m + 1, head_dim // 2)
        assert frequencies.dtype == torch.complex64
        assert torch.equal(rotary_frequencies(head_dim, 1, theta, start=m), frequencies[m:])
        for k, value in enumerate(frequencies[m].tolist()):
            angle = m * theta ** (-2 * k / head_dim)
            assert value == pytest.approx(complex(math.cos(angle), math.sin(angle)), abs=1e-6)


class TestApplyRotary:
    @pytest.mark.parametrize(("head_dim", "theta"), [(2, 7.0), (6, 10000.0), (22, 500000.0)])
    def test_equals_rotation_matrices(self, head_dim, theta):
        x = torch.randn(2, 3, 5, head_dim, dtype=torch.float64)
        turned = apply_rotary(x, rotary_frequencies(head_dim, 20, theta)[11:16])
        for b in range(2):
            for h in range(3):
                expected = turn_by_matrices(x[b, h], start=11, theta=theta)
                assert torch.allclose(turned[b, h], expected, atol=1e-6)

    def test_half_precision_is_turned_in_float32(self):
        x = torch.randn(50, 6).bfloat16()
        frequencies = rotary_frequencies(6, 50)
        exact = apply_rotary(x.float(), frequencies)
        assert torch.equal(apply_rotary(x, frequencies), exact.bfloat16())

    def test_any_memory_layout(self):
        odd = torch.randn(5, 9)[:, 1:7]  # odd stride, odd offset: no view as complex exists
        heads = torch.randn(2, 5, 3, 6).transpose(1, 2)
        for x in (odd, heads, torch.randn(6).expand(5, 6)):
            expected = apply_rotary(x.contiguous().clone(), rotary_frequencies(6, 5))
            turned = apply_rotary(x, rotary_frequencies(6, 5))
            assert torch.allclose(turned, expected, atol=1e-6)


class TestExercises:
    def test_the_mask_alone_is_judged_by_a_real_layer(self):
        x_oven, x_bread = sentences(7)
        attention = CausalAttention(7, 6, context_length=6, dropout=0.0)
        same = (attention(x_oven) - attention(x_bread)).abs().amax(dim=-1) < 1e-6
        assert same.tolist() == exercises.MASK_ALONE.solution().tolist()

    def test_the_rotation_is_that_of_the_package(self):
        def with_complex_numbers(x, angles):
            return apply_rotary(x, torch.polar(torch.ones_like(angles), angles)[:, None])

        assert repr(exercises.ROTATION.verdict(with_complex_numbers)).endswith(": correct.")

    def test_reordered_pairs_turn_as_halves_would(self):
        x = torch.randn(5, 6)
        frequencies = rotary_frequencies(6, 5)
        turned = torch.complex(x[:, :3], x[:, 3:]) * frequencies  # pairs (k, k + 3)
        expected = torch.stack([turned.real, turned.imag], dim=-1).flatten(start_dim=1)
        reordered = exercises.PAIRING.solution(x)
        torch.testing.assert_close(apply_rotary(reordered, frequencies), expected)
