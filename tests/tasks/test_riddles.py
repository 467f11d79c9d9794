"""A name and two clues: a head that keeps all its weights relies on the name, one that does not
looks at all three. The bounds of what both answer are in ``test_tasks``.
"""

import pytest

from chapter3_helpers.tasks.riddles import (
    CLUES,
    NAMES,
    answer,
    draw,
    encode,
    encode_all,
    swap_names,
)
from tests.tasks.test_tasks import learned

NAME, SOUND, FOOD = 0, 1, 4  # where they stand


def test_where_the_full_stop_looks():
    x, _ = encode_all(draw(NAMES))
    assert learned("no dropout").attention_weights(x)[:, -1, NAME].mean() > 0.75
    careful = learned("dropout").attention_weights(x)[:, -1].mean(dim=0)
    assert 0.35 < careful[NAME] < 0.5
    assert all(0.25 < careful[clue] < 0.4 for clue in (SOUND, FOOD))


def test_clues_are_right_four_times_out_of_five_and_independent():
    riddles = draw(["Momo"] * 12_000, seed=3)
    words = [(riddle.text.rstrip(".").split(), CLUES[riddle.animal]) for riddle in riddles]
    sounds = [said[SOUND] == own for said, (own, _) in words]
    foods = [said[FOOD] == own for said, (_, own) in words]
    right = 0.8 + 0.2 / 12
    assert sum(sounds) / 12_000 == pytest.approx(right, abs=0.015)
    assert sum(foods) / 12_000 == pytest.approx(right, abs=0.015)
    both = [sound and food for sound, food in zip(sounds, foods, strict=True)]
    assert sum(both) / 12_000 == pytest.approx(right**2, abs=0.015)


def test_a_swapped_name_speaks_against_both_clues():
    riddles = draw(NAMES)
    of_name = {riddle.text.split()[0]: riddle.animal for riddle in riddles}
    swapped = swap_names(riddles)
    assert len({riddle.text for riddle in swapped}) == 120 * 11
    for text, animal in swapped:
        name, sound, _, _, food = text.rstrip(".").split()
        assert (sound, food) in CLUES.values()
        assert (sound, food) != CLUES[animal]
        assert of_name[name] == animal


def test_a_head_answers_with_an_animal():
    assert answer(learned("dropout"), "Momo moos and eats grass.") == "cow"


def test_a_riddle_without_a_word_is_refused():
    with pytest.raises(ValueError, match="riddle must hold a word, such as 'Rex barks'"):
        encode(" . ")
    with pytest.raises(TypeError, match="riddle must be a string, got int"):
        encode(7)
