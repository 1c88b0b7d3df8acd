"""Surrogates of PNAS: what they start from, what they learn, how far that reaches."""

from random import Random

import pytest
import torch

from xnas.samplers.block_surrogate import INITIAL_BIAS, SURROGATES, BlockEnsemble
from xnas.samplers.growth import GROWTHS
from xnas.samplers.ranks import mean_ranks

GROWTH = GROWTHS["nasnet"]
CONVOLUTION = GROWTH.operations.index("sep_conv_3x3")


def ensemble(kind="mlp", **changes):
    given = {"members": 5, "bias": 0.0, "seed": 0} | changes
    return BlockEnsemble(kind, GROWTH.tables, GROWTH.columns, **given)


def cells(level, number, draw):
    """Random cells (number, level, 4), with the number of 3x3 convolutions of each."""
    found = torch.tensor(
        [[draw.choice(GROWTH.blocks(b)) for b in range(1, level + 1)] for _ in range(number)]
    )
    return found, (found[..., 1::2] == CONVOLUTION).sum((1, 2)).double()


@pytest.mark.parametrize("kind", sorted(SURROGATES))
def test_an_ensemble_has_one_prediction_per_member_which_starts_near_the_bias(kind):
    predicted = ensemble(kind, bias=INITIAL_BIAS).predict(cells(3, 7, Random(0))[0])
    assert predicted.shape == (5, 7)
    assert (predicted.std(0) > 0).all()
    assert predicted.mean().item() == pytest.approx(0.858, abs=0.03)  # the sigmoid of 1.8


def test_the_order_of_blocks_is_nothing_to_the_mean_and_much_to_the_sequence():
    some = cells(2, 5, Random(1))[0]
    for kind in SURROGATES:
        same = torch.allclose(ensemble(kind).predict(some), ensemble(kind).predict(some.flip(1)))
        assert same == (kind == "mlp")


def test_members_see_four_fifths_each_and_leave_out_different_cells():
    some, _ = cells(1, 5, Random(2))
    start, seen = ensemble(), []
    for number in range(5):  # with one value changed, only members that do not see it stay the same
        values = torch.full((5,), 0.5, dtype=torch.float64)
        fits = []
        for value in (0.1, 0.9):
            values[number] = value
            fitted = ensemble()
            fitted.fit(some, values, learning_rate=0.01, steps=1, seed=4)
            fits.append(fitted.predict(some))
        seen.append((fits[0] != fits[1]).any(1).tolist())
    assert [sum(of_cell) for of_cell in seen] == [4] * 5
    assert [sum(member) for member in zip(*seen, strict=True)] == [4] * 5
    assert torch.equal(start.predict(some), ensemble().predict(some))


def test_a_fit_of_few_cells_or_of_equal_values_ends():
    for number in (1, 2, 6):
        some, _ = cells(1, number, Random(3))
        fitted = ensemble()
        fitted.fit(some, torch.full((number,), 0.5).double(), learning_rate=0.01, steps=5, seed=0)
        assert fitted.predict(some).isfinite().all()


@pytest.mark.parametrize("kind", [pytest.param("lstm", marks=pytest.mark.slow), "mlp"])
def test_what_short_cells_teach_ranks_longer_ones(kind):
    """Where the value is the number of 3x3 convolutions, cells of one more block are ranked by it."""
    draw = Random(4)
    short, values = cells(2, 200, draw)
    fitted = ensemble(kind)
    targets = torch.from_numpy((mean_ranks(values.tolist()) + 0.5) / len(values))
    fitted.fit(short, targets, learning_rate=0.01, steps=150, seed=0)
    longer, counts = cells(3, 600, draw)
    predicted = fitted.predict(longer).mean(0)
    means = [predicted[counts == count].mean().item() for count in range(4)]
    assert means == sorted(means)
    # Predictions cannot tie where counts do, so this is the correlation that ties allow.
    ideal = _correlation(counts + 1e-3 * torch.rand(600, generator=torch.Generator()), counts)
    assert _correlation(predicted, counts) == pytest.approx(ideal, abs=0.05)


def _correlation(one, other):
    ranks = torch.tensor([mean_ranks(v.tolist()).tolist() for v in (one, other)])
    return torch.corrcoef(ranks)[0, 1].item()
