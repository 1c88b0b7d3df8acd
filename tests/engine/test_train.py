"""The training step: plain descent, and every way of executing it the same."""

import copy
from dataclasses import replace

import pytest
import torch
from torch.nn.functional import cross_entropy

from xnas import ConfigError, RoundError, Wiring, create_model
from xnas.data import BatchSettings, BatchSource, Crop
from xnas.data.mixup import Mixup
from xnas.engine.schedules import PowerCosine
from xnas.engine.train import Optimization, Training, TrainSettings, captured_step, train_step
from xnas.nn.operations import fuse


def made(device="cpu", channels_last=False, fused=False, settings=None, mixup=None, **network):
    """A training of a small network on random images with a pattern to learn."""
    torch.manual_seed(0)
    sizes = {"cell": "xnas", "channels": 4, "cells": 3, "num_classes": 3}
    model = create_model(**sizes | network).to(device)
    if channels_last:
        model = model.to(memory_format=torch.channels_last)
    fuse(model, on=fused)
    generator = torch.Generator().manual_seed(1)
    labels = torch.arange(48) % 3
    images = torch.randint(0, 40, (48, 3, 8, 8), generator=generator).byte()
    images[torch.arange(48), labels] += 150
    batches = BatchSource(
        images.to(device),
        labels,
        torch.arange(48),
        BatchSettings(
            batch_size=12, mean=(0.3,) * 3, std=(0.25,) * 3, seed=2, name="training", augment=Crop(1)
        ),
    )
    numbers = {"epochs": 3, "steps_per_epoch": 4, "schedule": PowerCosine(top=0.1, epochs=3)}
    given = settings or {}
    numbers |= {name: value for name, value in given.items() if name in {"accumulate", "autocast"}}
    others = {name: value for name, value in given.items() if name not in numbers}
    mixing = None if mixup is None else Mixup(mixup, batch_size=12, seed=4, device=device)
    settings = TrainSettings(**numbers, optimization=Optimization(**others))
    return Training(model, batches, settings, mixing=mixing)


def play(training, epochs=3, step=train_step):
    losses = []
    for _ in range(epochs):
        training.begin_epoch()
        for _ in range(training.settings.steps_per_epoch):
            step(training)
        losses.append(training.end_epoch())
    return losses


def weights(training):
    return {name: tensor.clone() for name, tensor in training.model.state_dict().items()}


def same(one, other, **tolerance):
    assert one.keys() == other.keys()
    for name in one:
        if tolerance:
            assert torch.allclose(one[name].float(), other[name].float(), **tolerance), name
        else:
            assert torch.equal(one[name], other[name]), name


def test_a_step_is_descent_on_the_smoothed_loss_with_the_tower_beside_it():
    """Written out with an optimizer of its own, a plain rate and no helper of the engine."""
    settings = {
        "label_smoothing": 0.1,
        "auxiliary_weight": 0.4,
        "gradient_clip": 0.5,
        "weight_decay": 0.01,
    }
    training = made(settings=settings, auxiliary=True)
    model = copy.deepcopy(training.model)
    training.begin_epoch()
    train_step(training)
    images, labels = training.batch
    descend = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.01)
    logits, extra = model.forward_with_auxiliary(images)
    loss = cross_entropy(logits, labels, label_smoothing=0.1)
    (loss + 0.4 * cross_entropy(extra, labels, label_smoothing=0.1)).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
    descend.step()
    same(weights(training), model.state_dict(), atol=1e-6)
    assert float(training.tally[0]) == pytest.approx(12 * loss.item(), rel=1e-6)
    assert float(training.tally[2]) == 12


@pytest.mark.parametrize("parts", [1, 3])
def test_a_step_with_mixup_descends_both_losses_by_their_shares(parts):
    """Written out for the second step, batch by batch: the shares and partners are the mixup's own."""
    settings = {"label_smoothing": 0.1, "auxiliary_weight": 0.4, "nesterov": False, "accumulate": parts}
    training, twin = made(settings=settings, mixup=4, auxiliary=True), made()
    training.begin_epoch()
    twin.begin_epoch()
    train_step(training)
    model = copy.deepcopy(training.model)
    states = [training.optimizer.state[weight] for weight in training.model.parameters()]
    momenta = [state["momentum_buffer"].clone() for state in states]
    before = training.tally.clone()
    train_step(training)

    twin.batches.fill(*twin.batch)
    twin.batches.fill(*twin.batch)  # the second batch, as it was before it was mixed
    images, labels = twin.batch
    lam, order = training.mixing.shares[1].item(), training.mixing.partners[1]
    assert 0.1 < lam < 0.9
    mixed = lam * images + (1 - lam) * images[order]
    total, right = 0.0, 0.0
    for x, a, b in zip(mixed.chunk(parts), labels.chunk(parts), labels[order].chunk(parts), strict=True):
        logits, extra = model.forward_with_auxiliary(x)
        loss, beside = (
            lam * cross_entropy(answer, a, label_smoothing=0.1)
            + (1 - lam) * cross_entropy(answer, b, label_smoothing=0.1)
            for answer in (logits, extra)
        )
        ((loss + 0.4 * beside) / parts).backward()
        total += len(x) * loss.item()
        right += (lam * (logits.argmax(-1) == a) + (1 - lam) * (logits.argmax(-1) == b)).sum().item()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 5)
    with torch.no_grad():
        for weight, momentum in zip(model.parameters(), momenta, strict=True):
            weight.sub_(0.1 * (0.9 * momentum + weight.grad + 3e-4 * weight))
    same(weights(training), model.state_dict(), atol=1e-5)
    gained = (training.tally - before).tolist()
    assert gained == pytest.approx([total, right, 12], rel=1e-5)


