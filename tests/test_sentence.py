"""The running example, and the sentences that readers type."""

import hashlib
import unicodedata

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from chapter3_helpers.sentence import (
    TOKENS,
    embed_text,
    example_batch,
    example_inputs,
    split_tokens,
)
from tests.golden import golden


def test_the_running_example_is_the_chapter_s():
    assert TOKENS == ("Your", "journey", "starts", "with", "one", "step")
    inputs = example_inputs()
    assert inputs.dtype == torch.float32
    assert torch.equal(inputs, torch.tensor(golden()["inputs"]["values"]))


def test_every_call_returns_a_new_tensor():
    example_inputs().zero_()
    example_batch()[0].zero_()
    assert example_inputs().sum() > 0


def test_a_batch_holds_copies():
    assert list(example_batch().shape) == golden()["batch_shape"]["values"]
    for sentence in example_batch(3):
        assert torch.equal(sentence, example_inputs())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Your journey starts with one step", TOKENS),
        ("Wait, what?!", ("Wait", ",", "what", "?", "!")),
        ("snake_case 3 x2", ("snake_case", "3", "x2")),
        ("Don't, don’t!", ("Don't", ",", "don’t", "!")),
        ("'so' dogs' '", ("'", "so", "'", "dogs", "'", "'")),
        ("a\tb\nc\u00a0d\u3000e", ("a", "b", "c", "d", "e")),
        ("col·leccio\u0301", ("col·lecció",)),  # a letter in two parts, then in one
        ("我想吃酸菜鱼", tuple("我想吃酸菜鱼")),
        ("我爱 PyTorch 2。", ("我", "爱", "PyTorch", "2", "。")),
        ("人々はラーメンを", tuple("人々はラーメンを")),
        ("ﾊﾛｰ ｶﾞ", ("ﾊ", "ﾛ", "ｰ", "ｶﾞ")),
        ("\u1112\u1161\u11ab글", ("한글",)),  # a syllable in three letters, then one in one
        ("ฉันกินน้ำ ๑๒", ("ฉั", "น", "กิ", "น", "น้ำ", "๑๒")),
        ("ພາສາ", ("ພ", "າ", "ສ", "າ")),
        ("မြန်မာစာ", ("မြ", "န်", "မာ", "စာ")),
        ("שלום, צה״ל", ("שלום", ",", "צה״ל")),
        ("שָׁלוֹם", ("שָׁלוֹם",)),
        ("السلام عليكم؟", ("السلام", "عليكم", "؟")),
        ("می\u200cخواهم", ("می\u200cخواهم",)),  # one Persian word, with a zero-width non-joiner
        ("नमस्ते क्षत्रिय", ("नमस्ते", "क्षत्रिय")),
        ("ශ්\u200dරී ලංකා", ("ශ්\u200dරී", "ලංකා")),  # a joiner inside the first word
        ("q\u0323\u0307 y", ("q\u0323\u0307", "y")),  # two accents that no single letter has
        ("☕️👍🏽", ("☕️", "👍🏽")),
        ("👨\u200d👩\u200d👧 ok", ("👨\u200d👩\u200d👧", "ok")),
        ("🇩🇪🇦🇿🇿🇦🇫", ("🇩🇪", "🇦🇿", "🇿🇦", "🇫")),
        ("🏴\U000e0067\U000e0062\U000e007f🏴", ("🏴\U000e0067\U000e0062\U000e007f", "🏴")),
        ("\u200fאב\u200e \ufeffc\u00add", ("אב", "cd")),  # invisible marks go, words stay whole
        ("\u200dx \u200c \U000e0067", ("x",)),  # joiners with nothing to join
        ("a\u200bb", ("a", "b")),  # a zero-width space is a space
        ("\ue000 \U000e1000", ("\ue000", "\U000e1000")),  # private use; not assigned as yet
        ("\u0301a", ("\u0301", "a")),  # an accent with nothing to stand on
        ("a \u0301", ("a", "\u0301")),
        ("\ud800a", ("a",)),  # half of a surrogate pair, which no file can hold
        ("𝔸𝔹 ²", ("𝔸𝔹", "²")),
    ],
)
def test_tokens_in_many_scripts(text, expected):
    assert split_tokens(text) == expected
    tokens, x = embed_text(text)
    assert tokens == expected
    assert x.shape == (len(expected), 3)


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet=st.characters(exclude_categories=()), max_size=12))
def test_no_text_is_too_strange(text):
    tokens = split_tokens(text)
    for token in tokens:
        assert token.strip()
        assert not any(unicodedata.category(code) in ("Cc", "Cs", "Zs") for code in token)
    letters = [code for code in unicodedata.normalize("NFC", text) if code.isalnum()]
    assert [code for code in "".join(tokens) if code.isalnum()] == letters
    if tokens:
        _, x = embed_text(text, d_in=2)
        assert x.shape == (len(tokens), 2)
        assert (x >= 0).all()
        assert (x < 1).all()
    else:
        with pytest.raises(ValueError, match="text must hold at least one word"):
            embed_text(text)


def test_equal_tokens_get_equal_vectors_and_others_do_not():
    tokens, x = embed_text("the bread, the oven")
    assert tokens == ("the", "bread", ",", "the", "oven")
    assert torch.equal(x[0], x[3])
    assert len({tuple(row.tolist()) for row in x}) == 4
    _, elsewhere = embed_text("oven bread the")
    assert torch.equal(elsewhere, x[[4, 1, 0]])


def test_another_seed_gives_other_vectors_and_no_seed_the_same():
    assert torch.equal(embed_text("a b")[1], embed_text("a b", seed=123)[1])
    assert not torch.isclose(embed_text("a b")[1], embed_text("a b", seed=124)[1]).any()
    assert embed_text("a b", d_in=17)[1].shape == (2, 17)


@pytest.mark.parametrize(("token", "d_in", "seed"), [("journey", 3, 123), ("鱼", 19, 0)])
def test_vectors_follow_from_the_token_on_every_machine(token, d_in, seed):
    # An independent route: NumPy's Mersenne Twister, 24 bits of each 32-bit draw.
    digest = hashlib.sha256(f"{seed}:{token}".encode()).digest()
    twister = np.random.RandomState(int.from_bytes(digest[:4], "big"))
    draws = twister.randint(0, 2**32, size=d_in, dtype=np.uint32)
    expected = (draws & 0xFFFFFF) / 2**24
    assert embed_text(token, d_in, seed)[1][0].tolist() == expected.tolist()


def test_torchs_generator_stays_as_it_is():
    before = torch.get_rng_state()
    embed_text("one step")
    assert torch.equal(torch.get_rng_state(), before)
