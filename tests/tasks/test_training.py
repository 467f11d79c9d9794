"""What all trainings share: steps of Adam, a rate that rises and falls, one thread, a bar.

And a model is trained once, and never mistaken for another.
"""

import gc
from weakref import WeakSet

import pytest
import torch
from torch import nn

from chapter3_helpers.tasks import leaky_mask, training
from chapter3_helpers.tasks.leaky_mask import LeakyLanguageModel
from chapter3_helpers.tasks.training import minimise, trained
from tests.switches import SWITCHES

CALLS = []


def follow(batches, **options):
    """Return a weight whose gradient is always 1: Adam moves it by the learning rate."""
    weight, seen = nn.Parameter(torch.zeros(1, dtype=torch.float64)), []
    model = nn.ParameterList([weight])

    def draw_loss(_):
        seen.append(weight.item())
        return weight.sum()

    assert minimise(model, draw_loss, batches, 1.0, "falling", **options) == seen
    return torch.tensor([*seen, weight.item()])


def test_the_rate_rises_over_a_tenth_of_the_batches_and_falls_to_zero():
    rates = -follow(20, progress=False).diff()
    expected = [0.5, 0.95, *(1 - step / 20 for step in range(2, 20))]
    torch.testing.assert_close(rates, torch.tensor(expected), atol=1e-6, rtol=0)
    assert -follow(1, progress=False).diff() > 0.05


def test_of_no_batch_nothing_is_learnt_and_fewer_there_cannot_be():
    watched = []
    assert follow(0, progress=False, watch=watched.append).tolist() == [0.0]
    assert watched == [0]
    with pytest.raises(ValueError, match="batches must be at least 0, got -1"):
        follow(-1, progress=False)


@pytest.mark.parametrize(("options", "norm"), [({"max_norm": 0.5}, 0.5), ({}, 500.0)])
def test_gradients_are_shortened_together(options, norm):
    model = nn.ParameterList([nn.Parameter(torch.ones(1)), nn.Parameter(torch.ones(1))])

    def draw_loss(_):
        return 300 * model[0].sum() + 400 * model[1].sum()

    minimise(model, draw_loss, 2, 0.1, "", progress=False, **options)
    left = torch.tensor([weight.grad.item() for weight in model])
    torch.testing.assert_close(left, norm * torch.tensor([0.6, 0.8]))


def test_torch_keeps_to_one_thread_and_gets_the_others_back():
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    seen = []

    def draw_loss(_):
        seen.append(torch.get_num_threads())
        raise InterruptedError

    try:
        with pytest.raises(InterruptedError):
            minimise(nn.Linear(1, 1), draw_loss, 5, 0.1, "", progress=False)
        assert (seen, torch.get_num_threads()) == ([1], 2)
    finally:
        torch.set_num_threads(threads)


def test_the_bar_ends_in_the_same_line_every_time_and_may_be_left_out(capsys):
    """Timings would differ from run to run. A notebook keeps what follows the last return."""
    follow(12)
    text = capsys.readouterr().out
    assert text.endswith("\n")
    last = text.rstrip("\n").split("\r")[-1]
    assert last == "falling: 100%|" + 30 * "█" + "| 12/12 batches, finished."
    follow(12, progress=False)
    assert capsys.readouterr() == ("", "")


# A model that is kept


def train(model, **options):
    CALLS.append(model)
    return minimise(model, lambda _: model.weight.square().sum(), 7, 0.1, "squares", **options)


class Layer(nn.Linear):
    pass


def another_layer():
    """Return a class as it is written anew in a notebook's cell, under the same name."""

    class Layer(nn.Linear):
        pass

    return Layer


@pytest.fixture(autouse=True)
def _forget():
    CALLS.clear()
    for make in (Layer, Dropping):
        training._kept_by(make).clear()


def test_the_same_model_is_trained_once_and_any_other_anew():
    first = trained(Layer, train, 3, 2)
    assert trained(Layer, train, 3, 2) is first
    assert len(CALLS) == 1
    others = [
        trained(Layer, train, 2, 3),
        trained(Layer, train, 3, 2, seed=1),
        trained(Layer, train, 3, 2, every=2),
        trained(another_layer(), train, 3, 2),
        trained(another_layer(), train, 3, 2),
    ]
    assert len(CALLS) == 6
    assert len({id(learned.model) for learned in [first, *others]}) == 6