def test_mixup_learns_and_moves_no_other_randomness():
    plain, mixed = made(), made(mixup=0.2)
    losses = play(mixed, epochs=3)
    play(plain, epochs=3)
    assert losses[-1][0] < losses[0][0]
    assert torch.equal(plain.batches.order, mixed.batches.order)
    assert torch.equal(plain.batches.generator.get_state(), mixed.batches.generator.get_state())
    assert plain.state_dict().keys() == mixed.state_dict().keys()


def test_training_learns():
    losses = play(made())
    assert losses[-1][0] < losses[0][0]
    assert losses[-1][1] > 0.6


def test_a_rate_by_step_follows_the_schedule_between_epochs():
    training = made(settings={"rate_by_step": True})
    seen = []
    for _ in range(2):
        training.begin_epoch()
        for _ in range(4):
            train_step(training)
            seen.append(float(training.rate))
        training.end_epoch()
    schedule = training.settings.schedule
    assert seen == pytest.approx([schedule.rate(step / 4) for step in range(8)])


def test_drop_path_rises_from_epoch_to_epoch():
    training = made(settings={"drop_path_rate": 0.3}, drop_path_rate=0.3)
    seen = []
    for _ in range(3):
        training.begin_epoch()
        seen.append(float(training.model.drop_path.rate))
        play_one = training.settings.steps_per_epoch
        for _ in range(play_one):
            train_step(training)
        training.end_epoch()
    assert seen == pytest.approx([0, 0.1, 0.2])


def test_parts_of_a_batch_add_up_where_batch_statistics_play_no_part():
    whole, parts = made(), made(settings={"accumulate": 3})
    for training in (whole, parts):
        training.begin_epoch()
        training.model.eval()  # statistics frozen
        train_step(training)
    same(weights(whole), weights(parts), atol=1e-6)
    assert torch.allclose(whole.tally, parts.tally)


def test_the_average_follows_the_weights_and_can_be_swapped_in():
    training = made(settings={"average": 0.5})
    name = "classifier.weight"
    mean = training.model.classifier.weight.detach().clone()
    training.begin_epoch()
    for _ in range(3):
        train_step(training)
        mean = 0.5 * mean + 0.5 * training.model.classifier.weight.detach()
    assert torch.allclose(training.average.state_dict()[name], mean, atol=1e-6)
    last = weights(training)
    training.average.swap()
    assert torch.allclose(training.model.classifier.weight, mean, atol=1e-6)
    training.average.swap()
    same(weights(training), last)


def test_the_model_has_its_average_for_a_while_and_then_the_very_weights_again():
    training = made(settings={"average": 0.5})
    training.begin_epoch()
    train_step(training)
    live, mean = weights(training), copy.deepcopy(training.average.state_dict())
    assert not torch.equal(live["classifier.weight"], mean["classifier.weight"])
    with training.averaged():
        same({name: training.model.state_dict()[name] for name in mean}, mean)
    same(weights(training), live)
    same(training.average.state_dict(), mean)


@pytest.mark.parametrize(
    ("at", "fused", "mixup"),
    [
        ((1, 2), False, None),
        ((1, 0), True, None),
        ((1, 2), True, 0.4),
        ((2, 3), True, 0.4),
    ],
)
def test_a_training_goes_on_where_it_stood_bit_for_bit(at, fused, mixup):
    options = {
        "fused": fused,
        "mixup": mixup,
        "settings": {"average": 0.9, "drop_path_rate": 0.2},
        "drop_path_rate": 0.2,
    }
    whole = made(**options)
    torch.manual_seed(5)
    play(whole)

    first = made(**options)
    torch.manual_seed(5)
    epoch, step = at
    play(first, epochs=epoch)
    first.begin_epoch()
    for _ in range(step):
        train_step(first)
    state = copy.deepcopy(first.state_dict())

    torch.manual_seed(99)
    second = made(**options)
    second.load_state_dict(state)
    while second.epoch < 3:
        if second.step_in_epoch == 0:
            second.begin_epoch()
        while second.step_in_epoch < 4:
            train_step(second)
        second.end_epoch()
    same(weights(second), weights(whole))
    same(second.average.state_dict(), whole.average.state_dict())
    assert torch.equal(second.tally, whole.tally)


