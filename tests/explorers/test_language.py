"""What explorers say follows the reader's language, and what names code does not."""

import json
import subprocess
import sys

import pytest

from chapter3_helpers.explorers.pronouns import WORDS
from chapter3_helpers.sentence import TOKENS
from chapter3_helpers.tasks.who_whom import NAMES
from tests.unsaid import TEXTS, WORD
from tools.notebook_files import NOTEBOOKS
from tools.translations import program

# Tokens, names of people and names of code are the same in every language. Beside the tokens of the
# series' sentence and of its lexicon these are shown:
EVERYWHERE = {"Python"}  # the button
SAME_IN_EVERY_LANGUAGE = {
    "attention": "d_out Ann saw cats and Bob dogs "
    # tensors and modules that its diagram names as code does
    "queries keys values scores scaled mask masked weights context concat output softmax sqrt "
    "W_query W_key W_value out_proj CausalAttention",
    "dropout": "native mkl",  # ways in which torch draws
    "fused_multihead": "sqrt",
    "grouped_query": "the cat that chased mouse slept",
    # parameters and columns of the model, what it reads and what it writes
    "handmade_transformer": "token_embedding position_embedding W_query W_key W_value c_proj "
    "c_proj_bias pos is scratch logits aabaa bababababa baabaabaab bbaabbaabb",
    # phrases and words that are read, and what is to become of words
    "induction_heads": "holidayholi holidayholiholidayholi holida",
    "masking": "mask_scores mask_then_renormalise",
    "multihead_wrapper": "Ann thanked Bob",
    "positions": "ALiBi theta the oven cooked bread so",
    "pronouns": "er sie es",  # German
    "recurrent": "understanding GNIDNATSREDNU understand DNATSREDNU underst TSREDNU ZZ",
    "softmax": "softmax",
    "model": "the text must hold at least one token got",  # an error of encode
}


@pytest.fixture(scope="module")
def unsaid() -> dict[str, dict[str, str]]:
    """By explorer, the words that stand in no message, with where."""
    run = subprocess.run(
        [sys.executable, "-m", "tests.unsaid"],
        input=json.dumps([*program.messages()]),
        capture_output=True,
        text=True,
        cwd=NOTEBOOKS.parent,
        check=True,
    )
    return json.loads(run.stdout.splitlines()[-1])


def test_every_word_of_an_explorer_is_a_message_a_token_or_a_name_of_code(unsaid):
    same = {*TOKENS, *WORDS, *NAMES, *WORD.findall(" ".join([*TOKENS, *TEXTS])), *EVERYWHERE}
    forgotten = {
        (topic, word): where
        for topic, words in unsaid.items()
        for word, where in words.items()
        if word not in same and word.lower() not in WORDS
        if word not in SAME_IN_EVERY_LANGUAGE.get(topic, "").split()
    }
    assert not forgotten


def test_what_is_the_same_in_every_language_is_shown(unsaid):
    assert {"softmax", "attention", "model"} <= unsaid.keys()
    for topic, words in SAME_IN_EVERY_LANGUAGE.items():
        assert {*words.split()} <= unsaid[topic].keys(), topic
