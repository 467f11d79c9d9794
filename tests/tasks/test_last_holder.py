"""Who has it now? Stories ask for what is in them; a scheme tells the reader where lines stand."""

import torch

from chapter3_helpers.tasks import last_holder
from chapter3_helpers.tasks.last_holder import PEOPLE, THINGS, StoryReader, decode, draw_stories
from tests.tasks.test_tasks import learned


def story(*lines, asked):
    """Make the tokens of a story from pairs of a person and a thing, (lines + 1, 13)."""
    x = torch.zeros(len(lines) + 1, 13)
    for token, (person, thing) in zip(x, lines, strict=False):
        token[PEOPLE.index(person)] = token[6 + THINGS.index(thing)] = 1
    x[-1, 6 + THINGS.index(asked)] = x[-1, 12] = 1
    return x


@torch.no_grad()
def test_only_positions_say_which_line_about_the_lamp_is_the_last():
    lines = [("Ann", "lamp"), ("Bob", "cup"), ("Cleo", "lamp"), ("Dan", "map")]
    cleo_last = story(*lines, asked="lamp")
    ann_last = story(lines[2], lines[1], lines[0], lines[3], asked="lamp")
    assert decode(ann_last) == ("Cleo lamp", "Bob cup", "Ann lamp", "Dan map", "lamp?")
    both = torch.stack([cleo_last, ann_last])
    answers = learned("penalty")(both).argmax(dim=-1)
    assert [PEOPLE[i] for i in answers] == ["Cleo", "Ann"]
    torch.testing.assert_close(*learned("no positions")(both))


def test_a_function_of_ones_own_says_where_lines_stand():
    def latest_alone(reader, x):
        scores = torch.full(x.shape[:-1], -torch.inf)
        scores[..., -2] = 0.0
        return scores, x

    reader, told = StoryReader(latest_alone), story(("Ann", "lamp"), ("Bob", "cup"), asked="lamp")
    context = reader.W_value(reader.embed(told))[1]
    torch.testing.assert_close(reader(told), reader.read_out(context))


def test_a_drawn_story_asks_for_what_is_in_it():
    x, people, last = draw_stories(50, 9, torch.Generator().manual_seed(1))
    for story, person, line in zip(x, people, last, strict=True):
        thing = story[-1, 6:12].argmax()
        lines_with_it = [i for i in range(9) if story[i, 6 + thing] == 1]
        assert lines_with_it[-1] == line
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
