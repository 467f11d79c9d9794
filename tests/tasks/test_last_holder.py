"""Who has it now? What each way to place tokens learns, and what is left of it in longer stories.

Bounds hold for the seeds 0 to 5, with room to spare.
"""

import pytest
import torch

from chapter3_helpers.tasks.last_holder import (
    SCHEMES,
    StoryReader,
    answer,
    draw_stories,
    encode,
    share_right,
    sinusoids,
    train,
)

STORY = [("Ann", "key"), ("Bob", "lamp"), ("Cleo", "key"), ("Dan", "map")]


@pytest.fixture(scope="module")
def readers():
    made = {}
    for scheme in SCHEMES:
        torch.manual_seed(0)
        made[scheme] = StoryReader(scheme)
        train(made[scheme], progress=False)
    return made


def test_every_way_to_place_tokens_learns_who_was_last_and_none_does_not(readers):
    right = {scheme: share_right(reader, lines=16) for scheme, reader in readers.items()}
    assert right.pop("none") < 0.65
    assert min(right.values()) > 0.95


def test_longer_stories_tell_them_apart(readers):
    right = {scheme: share_right(reader, lines=64) for scheme, reader in readers.items()}
    assert right["learned"] < 0.35
    assert right["sinusoids"] < 0.5
    assert 0.5 < right["rotary"] < 0.97
    assert right["linear bias"] > 0.9


def test_the_last_line_about_the_key_gets_the_weight(readers):
    _, story = encode(STORY, asked="key")
    for scheme in list(SCHEMES)[1:]:
        weights = readers[scheme].attention_weights(story).detach()
        assert weights.argmax() == 2
        assert weights[2] > 0.7
        assert answer(readers[scheme], story) == "Cleo"
    plain = readers["none"].attention_weights(story).tolist()
    assert min(plain[0], plain[2]) > 0.2


def test_a_function_of_ones_own_tells_where_lines_stand():
    def latest_alone(reader, x):
        scores = torch.full(x.shape[:-1], -torch.inf)
        scores[..., -2] = 0.0
        return scores, x

    _, story = encode(STORY, asked="key")
    assert StoryReader(latest_alone).attention_weights(story).tolist() == [0, 0, 0, 1, 0]


@pytest.mark.parametrize("first", [False, True])
def test_a_drawn_story_asks_for_what_is_in_it(first):
    x, people, last = draw_stories(50, 9, torch.Generator().manual_seed(1), first)
    for story, person, line in zip(x, people, last, strict=True):
        thing = story[-1, 6:12].argmax()
        lines_with_it = [i for i in range(9) if story[i, 6 + thing] == 1]
        assert lines_with_it[0 if first else -1] == line
        assert story[line, :6].argmax() == person


def test_a_penalty_on_the_distance_does_not_find_who_was_first():
    right = {}
    for scheme in ("linear bias", "rotary"):
        torch.manual_seed(0)
        reader = StoryReader(scheme)
        train(reader, progress=False, first=True)
        right[scheme] = share_right(reader, lines=16, first=True)
    assert right["linear bias"] < 0.6
    assert right["rotary"] > 0.95


def test_sinusoids_turn_by_the_same_angle_from_any_position():
    pairs = torch.view_as_complex(sinusoids(20, 8).unflatten(-1, (-1, 2)))
    turns = pairs[3:] / pairs[:-3]
    assert torch.allclose(turns, turns[:1].expand_as(turns), atol=1e-5)
