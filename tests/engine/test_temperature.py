"""The best temperature against a search over a fine grid, and what rewards at it leave out."""

import pytest
import torch
from torch.nn.functional import cross_entropy

from xnas.engine.temperature import BOUNDS, best_inverse_temperature


def batch(scale, seed=0, count=96, classes=10):
    """Logits that are right more often than not, `scale` times as confident as others."""
    draw = torch.Generator().manual_seed(seed)
    labels = torch.randint(classes, (count,), generator=draw)
    logits = torch.randn(count, classes, generator=draw, dtype=torch.float64)
    logits[torch.arange(count), labels] += 1.5
    return scale * logits, labels


@pytest.mark.parametrize("scale", [0.2, 0.7, 1.0, 3.0, 10.0])
def test_it_is_the_minimum_over_a_grid(scale):
    logits, labels = batch(scale)
    found = float(best_inverse_temperature(logits, labels))
    grid = torch.logspace(-4, 4, 8001, base=2, dtype=torch.float64)
    losses = torch.stack([cross_entropy(b * logits, labels) for b in grid])
    assert found == pytest.approx(float(grid[losses.argmin()]), rel=2e-3)
    assert cross_entropy(found * logits, labels) <= losses.min() + 1e-9


def test_confidence_changes_nothing():
    logits, labels = batch(1.0)
    assert float(best_inverse_temperature(4 * logits, labels)) == pytest.approx(
        float(best_inverse_temperature(logits, labels)) / 4, rel=1e-6
    )


def test_batches_without_an_optimum_stay_within_bounds():
    labels = torch.arange(8) % 4
    right = torch.nn.functional.one_hot(labels, 4).float()
    assert 2 < float(best_inverse_temperature(right, labels)) <= BOUNDS[1]
    assert float(best_inverse_temperature(-right, labels)) == BOUNDS[0]
    assert float(best_inverse_temperature(torch.zeros(8, 4), labels)) == 1.0


def test_at_the_best_temperature_scaling_all_logits_earns_nothing():
    logits, labels = batch(3.0)
    factor = torch.ones((), dtype=torch.float64, requires_grad=True)
    inverse = best_inverse_temperature(logits, labels)
    (paid,) = torch.autograd.grad(cross_entropy(inverse * factor * logits, labels), factor)
    (plain,) = torch.autograd.grad(cross_entropy(factor * logits, labels), factor)
    assert abs(paid) < 1e-6
    assert plain > 0.5  # without it, less confidence pays


def test_logits_of_low_precision_do_not_round_the_temperature():
    generator = torch.Generator().manual_seed(5)
    logits = (3 * torch.randn(64, 10, generator=generator)).bfloat16()
    labels = torch.randint(10, (64,), generator=generator)
    found = best_inverse_temperature(logits, labels)
    assert found.dtype == torch.float32
    assert torch.equal(found, best_inverse_temperature(logits.float(), labels))
