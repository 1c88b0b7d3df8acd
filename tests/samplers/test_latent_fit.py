"""Fits of NAO's model: it gives its pool back, and orders it."""

from random import Random

import pytest
import torch
from sampling_games import planted

from xnas.samplers.latent_fit import Fit, fit, scaled
from xnas.samplers.latent_model import LatentModel, swaps_of, tokens_of
from xnas.samplers.ranks import pairwise_accuracy
from xnas.samplers.seeded import seeded
from xnas.space import encoding_of


def fitted(space, number, settings, hidden=32):
    encoding, generator = encoding_of(space), torch.Generator().manual_seed(0)
    draw = Random(1)
    cells = torch.tensor([encoding.draw(draw) for _ in range(number)])
    values = [planted(encoding.decode(choices)) for choices in cells.tolist()]
    model = seeded(
        lambda: LatentModel(tokens_of(encoding), embedding=16, hidden=hidden), generator, bound=0.2
    )
    fit(model, cells, scaled(values), settings, swaps=swaps_of(encoding), generator=generator)
    return model, cells, values


def test_targets_are_ranks_and_equal_values_have_equal_ones():
    assert scaled([0.1, 0.9, 0.9, 0.95]).tolist() == [0.125, 0.5, 0.5, 0.875]
    assert scaled([0.5] * 4).tolist() == [0.5] * 4


def test_a_fit_reconstructs_its_pool_and_orders_it():
    model, cells, values = fitted("nasbench201", 30, Fit(epochs=120, learning_rate=0.01))
    with torch.no_grad():
        outputs = model.outputs(cells)
        # A Hamming distance of 0, also from outputs that were moved by nothing.
        assert torch.equal(model.decode(outputs), cells)
        assert torch.equal(model.decode(model.moved(outputs, 0)), cells)
        # The paper reports 78 to 80 % for cells that were held out.
        assert pairwise_accuracy(model.predicted(outputs).tolist(), values) > 0.85


@pytest.mark.parametrize("number", [1, 3])
def test_small_pools_of_a_space_with_swaps_are_fitted(number):
    model, cells, _ = fitted("nasnet", number, Fit(epochs=2), hidden=8)
    with torch.no_grad():
        assert model.predicted(model.outputs(cells)).isfinite().all()
