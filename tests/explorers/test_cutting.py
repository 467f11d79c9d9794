"""A model in model_explorer: a text is typed, heads are switched off, and it is asked again."""

import re

import pytest
import torch

from chapter3_helpers.explorers import model_explorer
from chapter3_helpers.explorers.core.panels import Matrix, render
from chapter3_helpers.explorers.model import cutting
from chapter3_helpers.explorers.model.cutting import NEW, read_heads
from chapter3_helpers.explorers.model.montage import Montage
from chapter3_helpers.explorers.model.written import HeadNote, Written
from chapter3_helpers.model_files import model_path
from chapter3_helpers.real_heads import cut_heads
from chapter3_helpers.real_model import load_llama, next_ids, read_tokenizer
from chapter3_helpers.transformer_block import GPT, MinimalLanguageModel
from tests.explorers import panel_of, run, state_of
from tests.gguf_files import byte_tokenizer, random_llama

TEXT = "say it, say i"  # a token for each letter


@pytest.fixture(scope="module")
def tokenizer():
    return byte_tokenizer()


@pytest.fixture
def llama():
    return random_llama(vocab_size=256)  # 2 layers of 6 heads


def gpt(kind=GPT, dropout=0.0):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return kind(256, 12, 40, num_layers=2, num_heads=3, dropout=dropout)


def numbers(model):
    return [parameter.detach().clone() for parameter in model.parameters()]


def same(model, before):
    return all(map(torch.equal, numbers(model), before))


@pytest.mark.parametrize("make", [lambda: random_llama(vocab_size=256), gpt])
def test_what_is_shown_is_what_the_model_does_without_these_heads(make, tokenizer):
    model, off = make(), [(0, 2), (1, 1)]
    before = numbers(model)
    subject = model_explorer(model, TEXT, tokenizer=tokenizer, off="0.2, 1.1", layer=1, head=2)
    ids = torch.tensor(tokenizer.encode(TEXT).ids)
    state = state_of(subject)
    with torch.no_grad(), cut_heads(model, off):
        weights, logits, longer = model.attention_weights(ids), model(ids), ids
        for _ in range(NEW):
            longer = torch.cat([longer, model(longer)[-1:].argmax(-1)])
    chances = logits[:-1].log_softmax(-1)
    whole, cut = state.answers
    torch.testing.assert_close(torch.stack(state.read.layers), torch.stack(weights))
    torch.testing.assert_close(cut.losses, -chances[range(len(ids) - 1), ids[1:]])
    assert TEXT + cut.written == tokenizer.decode(longer.tolist())
    assert not torch.allclose(whole.losses, cut.losses, atol=0.01)
    assert same(model, before)
    written, board = panel_of(subject, Written), panel_of(subject, Montage)
    assert (board.off, written.off) == (off, "0.2 and 1.1")
    means = re.findall(r'row">(.*?)</th>.*?mean loss (.*?)<', written.html())
    losses = [f"{answer.losses.mean():.2f}" for answer in state.answers]
    assert means == [*zip(["all heads", "without 0.2 and 1.1"], losses, strict=True)]
    assert board.layers()[1].count('<rect class="off"') == 2
    torch.testing.assert_close(panel_of(subject, Matrix).values, weights[1][2])


def test_a_click_switches_the_chosen_head_off_and_on_again_and_others_stay(llama, tokenizer):
    subject = model_explorer(llama, TEXT, tokenizer=tokenizer, layer=1, head=3, off="0.0")
    for off, word in (("0.0 1.3", "off"), ("0.0", "on")):
        note = panel_of(subject, HeadNote)
        assert (note.off, note.action) == (off, f"Switch it {word}")
        assert note.off in note.html()
        subject.click({"off": note.off})
        assert subject.settings["off"] == off
        assert ("It is off" in subject.view.value) == (word == "off")
    assert subject.settings["head"] == 3
    present = render(subject.panels(subject.settings), present=True)
    assert "Switch it off" in present
    assert "all heads" in present


def test_a_new_text_is_read_to_its_end_and_what_cannot_be_read_leaves_the_last_picture(
    llama, tokenizer
):
    subject = model_explorer(llama, TEXT, tokenizer=tokenizer)
    assert subject.settings["row"] == len(TEXT) - 1
    subject.widgets["text"].value = "a longer text, é"
    assert subject.settings["row"] == 16  # a letter of two bytes
    assert "a longer text" in panel_of(subject, Written).html()
    last = subject.view.value
    for name, typed, words in (
        ("text", "", "at least one token"),
        ("text", "half \ud83d", "half a character at place 5"),
        ("text", "a" * 41, "41 tokens; up to 40 can be read here"),
        ("off", "x", "not x."),
        ("off", "16", "such as 16.0, not 16."),
        ("off", "0.1 head 2", "not head."),
        ("off", "-1.0", "not -1.0."),
        ("off", "0.6", "head must be from 0 to 5 in layer 0, got 6"),
        ("off", "2.0", "layer must be from 0 to 1 in the model, got 2"),
        ("off", "9" * 50 + ".0", "layer must be from 0 to 1"),
    ):
        before = numbers(llama)
        subject.widgets[name].value = typed
        assert words in subject.said.value, (name, typed)
        assert last in subject.view.value
        assert "c3-stale" in subject.view.value
        subject.reset()
        subject.widgets["text"].value = "a longer text, é"
        assert same(llama, before)
    assert subject.said.value == ""
    one = model_explorer(llama, "a", tokenizer=tokenizer)
    assert "mean loss" not in one.view.value
    full = model_explorer(llama, "a" * 40, tokenizer=tokenizer)  # there is room for one more
    assert state_of(full).answers[0].written


