"""The explorer of grouped queries shows the package's weights and the formulas' costs."""

import pytest
import torch

from chapter3_helpers.explorers.core.drawings import Curves
from chapter3_helpers.explorers.core.panels import Note
from chapter3_helpers.explorers.grouped_query import (
    CONTROLS,
    GENERATED,
    KV_HEADS,
    grouped_query_panels,
    grouped_query_state,
)
from chapter3_helpers.grouped_query import GroupedQueryAttention
from chapter3_helpers.sentence import embed_text
from tests.explorers import find

DEFAULTS = {control.name: control.default for control in CONTROLS}


@pytest.mark.parametrize("kv_heads", KV_HEADS)
def test_the_weights_are_those_of_the_notebook(kv_heads):
    state = grouped_query_state({**DEFAULTS, "num_kv_heads": kv_heads})
    _, x = embed_text(DEFAULTS["text"], d_in=512)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(123)
        attention = GroupedQueryAttention(512, 8, kv_heads).requires_grad_(False)
    expected = attention.attention_weights(8 * (x - 0.5))
    torch.testing.assert_close(state["weights"], expected)


@pytest.mark.parametrize("kv_heads", KV_HEADS)
def test_every_query_head_reads_the_head_of_its_group(kv_heads):
    reads = grouped_query_state({**DEFAULTS, "num_kv_heads": kv_heads})["reads"]
    assert reads.argmax(dim=-1).tolist() == [h // (8 // kv_heads) for h in range(8)]
    assert reads.sum(dim=-1).tolist() == [1.0] * 8


def test_the_costs_by_hand():
    state = grouped_query_state({**DEFAULTS, "generated": 10})
    assert state["cache_bytes"] == 2 * 60 * 2 * 64 * 4 == 61_440
    query_and_output, key_and_value, attending = 2 * 512**2, 2 * 512 * 128, 2 * 60 * 512
    assert state["with_cache"] == query_and_output + key_and_value + attending
    seen = 60 * 61 // 2  # by 60 tokens, each of which sees itself and those before it
    everything = 60 * (query_and_output + key_and_value) + 2 * 512 * seen
    assert state["without_cache"] == everything


def test_the_curve_passes_through_the_present_number():
    for kv_heads in (1, 8):
        settings = {**DEFAULTS, "num_kv_heads": kv_heads}
        kept = find(Curves, grouped_query_panels(settings))
        place = GENERATED.index(1000)
        assert kept.mark == kept.x[place] == 1050
        lines = [line[place] for line in kept.lines.values()]
        assert lines[0] == grouped_query_state(settings)["cache_bytes"] / 1e6
        assert len(lines) == (2 if kv_heads == 1 else 1)


@pytest.mark.parametrize("kv_heads", KV_HEADS)
def test_the_note_is_true(kv_heads):
    settings = {**DEFAULTS, "num_kv_heads": kv_heads}
    note = find(Note, grouped_query_panels(settings)).text
    whole = grouped_query_state({**DEFAULTS, "num_kv_heads": 8})["cache_bytes"]
    share = whole // grouped_query_state(settings)["cache_bytes"]
    told = "of its own" if kv_heads == 8 else f"a cache of 1/{share} of the size"
    assert told in note
    state = grouped_query_state(settings)
    ratio = state["without_cache"] // state["with_cache"]
    assert 600 < ratio < 800
    assert f"{ratio} times" in note