def test_fused_operations_train_alike_with_mixup():
    plain, fused = made(mixup=0.4), made(fused=True, mixup=0.4)
    losses = [play(training, epochs=1) for training in (plain, fused)]
    same(weights(plain), weights(fused), atol=1e-3)
    assert losses[0][0] == pytest.approx(losses[1][0], rel=1e-3)


def test_momenta_that_lie_otherwise_in_memory_are_taken_over():
    first, second = made(), made(fused=True)
    play(first, epochs=1)
    second.load_state_dict(copy.deepcopy(first.state_dict()))
    for training in (first, second):
        play(training, epochs=1)
    same(weights(first), weights(second), atol=1e-3)


def test_a_loss_that_is_no_number_stops_the_training_and_says_where():
    training = made()
    training.begin_epoch()
    training.model.classifier.weight.data.fill_(float("nan"))
    train_step(training)
    with pytest.raises(RoundError, match=r"loss is nan in epoch 1; use a smaller learning rate") as told:
        training.end_epoch()
    assert "--precision" not in str(told.value)
    training.settings = replace(training.settings, autocast=True)
    with pytest.raises(RoundError, match=r", --precision fp32$"):
        training.end_epoch()
    assert training.epoch == 0


def test_channels_last_is_the_same_training():
    plain, fast = made(), made(channels_last=True)
    assert fast.batch[0].is_contiguous(memory_format=torch.channels_last)
    play(plain, epochs=1)
    play(fast, epochs=1)
    same(weights(plain), weights(fast), atol=1e-4)


def test_a_network_without_a_tower_cannot_be_trained_with_one():
    with pytest.raises(ConfigError, match="no auxiliary tower"):
        made().model.forward_with_auxiliary(torch.zeros(1, 3, 8, 8))


needs_gpu = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]


class TestCaptured:
    """On a GPU: a captured step replays what plain steps compute."""

    pytestmark = needs_gpu

    @pytest.mark.parametrize("mixup", [None, 0.4])
    @pytest.mark.parametrize("autocast", [False, True])
    def test_captured_steps_are_the_plain_ones(self, autocast, mixup):
        options = {
            "mixup": mixup,
            "settings": {"average": 0.9, "auxiliary_weight": 0.4, "autocast": autocast},
            "auxiliary": True,
            "channels_last": True,
        }
        plain, fast = made("cuda", **options), made("cuda", **options)
        plain_losses = play(plain)
        fast.begin_epoch()
        before = weights(fast)
        replay = captured_step(fast)
        same(weights(fast), before)  # capturing leaves everything as it was
        losses = play(fast, step=lambda _: replay())
        tolerance = 3e-2 if autocast else 1e-3
        same(weights(plain), weights(fast), atol=tolerance, rtol=tolerance)
        assert losses[-1][0] == pytest.approx(plain_losses[-1][0], rel=0.05)

    def test_rates_reach_a_captured_step(self):
        training = made("cuda", settings={"weight_decay": 0.0})
        training.begin_epoch()
        replay = captured_step(training)
        before = weights(training)
        training.rate.zero_()
        replay()
        for name, tensor in weights(training).items():
            if "running" not in name and "num_batches" not in name:
                assert torch.equal(tensor, before[name]), name

    def test_a_captured_step_mixes_by_its_position_also_after_resuming(self):
        whole, stopped = (made("cuda", mixup=0.4) for _ in range(2))
        for training, steps in ((whole, 4), (stopped, 2)):
            training.begin_epoch()
            replay = captured_step(training)
            for _ in range(steps):
                replay()
            assert int(training.mixing.position) == steps
        resumed = made("cuda", mixup=0.4)
        resumed.load_state_dict(copy.deepcopy(stopped.state_dict()))
        replay = captured_step(resumed)
        for _ in range(2):
            replay()
        assert torch.equal(resumed.mixing.shares, whole.mixing.shares)
        assert torch.equal(resumed.batch[0], whole.batch[0])
        same(weights(resumed), weights(whole), atol=1e-4)

    @pytest.mark.parametrize("cell", ["xnas", Wiring.random("ws", 4, 0.75, nodes=(8, 8, 8))])
    def test_edges_are_dropped_anew_in_every_replay(self, cell):
        training = made("cuda", settings={"drop_path_rate": 0.9}, drop_path_rate=0.9, cell=cell)
        training.begin_epoch()
        replay = captured_step(training)
        training.model.drop_path.set_rate(0.5)
        training.rate.zero_()
        seen = set()
        for _ in range(3):
            training.tally.zero_()
            training.batches.position.zero_()
            replay()
            seen.add(float(training.tally[0]))
        assert len(seen) == 3
