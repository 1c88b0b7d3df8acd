"""Losses and right answers of labels, alone and two by shares."""

import pytest
import torch
from torch.nn.functional import cross_entropy, one_hot

from xnas.engine.targets import Targets

LOGITS = torch.randn(6, 3, generator=torch.Generator().manual_seed(0))
LABELS, OTHERS = torch.tensor([0, 1, 2, 0, 1, 2]), torch.tensor([2, 1, 0, 0, 2, 1])
SHARE = torch.tensor(0.7)
MIXED = Targets(LABELS, (OTHERS, SHARE))


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_labels_alone_are_plain_cross_entropy(smoothing):
    expected = cross_entropy(LOGITS, LABELS, label_smoothing=smoothing)
    assert torch.equal(Targets(LABELS).loss(LOGITS, label_smoothing=smoothing), expected)
    assert int(Targets(LABELS).right(LOGITS)) == int((LOGITS.argmax(-1) == LABELS).sum())


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_two_labels_are_the_cross_entropy_of_their_mixed_distribution(smoothing):
    """Cross-entropy is linear in the target: mixing losses and mixing targets are the same."""
    target = 0.7 * one_hot(LABELS, 3) + 0.3 * one_hot(OTHERS, 3)
    expected = cross_entropy(LOGITS, target, label_smoothing=smoothing)
    assert torch.allclose(MIXED.loss(LOGITS, label_smoothing=smoothing), expected)


def test_an_answer_counts_by_the_share_of_its_label():
    answers = torch.tensor([0, 1, 0, 1, 2, 0])  # own, both, partner's, none, partner's, none
    right = MIXED.right(one_hot(answers, 3).float())
    assert float(right) == pytest.approx(0.7 + 1 + 0.3 + 0 + 0.3 + 0)


def test_parts_have_the_targets_of_their_images():
    parts = list(MIXED.chunk(2))
    assert torch.equal(torch.cat([p.labels for p in parts]), LABELS)
    assert torch.equal(torch.cat([p.partners[0] for p in parts]), OTHERS)
    assert all(p.partners[1] is SHARE for p in parts)
    assert [p.partners for p in Targets(LABELS).chunk(3)] == [None] * 3
