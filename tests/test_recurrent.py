"""What ``00_why_attention`` teaches: one state for the whole word, or a look back at all."""

import torch
from torch import nn

from chapter3_helpers.recurrent import BahdanauDecoder, EncoderDecoder
from chapter3_helpers.tasks.translators import random_words

BOTH = [EncoderDecoder, BahdanauDecoder]
WORDS = random_words(count=3, length=7, seed=5)  # (B, T)


def build(model_class, d=10, seed=0):
    torch.manual_seed(seed)
    return model_class(d)


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


def test_the_parts_that_both_models_share_start_equal():
    shared = dict(build(BahdanauDecoder).named_parameters())
    for name, parameter in build(EncoderDecoder).named_parameters():
        assert parameter.equal(shared[name])
    extra = set(shared) - set(dict(build(EncoderDecoder).named_parameters()))
    assert extra == {"W_query.weight", "W_key.weight", "v.weight"}