def test_a_class_or_a_training_of_a_cell_is_let_go_once_it_is_written_anew():
    def another_train():
        return lambda model, **options: train(model, **options)

    alive = WeakSet()
    for make, learn in [(another_layer(), train), (Layer, another_train())] * 2:
        learned = trained(make, learn, 3, 2)
        assert trained(make, learn, 3, 2) is learned
        alive |= {learned.model, make if make is not Layer else learn}
    assert len(CALLS) == 2  # of either, the second time asks for what is kept
    del make, learn, learned
    CALLS.clear()
    gc.collect()
    assert not alive


class ByParent(Layer):
    pass


def test_a_class_does_not_take_the_models_of_its_parent():
    parent = trained(Layer, train, 3, 2)
    assert type(trained(ByParent, train, 3, 2).model) is ByParent
    assert trained(Layer, train, 3, 2) is parent


def test_states_are_those_before_their_batch_and_the_last_one_is_the_model(capsys):
    states, losses = learned = trained(Layer, train, 3, 2, every=3, progress=False)
    assert list(states) == [0, 3, 6, 7]
    assert len(losses) == 7
    assert learned.model is states[7]
    for done, state in states.items():
        loss = state.weight.square().sum().item()
        assert loss == pytest.approx(losses[done]) if done < 7 else loss < losses[6]
        assert not any(parameter.requires_grad for parameter in state.parameters())
    assert capsys.readouterr().out == ""
    trained(Layer, train, 3, 2, every=2)  # a bar is shown, whatever is kept
    assert "squares: 100%" in capsys.readouterr().out


def test_the_seed_is_that_of_the_first_weights_and_disturbs_no_other():
    torch.manual_seed(123)
    expected = Layer(3, 2).weight
    torch.manual_seed(1)
    following = torch.rand(3)
    torch.manual_seed(1)
    states, _ = trained(Layer, train, 3, 2, every=7, seed=123)
    assert states[0].weight.equal(expected)
    assert torch.rand(3).equal(following)


class Dropping(nn.Module):
    """A reader's class, which draws while it learns."""

    def __init__(self, d):
        super().__init__()
        self.layer = nn.Linear(d, d)

    def forward(self, x):
        return nn.functional.dropout(self.layer(x), 0.5, self.training)


def train_dropping(model, **options):
    x = torch.arange(6.0).view(2, 3) / 10  # as readings of a task, which are made before

    def draw_loss(generator):
        return (model(x) - torch.rand(2, 3, generator=generator)).square().mean()

    return minimise(model, draw_loss, 5, 0.1, "", **options)


@pytest.mark.parametrize("switch", SWITCHES)
def test_what_is_kept_learns_the_same_whatever_a_reader_has_switched(switch):
    expected = trained(Dropping, train_dropping, 3)
    training._kept_by(Dropping).clear()
    torch.manual_seed(31)
    random_numbers = torch.get_rng_state()
    with SWITCHES[switch]():
        learned = trained(Dropping, train_dropping, 3)
        assert torch.get_rng_state().equal(random_numbers)
    weight = learned.model.layer.weight
    assert learned.losses == expected.losses  # to the bit: the same steps were made
    assert weight.equal(expected.model.layer.weight)
    assert (weight.dtype, weight.device.type) == (torch.float32, "cpu")
    assert not weight.is_inference()


def test_a_run_of_the_tests_shares_a_model_only_with_its_like():
    def key(looks_ahead=0, seed=0, kind=LeakyLanguageModel, function=train, every=None):
        torch.manual_seed(seed)
        return training._key(kind(looks_ahead), function, every)

    class Own(LeakyLanguageModel):
        pass

    others = [key(looks_ahead=1), key(seed=1), key(kind=Own), key(function=minimise), key(every=1)]
    assert key() == key()
    assert len({key(), *others}) == 6


def test_what_another_process_has_trained_is_read_and_is_the_same(tmp_path, monkeypatch):
    expected = trained(Layer, train, 3, 2, every=3)
    monkeypatch.setenv(training.KEPT_IN, str(tmp_path))
    monkeypatch.setattr(train, "__module__", leaky_mask.__name__)  # as a training of the package
    for calls in (2, 2):  # the second time as another process, which has trained nothing itself
        training._kept_by(Layer).clear()
        states, losses = trained(Layer, train, 3, 2, every=3)
        assert len(CALLS) == calls
        assert losses == expected.losses
        for batches, state in expected.states.items():
            assert states[batches].weight.equal(state.weight)
            assert not states[batches].weight.requires_grad
