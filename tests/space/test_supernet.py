"""None"""

import pytest
import torch

from xnas import ConfigError, split_parameters
from xnas.space import SPACES
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


@pytest.mark.parametrize(
    ("size", "channels", "classes"),
    [((8, 8), 1, 2), ((9, 9), 3, 10), ((15, 12), 4, 7), ((32, 32), 3, 10)],
)
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


def test_a_mixture_per_sample_weighs_each_sample_by_its_own():
    model = small().eval()
    x = torch.randn(3, 1, 8, 8)
    samples = {k: u[:, None].expand(-1, 3, -1, -1).clone() for k, u in model.spread().items()}
    torch.testing.assert_close(model(x, samples), model(x))
    samples["normal"][:, 1] = torch.eye(7)[3]
    changed = model(x, samples)
    torch.testing.assert_close(changed[[0, 2]], model(x)[[0, 2]])
    assert not torch.allclose(changed[1], model(x)[1])


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


def test_an_odd_part_of_the_channels_is_even_where_it_is_halved():
    supernet = Supernet(SPACES["darts"], num_classes=2, cells=3, channels=12, partial_channels=4)
    assert supernet(torch.randn(2, 3, 8, 8)).shape == (2, 2)
