"""The supernet of NAS-Bench-201: shapes, what it computes, wiping."""

import pytest
import torch
from torch import nn
from torch.nn.functional import avg_pool2d, batch_norm, conv2d, relu

from xnas import (
    ConfigError,
    split_parameters,
)
from xnas.space import SPACES
from xnas.space.benchmark_supernet import BenchmarkSearchCell, BenchmarkSupernet

SPACE = SPACES["nasbench201"]


def small(space=SPACE, **arguments):
    sizes = {"num_classes": 5, "in_chans": 1, "cells": 1, "channels": 2} | arguments
    return BenchmarkSupernet(space, **sizes)


def cells_of(model):
    return [block for block in model.blocks if isinstance(block, BenchmarkSearchCell)]


class TestSupernet:
    @pytest.mark.parametrize(("space", "experts"), [(SPACE, 4), (SPACE.with_none(), 5)])
    def test_fifteen_cells_share_one_mixture_of_six_forecasters(self, space, experts):
        with torch.device("meta"):
            model = space.supernet(space, num_classes=10, in_chans=3, cells=5, channels=16)
        assert isinstance(model, BenchmarkSupernet)
        assert len(cells_of(model)) == 15
        assert len(model.blocks) == 15 + 2
        assert model.replications == {"normal": 15}
        assert model.stages("normal") == (0,) * 5 + (1,) * 5 + (2,) * 5
        weights, mixtures = split_parameters(model)
        assert [tuple(m.shape) for m in mixtures] == [(6, experts)]
        assert {k: tuple(u.shape) for k, u in model.spread().items()} == {"normal": (15, 6, experts)}
        # By hand: six convolutions of each kind in a cell, batch norms without numbers but the stem's
        # and the last.
        convolutions = 6 * (5 + 45) * (16**2 + 32**2 + 64**2)
        rest = 432 + 32 + (4608 + 9216 + 512) + (18432 + 36864 + 2048) + 128 + 650
        assert sum(p.numel() for p in weights) == convolutions + rest

    def test_mixtures_start_uniform_and_know_their_skips(self):
        model = small()
        assert torch.equal(model.mixtures["normal"].detach(), torch.full((6, 4), 0.25))
        assert model.identities("normal").tolist() == [[True, False, False, False]] * 6
        assert small(SPACE.with_none()).identities("normal").sum(0).tolist() == [0, 6, 0, 0, 0]

    def test_a_cell_computes_what_a_plain_loop_does(self):
        model = small(SPACE.with_none(), channels=3)
        cell, x = cells_of(model)[0], torch.randn(2, 3, 6, 6)
        u = torch.rand(6, 5)

        def normalized(y):  # a batch norm without scale, by its definition
            mean = y.mean((0, 2, 3), keepdim=True)
            return (y - mean) / (y.var((0, 2, 3), keepdim=True, unbiased=False) + 1e-5).sqrt()

        def edge(number, y):
            experts = cell.forecasters[number].experts
            one, three = experts["nor_conv_1x1"][1].weight, experts["nor_conv_3x3"][1].weight
            advice = [
                torch.zeros_like(y),
                y,
                normalized(conv2d(relu(y), one)),
                normalized(conv2d(relu(y), three, padding=1)),
                avg_pool2d(y, 3, 1, 1, count_include_pad=False),
            ]
            return sum(u[number, i] * advice[i] for i in range(5))

        first = edge(0, x)
        second = edge(1, x) + edge(2, first)
        third = edge(3, x) + edge(4, first) + edge(5, second)
        torch.testing.assert_close(cell(x, u), third, rtol=1e-4, atol=1e-5)

    def test_the_whole_network_is_stem_cells_reductions_and_the_mean(self):
        model = small().eval()
        x = torch.randn(2, 1, 9, 9)
        u = model.normal_mixture
        stem, norm = model.stem
        y = norm(conv2d(x, stem.weight, padding=1))
        for block in model.blocks:
            if isinstance(block, BenchmarkSearchCell):
                y = block(y, u)
            else:
                first, second = (m for m in block.convolutions if isinstance(m, nn.Conv2d))
                zero, unit = torch.zeros(len(first.weight)), torch.ones(len(first.weight))
                z = batch_norm(conv2d(relu(y), first.weight, stride=2, padding=1), zero, unit)
                z = batch_norm(conv2d(relu(z), second.weight, padding=1), zero, unit)
                side = avg_pool2d(y, 2, 2, ceil_mode=True)
                y = z + conv2d(side, block.shortcut[1].weight)
        logits = model.classifier(relu(model.last[0](y)).mean((2, 3)))
        torch.testing.assert_close(model(x), logits)

    def test_batch_norms_follow_convolutions_alone_and_have_no_scale(self):
        model = small(SPACE.with_none())
        for cell in cells_of(model):
            for forecaster in cell.forecasters:
                assert isinstance(forecaster.experts["skip_connect"], nn.Identity)
                for name, expert in forecaster.experts.items():
                    norms = [m for m in expert.modules() if isinstance(m, nn.BatchNorm2d)]
                    assert len(norms) == ("conv" in name)
                    assert not any(norm.affine for norm in norms)
        between = [b for b in model.blocks if not isinstance(b, BenchmarkSearchCell)]
        norms = [m for b in between for m in b.modules() if isinstance(m, nn.BatchNorm2d)]
        assert len(norms) == 4
        assert not any(norm.affine for norm in norms)
        assert model.stem[1].affine
        assert model.last[0].affine

    @pytest.mark.parametrize("size", [(8, 8), (9, 9), (15, 12), (31, 17)])
    @pytest.mark.parametrize(("channels", "classes"), [(1, 2), (3, 10)])
    def test_any_image_from_8_pixels_up(self, size, channels, classes):
        model = small(num_classes=classes, in_chans=channels)
        assert model(torch.randn(2, channels, *size)).shape == (2, classes)

    def test_spread_mixtures_predict_what_the_shared_one_does_and_their_gradients_add_up(self):
        model = small().eval()
        x = torch.randn(2, 1, 8, 8)
        leaf = model.spread()["normal"].clone().requires_grad_()
        shared, spread = model(x), model(x, {"normal": leaf})
        torch.testing.assert_close(shared, spread)
        shared.square().sum().backward()
        (gradient,) = torch.autograd.grad(spread.square().sum(), [leaf])
        assert (gradient.abs().sum((1, 2)) > 0).all()
        torch.testing.assert_close(model.normal_mixture.grad, gradient.sum(0), rtol=1e-4, atol=1e-6)

    def test_gradients_of_the_mixture_are_those_of_finite_differences(self):
        model = small().eval().double()
        x = torch.randn(1, 1, 8, 8, dtype=torch.float64)
        u = model.spread()["normal"].double().clone().requires_grad_()
        assert torch.autograd.gradcheck(lambda v: model(x, {"normal": v}), [u], fast_mode=True)

    def test_a_mixture_per_sample_weighs_each_sample_by_its_own(self):
        model = small().eval()
        x = torch.randn(3, 1, 8, 8)
        mixtures = {"normal": model.spread()["normal"][:, None].expand(-1, 3, -1, -1).clone()}
        torch.testing.assert_close(model(x, mixtures), model(x))
        mixtures["normal"][:, 1] = torch.eye(4)[2]
        changed = model(x, mixtures)
        torch.testing.assert_close(changed[[0, 2]], model(x)[[0, 2]])
        assert not torch.allclose(changed[1], model(x)[1])

    def test_wiping_deletes_an_expert_from_every_cell(self):
        model = small(cells=2)
        before = sum(p.numel() for p in model.parameters())
        model.wipe("normal", 3, [2])
        for cell in cells_of(model):
            assert list(cell.forecasters[3].experts) == ["skip_connect", "nor_conv_1x1", "avg_pool_3x3"]
            assert len(cell.forecasters[2].experts) == 4
        after = sum(p.numel() for p in model.parameters())
        # Two cells a stage, of 2, 4 and 8 channels.
        assert before - after == 2 * 9 * (2**2 + 4**2 + 8**2)
        assert model(torch.randn(2, 1, 8, 8)).isfinite().all()

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            ({"num_classes": 1}, "num_classes must be at least 2, got 1"),
            ({"in_chans": 0}, "in_chans must be at least 1, got 0"),
            ({"cells": 0}, "cells must be at least 1, got 0"),
            ({"channels": 0}, "channels must be at least 1, got 0"),
        ],
    )
    def test_sizes_that_no_network_has_are_refused(self, arguments, words):
        with pytest.raises(ConfigError, match=words):
            small(**arguments)
