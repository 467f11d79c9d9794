"""Two clues: a head that keeps all its weights looks at the better one alone, one that does not
looks at both. The bounds of both are in ``test_tasks``.
"""

import pytest

from chapter3_helpers.tasks.riddles import ANIMALS, encode, probabilities
from tests.tasks.test_tasks import learned

SOUND, FOOD = 1, 4  # where they stand


def test_where_the_full_stop_looks():
    _, x = encode("It barks and eats bones.")
    assert learned("no dropout").attention_weights(x)[-1, SOUND] > 0.95
    careful = learned("dropout").attention_weights(x)[-1]
    assert 0.5 < careful[SOUND] < 0.7
    assert 0.3 < careful[FOOD] < 0.5


def test_probabilities_come_in_order_and_sum_to_1():
    shares = probabilities(learned("no dropout"), "it moos")
    assert sorted(shares) == sorted(ANIMALS)
    assert list(shares.values()) == sorted(shares.values(), reverse=True)
    assert sum(shares.values()) == pytest.approx(1)
    assert next(iter(shares)) == "cow"


def test_a_riddle_without_a_word_is_refused():
    with pytest.raises(ValueError, match="riddle must hold a word, such as 'It barks'"):
        encode(" . ")
    with pytest.raises(TypeError, match="riddle must be a string, got int"):
        encode(7)
