"""What ``00_why_attention`` teaches: one state for the whole word, or a look back at all."""

import copy

import pytest
import torch
from torch import nn

from chapter3_helpers.recurrent import (
    TRAINED_LENGTHS,
    BahdanauDecoder,
    EncoderDecoder,
    accuracy_by_length,
    train,
    translate,
)
from chapter3_helpers.training.toy_language import random_words

BOTH = [EncoderDecoder, BahdanauDecoder]
WORDS = random_words(count=3, length=7, seed=5)  # (B, T)


def build(model_class, d=10, seed=0):
    torch.manual_seed(seed)
    return model_class(d)


@pytest.fixture(scope="module")
def trained():
    """Both models after a short training on short words."""
    models = []
    for model_class in BOTH:
        models.append(build(model_class, d=64))
        train(models[-1], batches=300, lengths=(4, 5), progress=False)
    return models


# The models


@pytest.mark.parametrize("model_class", BOTH)
@pytest.mark.parametrize(
    ("d", "error", "message"),
    [
        (1.5, TypeError, "d must be an integer"),
        (0, ValueError, "d must be at least 2, got 0"),
        (7, ValueError, "d must be even, one half for each direction, got 7"),
    ],
)
def test_a_width_that_cannot_be_is_refused(model_class, d, error, message):
    with pytest.raises(error, match=message):
        model_class(d)


@pytest.mark.parametrize("model_class", BOTH)
def test_logits_have_a_row_a_letter_and_words_do_not_disturb_one_another(model_class):
    model = build(model_class)
    logits = model(WORDS)
    assert logits.shape == (3, 7, 26)
    for i in range(3):
        assert torch.allclose(model(WORDS[i : i + 1])[0], logits[i], atol=1e-6)


def test_the_encoder_agrees_with_two_one_way_networks():
    """An oracle for what `states` and `last` hold: each direction run by hand, step by step."""
    model = build(EncoderDecoder)
    states, last = model.encode(WORDS)
    x = model.embedding(WORDS)  # (B, T, 5)
    for start, suffix, steps in ((0, "", range(7)), (5, "_reverse", range(6, -1, -1))):
        cell = nn.GRUCell(5, 5)
        names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        cell.load_state_dict({n: getattr(model.encoder, f"{n}_l0{suffix}") for n in names})
        hidden = torch.zeros(3, 5)
        for step in steps:
            hidden = cell(x[:, step], hidden)
            assert torch.allclose(states[:, step, start : start + 5], hidden, atol=1e-6)
        assert torch.allclose(last[:, start : start + 5], hidden, atol=1e-6)


def test_without_attention_the_decoder_starts_from_the_last_state_and_reads_it_at_every_step():
    model = build(EncoderDecoder)
    _, last = model.encode(WORDS)
    cell = nn.GRUCell(10, 10)
    cell.load_state_dict({k.removesuffix("_l0"): p for k, p in model.decoder.named_parameters()})
    state, by_hand = last, []
    for _ in range(4):
        state = cell(last, state)
        by_hand.append(state)
    assert torch.allclose(model.decode(last, steps=4), torch.stack(by_hand, dim=1), atol=1e-6)


def test_without_attention_the_last_state_is_all_that_the_decoder_gets():
    model = build(EncoderDecoder)
    _, last = model.encode(WORDS)
    assert model.output(model.decode(last, steps=7)).equal(model(WORDS))
    assert not model.output(model.decode(last.flip(0), steps=7)).equal(model(WORDS))


@pytest.mark.parametrize(
    ("last", "steps", "error", "message"),
    [
        (torch.zeros(3, 9), 2, ValueError, r"last must have shape \(B, 10\), got \(3, 9\)"),
        (torch.zeros(10), 2, ValueError, r"last must have shape \(B, 10\), got 1 dimension"),
        ([[0.0] * 10], 2, TypeError, "last must be a torch.Tensor, got list"),
        (torch.zeros(3, 10), 0, ValueError, "steps must be at least 1, got 0"),
    ],
)
def test_a_decoder_refuses_what_it_cannot_start_from(last, steps, error, message):
    with pytest.raises(error, match=message):
        build(EncoderDecoder).decode(last, steps)


def test_attention_follows_its_formula():
    """Scores v . tanh(W q + U k), number by number, and the decoder's step by another cell."""
    model = build(BahdanauDecoder)
    states, _ = model.encode(WORDS)
    decoded, weights = model.look_and_decode(WORDS)
    W, U, v = model.W_query.weight, model.W_key.weight, model.v.weight[0]
    cell = nn.GRUCell(10, 10)
    cell.load_state_dict({k.removesuffix("_l0"): p for k, p in model.decoder.named_parameters()})
    for b in range(3):
        q = torch.zeros(10)
        for i in range(7):
            scores = torch.stack([torch.dot(v, torch.tanh(W @ q + U @ k)) for k in states[b]])
            exponentials = scores.exp()
            expected = exponentials / exponentials.sum()
            assert torch.allclose(weights[b, i], expected, atol=1e-5)
            context = sum(expected[j] * states[b, j] for j in range(7))
            q = cell(context[None], q[None])[0]
            assert torch.allclose(decoded[b, i], q, atol=1e-5)
    assert model(WORDS).equal(model.output(decoded))
    assert model.attention_weights(WORDS).equal(weights)


def test_attention_is_all_that_the_decoder_gets():
    """With equal states everywhere the weights make no difference, and the word is gone."""
    model = build(BahdanauDecoder)
    nn.init.zeros_(model.embedding.weight)
    for parameter in model.encoder.parameters():
        nn.init.zeros_(parameter)
    assert torch.allclose(model(WORDS)[0], model(WORDS)[1])


