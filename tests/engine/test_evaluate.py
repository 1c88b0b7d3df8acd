"""Evaluation: accuracies, confusion and calibration of answers that are known."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from xnas.engine.evaluate import CALIBRATION_BINS, evaluate, together
from xnas.errors import ConfigError

CLOSE = 1e-12  # sums of a few 64-bit numbers


class Echo(nn.Module):
    """A network whose images are its answers."""

    def forward(self, x):
        return x


def names(count):
    return tuple(f"c{k}" for k in range(count))


def logits(*probabilities):
    return torch.tensor(probabilities, dtype=torch.float64).log()


def test_answers_by_hand():
    answers = logits([0.9, 0.1], [0.6, 0.4], [0.3, 0.7], [0.8, 0.2])
    labels = torch.tensor([0, 0, 1, 1])
    found = evaluate(Echo(), [(answers[:3], labels[:3]), (answers[3:], labels[3:])], ("a", "b"))
    assert found.images == 4
    assert found.top1 == 0.75
    assert found.top5 is None
    assert found.counts == (2, 2)
    assert found.accuracies == (1.0, 0.5)
    assert found.confusion == ((2, 0), (1, 1))
    by_hand = -(math.log(0.9) + math.log(0.6) + math.log(0.7) + math.log(0.2)) / 4
    assert found.loss == pytest.approx(by_hand, abs=CLOSE)
    # Four answers in four bins: |1 - 0.9|, |1 - 0.6|, |1 - 0.7|, |0 - 0.8|, a quarter each.
    assert found.calibration_error == pytest.approx((0.1 + 0.4 + 0.3 + 0.8) / 4, abs=CLOSE)


def test_answers_of_one_bin_are_judged_together():
    # All at 0.75, three of four right: calibrated. Each alone would be 0.25 or 0.75 off.
    answers = logits(*[[0.75, 0.25]] * 4)
    found = evaluate(Echo(), [(answers, torch.tensor([0, 0, 0, 1]))], ("a", "b"))
    assert found.calibration_error == pytest.approx(0, abs=CLOSE)
    (filled,) = [b for b in found.calibration if b.images]
    assert (filled.lower, filled.upper) == (11 / 15, 12 / 15)  # 0.75 lies between
    assert (filled.images, filled.accuracy) == (4, 0.75)


def test_certainty_is_in_the_last_bin():
    found = evaluate(Echo(), [(torch.tensor([[1000.0, 0.0]]), torch.tensor([1]))], ("a", "b"))
    assert found.calibration[-1].images == 1
    assert found.calibration_error == 1.0


def test_top_5_counts_classes_among_the_five_most_probable():
    answers = torch.arange(6.0).repeat(6, 1)  # class 5 first, class 0 last
    found = evaluate(Echo(), [(answers, torch.arange(6))], names(6))
    assert (found.top1, found.top5) == (1 / 6, 5 / 6)


def test_a_class_without_images_has_no_accuracy():
    found = evaluate(Echo(), [(logits([0.8, 0.1, 0.1]), torch.tensor([0]))], names(3))
    assert found.accuracies == (1.0, None, None)


@given(st.integers(2, 8), st.integers(1, 40), st.integers(1, 17), st.integers(0, 1000))
def test_how_images_are_cut_into_batches_decides_nothing(classes, count, batch, seed):
    generator = torch.Generator().manual_seed(seed)
    answers = torch.randn(count, classes, generator=generator)
    labels = torch.randint(classes, (count,), generator=generator)
    whole = evaluate(Echo(), [(answers, labels)], names(classes))
    parts = evaluate(Echo(), zip(answers.split(batch), labels.split(batch), strict=True), names(classes))
    assert parts.confusion == whole.confusion
    assert parts.top5 == whole.top5
    assert parts.loss == pytest.approx(whole.loss, abs=1e-9)
    assert parts.calibration_error == pytest.approx(whole.calibration_error, abs=1e-9)
    assert sum(b.images for b in whole.calibration) == count == sum(map(sum, whole.confusion))
    assert len(whole.calibration) == CALIBRATION_BINS
    # No bin can be further off than 1, nor the mean than the mean confidence is from the accuracy.
    mean = answers.double().softmax(-1).max(-1).values.mean()
    assert abs(float(mean) - whole.top1) - 1e-9 <= whole.calibration_error <= 1


@pytest.mark.parametrize(("device", "sizes"), [("cpu", [3] * 18 + [2]), ("cuda", [24, 24, 8])])
def test_a_gpu_answers_several_batches_together(device, sizes):
    images, labels = torch.randn(56, 2), torch.arange(56)
    batches = list(together(zip(images.split(3), labels.split(3), strict=True), torch.device(device)))
    assert [len(batch) for batch, _ in batches] == sizes
    assert torch.equal(torch.cat([batch for batch, _ in batches]), images)
    assert torch.equal(torch.cat([batch for _, batch in batches]), labels)


def test_the_network_is_left_in_its_modes_even_by_an_error():
    model = nn.Sequential(nn.BatchNorm1d(2), nn.Dropout(0.9))
    model[0].eval()
    model[1].train()
    before = model[0].running_mean.clone()
    evaluate(model, [(torch.ones(4, 2), torch.tensor([0, 1, 0, 1]))], ("a", "b"))
    with pytest.raises(ConfigError):
        evaluate(model, [(torch.ones(4, 2), torch.tensor([0, 1, 0, 9]))], ("a", "b"))
    assert [m.training for m in model] == [False, True]
    torch.testing.assert_close(model[0].running_mean, before)


@pytest.mark.parametrize(
    ("batches", "words"),
    [
        ([], "there are no images to evaluate on"),
        ([(torch.ones(1, 3), torch.tensor([0]))], r"answers \(1, 3\) for 1 images of 2 classes"),
        ([(torch.ones(1, 2), torch.tensor([2]))], r"labels run from 2 to 2; .* must lie in 0\.\.1"),
        ([(torch.tensor([[0, torch.nan]]), torch.tensor([0]))], "answers are not finite numbers"),
    ],
)
def test_what_cannot_be_evaluated_is_named(batches, words):
    with pytest.raises(ConfigError, match=words):
        evaluate(Echo(), batches, ("a", "b"))
