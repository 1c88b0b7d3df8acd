import copy

import pytest
import torch

from xnas import ConfigError, split_parameters
from xnas.space import SPACES, CellKind
from xnas.space.layout import cell_kinds
from xnas.space.supernet import Supernet

DARTS = SPACES["darts"]


def small(**arguments):
    return Supernet(DARTS, **{"num_classes": 5, "in_chans": 1, "cells": 3, "channels": 4} | arguments)


def test_the_paper_s_supernet_has_the_known_number_of_weights():
    # 8 cells, 16 channels, 10 classes: 1,930,618 with batch norms without scale, counted independently.
    for space in (DARTS, DARTS.with_none()):
        weights, mixtures = split_parameters(Supernet(space, num_classes=10))
        assert sum(p.numel() for p in weights) == 1_930_618
        assert [tuple(m.shape) for m in mixtures] == [(14, len(space.operations))] * 2


def test_reductions_stand_at_one_and_two_thirds():
    def reductions(cells):
        return [i for i, kind in enumerate(cell_kinds(cells)) if kind is CellKind.REDUCTION]

    assert [reductions(n) for n in (3, 8, 14, 20)] == [[1, 2], [2, 5], [4, 9], [6, 13]]
    assert Supernet(DARTS, num_classes=10, channels=2).replications == {"normal": 6, "reduction": 2}


@pytest.mark.parametrize("size", [(8, 8), (9, 9), (15, 12), (32, 32)])
@pytest.mark.parametrize(("channels", "classes"), [(1, 2), (3, 10), (4, 7)])
def test_any_image_from_8_pixels_up_any_channels_any_classes(size, channels, classes):
    model = Supernet(DARTS, num_classes=classes, in_chans=channels, cells=3, channels=2)
    assert model(torch.randn(2, channels, *size)).shape == (2, classes)
    assert model.stem[0].out_channels == 2 * min(channels, 3)


def test_cells_of_a_kind_share_one_mixture():
    model = small()
    model(torch.randn(2, 1, 8, 8)).sum().backward()
    assert model.reduction_mixture.grad.shape == (14, 7)
    assert model.reduction_mixture.grad.abs().sum() > 0
    assert model.normal_mixture.grad.abs().sum() > 0


def test_spread_mixtures_predict_what_shared_ones_do_and_their_gradients_add_up():
    model = small().eval()
    x = torch.randn(2, 1, 8, 8)
    leaves = {kind: u.clone().requires_grad_() for kind, u in model.spread().items()}
    shared, spread = model(x), model(x, leaves)
    torch.testing.assert_close(shared, spread)
    shared.square().sum().backward()
    gradients = torch.autograd.grad(spread.square().sum(), list(leaves.values()))
    for mixture, gradient in zip(model.mixtures.values(), gradients, strict=True):
        torch.testing.assert_close(mixture.grad, gradient.sum(0), rtol=1e-4, atol=1e-6)


def test_a_mixture_per_sample_weighs_each_sample_by_its_own():
    model = small().eval()
    x = torch.randn(3, 1, 8, 8)
    samples = {k: u[:, None].expand(-1, 3, -1, -1).clone() for k, u in model.spread().items()}
    torch.testing.assert_close(model(x, samples), model(x))
    samples["normal"][:, 1] = torch.eye(7)[3]
    changed = model(x, samples)
    torch.testing.assert_close(changed[[0, 2]], model(x)[[0, 2]])
    assert not torch.allclose(changed[1], model(x)[1])


def test_wiping_deletes_an_expert_from_every_cell_that_shares_the_forecaster():
    model = small()
    before = sum(p.numel() for p in model.parameters())
    model.wipe("reduction", 3, [3, 5])
    for cell in model.cells:
        names = list(cell.forecasters[3].experts)
        gone = {"sep_conv_3x3", "dil_conv_3x3"} & set(names)
        assert bool(gone) is (cell.kind is CellKind.NORMAL)
    assert sum(p.numel() for p in model.parameters()) < before
    assert model(torch.randn(2, 1, 8, 8)).shape == (2, 5)


def test_deleting_experts_of_weight_zero_changes_no_prediction():
    model = small().eval()
    mixtures = model.spread()
    one = torch.zeros(14, 7).index_fill_(1, torch.tensor([2, 3]), 0.5)
    mixtures = {kind: one.expand(len(u), -1, -1) for kind, u in mixtures.items()}
    x = torch.randn(2, 1, 8, 8)
    before = model(x, mixtures)
    smaller = copy.deepcopy(model)
    for kind in model.mixtures:
        for edge in range(14):
            smaller.wipe(kind, edge, [0, 1, 4, 5, 6])
    assert torch.equal(smaller(x, mixtures), before)


def test_identities_are_the_skip_connections_of_stride_one():
    model = small()
    normal, reduction = model.identities("normal"), model.identities("reduction")
    assert normal.sum() == 14
    assert normal[:, 2].all()
    from_nodes = [source >= 2 for source, _ in DARTS.edges]
    assert reduction[:, 2].tolist() == from_nodes


def test_stages_count_the_reductions_before_a_cell():
    model = Supernet(DARTS, num_classes=10, channels=2)
    assert model.stages("normal") == (0, 0, 1, 1, 2, 2)
    assert model.stages("reduction") == (0, 1)


def test_no_batch_norm_in_a_cell_has_a_scale():
    model = small()
    scales = [m for m in model.cells.modules() if isinstance(m, torch.nn.BatchNorm2d) and m.affine]
    assert scales == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"num_classes": 1}, "num_classes must be at least 2, got 1"),
        ({"in_chans": 0}, "in_chans must be at least 1, got 0"),
        ({"cells": 2}, "cells must be at least 3, got 2"),
        ({"channels": 0}, "channels must be at least 1, got 0"),
    ],
)
def test_bad_input_is_named(arguments, words):
    with pytest.raises(ConfigError, match=words):
        small(**arguments)