def test_the_parts_that_both_models_share_start_equal():
    shared = dict(build(BahdanauDecoder).named_parameters())
    for name, parameter in build(EncoderDecoder).named_parameters():
        assert parameter.equal(shared[name])
    extra = set(shared) - set(dict(build(EncoderDecoder).named_parameters()))
    assert extra == {"W_query.weight", "W_key.weight", "v.weight"}


@pytest.mark.parametrize("model_class", BOTH)
def test_every_parameter_gets_a_gradient(model_class):
    model = build(model_class)
    model(WORDS).square().sum().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().sum() > 0, name


@pytest.mark.parametrize("model_class", BOTH)
def test_other_precisions_state_dict_and_compile(model_class):
    model = build(model_class)
    logits = model(WORDS)
    double = copy.deepcopy(model).double()(WORDS)
    assert double.dtype == torch.float64
    assert torch.allclose(double.float(), logits, atol=1e-5)
    half = copy.deepcopy(model).bfloat16()(WORDS)
    assert half.dtype == torch.bfloat16
    assert torch.allclose(half.float(), logits, atol=0.05)
    twin = build(model_class, seed=1)
    assert not twin(WORDS).equal(logits)
    twin.load_state_dict(model.state_dict())
    assert twin(WORDS).equal(logits)
    compiled = torch.compile(model, backend="eager")  # nn.GRU itself is left out of the graph
    with torch.no_grad():
        assert torch.allclose(compiled(WORDS), logits, atol=1e-6)


# Training


def test_training_is_the_same_for_the_same_seeds():
    runs = []
    for seed in (0, 0, 1):
        model = build(BahdanauDecoder)
        losses = train(model, batches=6, seed=seed, progress=False)
        runs.append((losses, model.state_dict()))
    assert runs[0][0] == runs[1][0] != runs[2][0]
    assert all(runs[0][1][name].equal(runs[1][1][name]) for name in runs[0][1])


def test_training_draws_words_of_the_lengths_asked_for():
    class Listener(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner, self.seen = build(EncoderDecoder, d=2), []

        def forward(self, letters):
            self.seen.append(tuple(letters.shape))
            return self.inner(letters)

    listener = Listener()
    assert len(train(listener, batches=40, lengths=(3, 5), progress=False)) == 40
    assert {length for _, length in listener.seen} == {3, 4, 5}
    assert {count for count, _ in listener.seen} == {32}


def test_gradients_are_clipped():
    class Steep(EncoderDecoder):
        def forward(self, letters):
            return 1000 * super().forward(letters)

    model = build(Steep)
    train(model, batches=2, progress=False)
    left = nn.utils.get_total_norm([p.grad for p in model.parameters()])  # after the last step
    assert left.item() == pytest.approx(1, abs=1e-4)


def test_the_bar_bears_the_models_name(capsys):
    train(build(EncoderDecoder, d=2), batches=2, lengths=(1, 1))
    assert capsys.readouterr().out.split("\r")[-1].startswith("EncoderDecoder: 100%")
    train(build(EncoderDecoder, d=2), batches=2, lengths=(1, 1), progress=False)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"model": 3}, TypeError, "model must be a torch.nn.Module, got int"),
        ({"batches": 0}, ValueError, "batches must be at least 1, got 0"),
        ({"lengths": 5}, TypeError, r"lengths must be a tuple \(shortest, longest\), got 5"),
        ({"lengths": (1, 2, 3)}, TypeError, r"lengths must be a tuple .* got \(1, 2, 3\)"),
        ({"lengths": (0, 3)}, ValueError, "shortest must be at least 1, got 0"),
        ({"lengths": (5, 4)}, ValueError, "longest must be at least 5, got 4"),
        ({"seed": -1}, ValueError, "seed must be at least 0, got -1"),
        ({"progress": 1}, TypeError, "progress must be True or False, got 1"),
    ],
)
def test_training_refuses_what_makes_no_sense(arguments, error, message):
    with pytest.raises(error, match=message):
        train(**{"model": build(EncoderDecoder, d=2), "batches": 1} | arguments)


def test_attention_is_ahead_after_a_short_training(trained):
    one_state, attention = (accuracy_by_length(model, (4, 5)) for model in trained)
    assert (attention > 0.9).all()
    assert (attention > one_state + 0.15).all()


def test_attention_finds_the_mirrored_letter(trained):
    weights = trained[1].attention_weights(random_words(100, 4, seed=9))
    mirrored = weights.argmax(dim=-1) == torch.tensor([3, 2, 1, 0])
    assert mirrored.float().mean() > 0.9


def test_accuracy_is_the_share_of_letters():
    """A model that always writes `a` is right wherever an `a` is asked for."""

    class OnlyA(nn.Module):
        def forward(self, letters):
            return nn.functional.one_hot(torch.zeros_like(letters), 26).float()

    accuracy = accuracy_by_length(OnlyA(), (2, 9), words=50, seed=4)
    shares = [(random_words(50, length, seed=4) == 0).float().mean() for length in (2, 9)]
    assert accuracy.equal(torch.stack(shares))
    assert translate(OnlyA(), "Word") == "AAAA"


def test_accuracy_and_translation_refuse_what_is_no_model():
    with pytest.raises(TypeError, match=r"model must be a torch\.nn\.Module, got str"):
        accuracy_by_length("model", [3])
    with pytest.raises(TypeError, match=r"model must be a torch\.nn\.Module, got str"):
        translate("model", "word")
    with pytest.raises(ValueError, match="length must be at least 1, got 0"):
        accuracy_by_length(build(EncoderDecoder, d=2), [0])


def test_some_lengths_are_kept_from_training():
    """The notebook calls words of 3, 13 and 20 letters unseen."""
    shortest, longest = TRAINED_LENGTHS
    assert 3 < shortest < longest < 13