def test_every_way_to_write_heads_means_them_once():
    assert read_heads(" 0.1,1.2;  0.1\n3.04") == ((0, 1), (1, 2), (3, 4))
    assert read_heads("") == ()


def test_heads_and_ways_of_computing_are_put_back_also_after_an_error(tokenizer):
    model = gpt(dropout=0.5).train()
    model.blocks[1].eval()
    training, before = [module.training for module in model.modules()], numbers(model)
    subject = model_explorer(model, TEXT, tokenizer=tokenizer)
    whole = state_of(subject).answers[0]
    model.attention_weights = None
    subject.set(off="0.1")
    assert "NoneType" in subject.said.value
    assert [module.training for module in model.modules()] == training
    assert same(model, before)
    del model.attention_weights
    subject.set(off="1.0")
    assert panel_of(subject, Written).off == "1.0"
    again = model_explorer(model, TEXT, tokenizer=tokenizer)
    assert torch.equal(state_of(again).answers[0].losses, whole.losses)  # no dropout
    assert all(parameter.grad is None for parameter in model.parameters())


def test_another_head_or_order_asks_nothing_of_the_model_and_few_answers_are_kept(llama, tokenizer):
    subject, asked = model_explorer(llama, TEXT, tokenizer=tokenizer, off="0.1"), []
    llama.register_forward_hook(lambda *_: asked.append(1))
    subject.set(layer=1, head=4, row=2)
    subject.set(sort="evenness", without_first=True)
    assert asked == []
    for text in ("one", "two", "three", "four", "five"):
        subject.set(text=text)
    assert len(asked) == 2 * 5
    subject.set(text=TEXT)
    assert len(asked) == 2 * 6


def test_the_lines_of_python_give_what_is_shown(llama, tokenizer):
    subject = model_explorer(llama, TEXT, tokenizer=tokenizer, off="1.5", sort="itself", row=3)
    lines, _ = subject.code(subject.settings).split("\n\n# What", 1)
    assert "# model and tokenizer: what you gave to this explorer" in lines
    found = run(lines.splitlines(), model=llama, tokenizer=tokenizer)["state"]
    expected = state_of(subject)
    assert (found.order, found.off) == (expected.order, ((1, 5),))
    torch.testing.assert_close(found.weights, expected.weights)
    for one, other in zip(found.answers, expected.answers, strict=True):
        torch.testing.assert_close(one.losses, other.losses)
        assert one.written == other.written


def test_a_model_whose_heads_cannot_be_switched_off_is_shown_and_says_so(tokenizer):
    with torch.random.fork_rng():
        model = MinimalLanguageModel(256, 6, 30, num_heads=2)
    subject = model_explorer(model, TEXT, tokenizer=tokenizer, head=1)
    subject.set(off="0.1")
    assert "No head of this model can be switched off" in subject.said.value


def test_a_text_that_ends_is_written_to_its_end(llama, tokenizer, monkeypatch):
    ids = tokenizer.encode(TEXT).ids
    new = [*next_ids(llama, ids, NEW)]
    monkeypatch.setattr(cutting, "end_ids", lambda tokenizer: {new[-1]})
    written = state_of(model_explorer(llama, TEXT, tokenizer=tokenizer)).answers[0].written
    assert TEXT + written == tokenizer.decode(ids + new[: new.index(new[-1])])


class WithoutLogits(GPT):
    def forward(self, ids):
        return super().forward(ids)[-1]


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"weights": torch.nn.Linear(2, 3)}, TypeError, "a model must have attention_weights(ids)"),
        ({"weights": gpt(WithoutLogits)}, TypeError, "logits (T, vocab_size) for ids (T,), got"),
        ({"weights": "a text"}, TypeError, "weights must be a sequence with a tensor"),
        ({"tokens": [*TEXT]}, TypeError, "with a model goes one text"),
        ({"tokens": None}, TypeError, "with a model goes one text"),
        ({"tokens": ""}, ValueError, "at least one token"),
        ({"keys": ["a"]}, TypeError, "neither keys nor a mask"),
        ({"attention_mask": [1]}, TypeError, "neither keys nor a mask"),
        ({"tokenizer": "gpt2"}, TypeError, "tokenizer must be what read_tokenizer returns"),
        ({"weights": random_llama()}, ValueError, "it knows 256 tokens and the model 53"),
        (
            {"weights": torch.ones(1, 1, 1, 1), "tokens": ["a"]},
            TypeError,
            "tokenizer goes with a m",
        ),
    ],
)
def test_what_a_model_needs_is_said(llama, tokenizer, change, error, words):
    given = {"weights": llama, "tokens": TEXT, "tokenizer": tokenizer} | change
    if isinstance(given["weights"], str):
        del given["tokenizer"]
    with pytest.raises(error, match=re.escape(words)):
        model_explorer(**given)


@pytest.mark.skipif(model_path() is None, reason="the real model is not installed: make setup")
def test_the_real_model_copies_a_name_and_without_one_head_does_not(llama):
    with pytest.raises(ValueError, match="it knows 49,152 tokens and the model 256"):
        model_explorer(llama, TEXT)
    model, text = load_llama(), "My name is Quembyra. Nice to meet you, Quem"
    subject = model_explorer(model, text, off="16.0", sort="token before", layer=16)
    state = state_of(subject)
    whole, cut = (answer.written for answer in state.answers)
    assert whole.startswith("byra")
    assert not cut.startswith("byra")
    assert (subject.settings["head"], state.tiles.turned) == (0, True)
    assert len(render(subject.panels(subject.settings))) < 100_000
    ids = read_tokenizer().encode(text).ids
    assert whole == read_tokenizer().decode([*next_ids(model, ids, NEW)])
