"""The explorer of grouped queries shows the package's weights and the formulas' costs."""

import pytest
import torch

from chapter3_helpers.explorers.core.drawings import Curves
from chapter3_helpers.explorers.core.number_path import NumberPath
from chapter3_helpers.explorers.grouped_query import KV_HEADS
from chapter3_helpers.grouped_query import GroupedQueryAttention
from chapter3_helpers.sentence import embed_text
from tests.explorers import Shown


@pytest.mark.parametrize("kv_heads", KV_HEADS)
def test_the_weights_are_those_of_the_notebook(kv_heads):
    shown = Shown("grouped_query", num_kv_heads=kv_heads)
    _, x = embed_text(shown.settings["text"], d_in=512)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(123)
        attention = GroupedQueryAttention(512, 8, kv_heads).requires_grad_(False)
    torch.testing.assert_close(shown.state.weights, attention.attention_weights(8 * (x - 0.5)))


def test_a_clicked_weight_is_that_of_the_keys_that_its_head_shares():
    shown = Shown("grouped_query", head=7, query=5, key=2)  # it reads the second kv head
    weight = float(shown.state.weights[7, 5, 2])
    assert shown.only(NumberPath).numbers["weight"] == pytest.approx(weight, abs=1e-5)


def test_the_costs_by_hand():
    state = Shown("grouped_query", generated=10).state
    assert state.cache_bytes == 2 * 60 * 2 * 64 * 4 == 61_440
    query_and_output, key_and_value, attending = 2 * 512**2, 2 * 512 * 128, 2 * 60 * 512
    assert state.with_cache == query_and_output + key_and_value + attending
    seen = 60 * 61 // 2  # by 60 tokens, each of which sees itself and those before it
    everything = 60 * (query_and_output + key_and_value) + 2 * 512 * seen
    assert state.without_cache == everything


@pytest.mark.parametrize("kv_heads", KV_HEADS)
def test_the_note_and_the_curve_say_the_present_numbers(kv_heads):
    shown, whole = (Shown("grouped_query", num_kv_heads=heads) for heads in (kv_heads, 8))
    share = whole.state.cache_bytes // shown.state.cache_bytes
    told = "of its own" if kv_heads == 8 else f"a cache of 1/{share} of the size"
    assert told in shown.note
    ratio = shown.state.without_cache // shown.state.with_cache
    assert 600 < ratio < 800
    assert f"{ratio} times" in shown.note
    kept = shown.only(Curves)
    place = list(kept.x).index(kept.mark)
    assert kept.mark == 50 + 1000
    lines = [line[place] for line in kept.lines.values()]
    assert lines[0] == shown.state.cache_bytes / 1e6
    assert len(lines) == (1 if kv_heads == 8 else 2)
