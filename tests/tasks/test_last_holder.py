"""Who has it now? Stories ask for what is in them; a scheme tells the reader where lines stand."""

import pytest
import torch

from chapter3_helpers.tasks import last_holder
from chapter3_helpers.tasks.last_holder import StoryReader, answer, draw_stories, encode
from tests.tasks.test_tasks import learned

STORY = [("Ann", "lamp"), ("Bob", "cup"), ("Cleo", "lamp"), ("Dan", "map")]


def test_only_positions_say_which_line_about_the_lamp_is_the_last():
    _, story = encode(STORY, asked="lamp")
    weights = learned("penalty").attention_weights(story)
    assert weights[2] > 0.7
    assert answer(learned("penalty"), story) == "Cleo"
    plain = learned("no positions").attention_weights(story)
    assert min(plain[0], plain[2]) > 0.2


def test_a_function_of_ones_own_says_where_lines_stand():
    def latest_alone(reader, x):
        scores = torch.full(x.shape[:-1], -torch.inf)
        scores[..., -2] = 0.0
        return scores, x

    reader, (_, story) = StoryReader(latest_alone), encode(STORY, asked="lamp")
    assert reader.attention_weights(story).tolist() == [0, 0, 0, 1, 0]
    context = reader.W_value(reader.embed(story))[3]
    torch.testing.assert_close(reader(story), reader.read_out(context))


@pytest.mark.parametrize("first", [False, True])
def test_a_drawn_story_asks_for_what_is_in_it(first):
    x, people, last = draw_stories(50, 9, torch.Generator().manual_seed(1), first)
    for story, person, line in zip(x, people, last, strict=True):
        thing = story[-1, 6:12].argmax()
        lines_with_it = [i for i in range(9) if story[i, 6 + thing] == 1]
        assert lines_with_it[0 if first else -1] == line
        assert story[line, :6].argmax() == person
    assert x[:, -1, 12].all()
    assert not x[:, :-1, 12].any()


def test_it_practises_with_2_to_16_lines_and_no_more(monkeypatch):
    seen = set()

    def draw(stories, lines, *more):
        seen.add(lines)
        return draw_stories(1, lines, *more)  # one in place of 64: the lengths are asked for

    monkeypatch.setattr(last_holder, "draw_stories", draw)
    last_holder.train(StoryReader(last_holder.none), batches=150, progress=False)
    assert seen == set(range(2, 17))


@pytest.mark.parametrize(("line", "asked"), [(("Zoe", "lamp"), "lamp"), (("Ann", "lamp"), "cat")])
def test_a_name_that_is_not_known_is_refused(line, asked):
    with pytest.raises(ValueError, match=r"a (person|thing) must be one of .*; got '(Zoe|cat)'"):
        encode([line], asked)
