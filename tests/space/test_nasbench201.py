"""NAS-Bench-201's space: its supernet, what a search of it may give, the benchmark's own networks."""

import json
import random
from pathlib import Path

import pytest
import torch
from nasbench201 import all_cells, arch, parameters
from torch import nn
from torch.nn.functional import avg_pool2d, batch_norm, conv2d, relu

from xnas import (
    ConfigError,
    Genotype,
    GenotypeError,
    count_macs,
    count_parameters,
    create_model,
    discretize,
    split_parameters,
)
from xnas.space import SPACES, CellKind, explain
from xnas.space.benchmark_network import benchmark_parameters
from xnas.space.benchmark_supernet import BenchmarkSearchCell, BenchmarkSupernet
from xnas.space.discretize import strongest_cell

SPACE = SPACES["nasbench201"]
SAMPLE = Path(__file__).parents[1] / "samples" / "genotype-nasbench201-v1.json"
SAMPLE_ARCH = "|nor_conv_3x3~0|+|none~0|skip_connect~1|+|avg_pool_3x3~0|nor_conv_1x1~1|nor_conv_3x3~2|"
SKIPS = arch(["skip_connect"] * 6)


def small(space=SPACE, **arguments):
    sizes = {"num_classes": 5, "in_chans": 1, "cells": 1, "channels": 2} | arguments
    return BenchmarkSupernet(space, **sizes)


def cells_of(model):
    return [block for block in model.blocks if isinstance(block, BenchmarkSearchCell)]


class TestSpace:
    def test_it_has_six_edges_and_four_operations_and_none_can_join(self):
        assert SPACE.edges == ((0, 1), (0, 2), (1, 2), (0, 3), (1, 3), (2, 3))
        assert SPACE.operations == ("skip_connect", "nor_conv_1x1", "nor_conv_3x3", "avg_pool_3x3")
        assert SPACE.with_none().operations == ("none", *SPACE.operations)
        assert SPACE.kinds == (CellKind.NORMAL,)
        assert SPACE.concat == (3,)

    def test_random_cells_are_all_those_without_none(self):
        drawn = {Genotype.random("nasbench201", seed) for seed in range(50_000)}
        assert len(drawn) == 4**6  # one is missed with a chance of 4096 (1 - 1/4096)^50000 = 0.02
        assert not any("none" in cell.arch for cell in drawn)

    def test_json_is_the_format_of_version_1(self):
        assert json.loads(Genotype.from_arch(SKIPS).to_json()) == {
            "format": "xnas-genotype",
            "version": 1,
            "space": "nasbench201",
            "arch": SKIPS,
        }

    def test_sample_of_version_1_loads_for_ever(self):
        genotype = Genotype.load(SAMPLE)
        assert genotype.arch == SAMPLE_ARCH
        assert genotype.to_json() == SAMPLE.read_text(encoding="utf8")

    def test_a_genotype_has_one_cell(self):
        cell = Genotype.load(SAMPLE).normal
        with pytest.raises(
            GenotypeError, match=r"'nasbench201' has the cells normal; .* normal, reduction"
        ):
            Genotype("nasbench201", cell, cell)
        with pytest.raises(GenotypeError, match="of the space 'nasbench201' has no reduction cell"):
            Genotype("nasbench201", cell).cell(CellKind.REDUCTION)
        darts = Genotype.random("darts", 0).normal
        with pytest.raises(
            GenotypeError, match=r"'darts' has the cells normal, reduction; .* has normal"
        ):
            Genotype("darts", darts)

    @pytest.mark.parametrize(
        ("change", "words"),
        [
            ({"arch": None}, "the architecture is None; it must read like"),
            ({"arch": "|none~0|"}, "has 3 nodes and gives the last; this one has 1"),
            ({"normal": {}}, "the genotype has the unknown key 'normal'; keys are .*arch"),
        ],
    )
    def test_faults_in_json_are_named(self, change, words):
        value = json.loads(SAMPLE.read_text(encoding="utf8")) | change
        with pytest.raises(GenotypeError, match=words):
            Genotype.from_json(json.dumps(value))

    def test_json_without_the_string_is_refused(self):
        value = json.loads(SAMPLE.read_text(encoding="utf8"))
        del value["arch"]
        with pytest.raises(GenotypeError, match="the genotype lacks 'arch'; its keys are"):
            Genotype.from_json(json.dumps(value))


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


class TestDiscretization:
    def tables(self, columns, space, dead=()):
        strengths = torch.full((6, len(space.operations)), 0.1)
        for row, column in enumerate(columns):
            strengths[row, column] = 0.5
        alive = torch.ones_like(strengths, dtype=torch.bool)
        for row, column in dead:
            alive[row, column] = False
        return {"normal": strengths}, {"normal": alive}

    def test_all_six_edges_are_kept_each_with_its_strongest_operation(self):
        strengths, alive = self.tables([0, 1, 2, 3, 0, 2], SPACE)
        operations = ["skip_connect", "nor_conv_1x1", "nor_conv_3x3", "avg_pool_3x3"]
        wanted = arch([*operations, "skip_connect", "nor_conv_3x3"])
        assert discretize(strengths, alive, SPACE).arch == wanted
        assert strongest_cell(strengths, alive, SPACE).arch == wanted
        choices = explain(strengths, alive, SPACE)
        assert [c.kept for c in choices] == [True] * 6
        assert {c.decided_by for c in choices} == {"no rival"}

    def test_none_is_never_chosen_but_stands_in_the_strongest_cell(self):
        space = SPACE.with_none()
        strengths, alive = self.tables([0, 1, 0, 2, 3, 4], space)
        strengths["normal"][0, 4] = 0.2
        rest = ["nor_conv_1x1", "nor_conv_3x3", "avg_pool_3x3"]
        found = discretize(strengths, alive, space)
        assert found.arch == arch(["avg_pool_3x3", "skip_connect", "skip_connect", *rest])
        strongest = strongest_cell(strengths, alive, space)
        assert strongest.arch == arch(["none", "skip_connect", "none", *rest])

    def test_the_strongest_cell_is_one_of_the_living(self):
        space = SPACE.with_none()
        strengths, alive = self.tables([0, 1, 2, 3, 4, 0], space, dead=[(0, 0), (5, 0), (5, 1), (5, 2)])
        found = strongest_cell(strengths, alive, space).arch
        middle = ["skip_connect", "nor_conv_1x1", "nor_conv_3x3", "avg_pool_3x3"]
        assert found == arch(["skip_connect", *middle, "nor_conv_3x3"])
        assert discretize(strengths, alive, space).arch == found

    def test_an_edge_on_which_only_none_lives_still_gets_an_operation(self):
        space = SPACE.with_none()
        strengths, alive = self.tables([0] * 6, space, dead=[(0, i) for i in range(1, 5)])
        strengths["normal"][0, 3] = 0.3
        assert discretize(strengths, alive, space).arch == arch(["nor_conv_3x3"] + ["skip_connect"] * 5)
        assert strongest_cell(strengths, alive, space).arch == arch(["none"] * 6)

    def test_a_table_for_a_cell_that_the_space_lacks_is_refused(self):
        strengths, alive = self.tables([0] * 6, SPACE)
        strengths["reduction"] = strengths["normal"]
        with pytest.raises(ConfigError, match="has a tensor for 'reduction'; kinds of cells are normal"):
            discretize(strengths, alive, SPACE)


class TestNetwork:
    def test_a_network_is_built_from_a_string_a_genotype_or_a_file(self):
        for cell in (SAMPLE_ARCH, Genotype.from_arch(SAMPLE_ARCH), SAMPLE, str(SAMPLE)):
            with torch.device("meta"):
                model = create_model(cell)
            assert model.genotype.arch == SAMPLE_ARCH
            operations = [edge.operation for node in model.genotype.normal.nodes for edge in node]
            assert count_parameters(model) == parameters(operations)

    @pytest.mark.parametrize("size", [(4, 4), (9, 7), (32, 32)])
    def test_images_of_any_size_give_logits(self, size):
        model = create_model(SAMPLE_ARCH, num_classes=7, in_chans=2, channels=3, cells=1).eval()
        assert model(torch.randn(2, 2, *size)).shape == (2, 7)
        features = model.forward_features(torch.randn(2, 2, *size))
        assert features.shape == (2, 12, *(-(-side // 4) for side in size))
        assert model.num_features == 12

    def test_images_that_are_too_small_are_refused(self):
        model = create_model(SKIPS, channels=2, cells=1)
        with pytest.raises(
            ConfigError, match=r"images of 3 x 8 pixels are too small .* they need 4 a side"
        ):
            model(torch.randn(2, 3, 3, 8))
        with pytest.raises(ConfigError, match=r"takes images .*, got .*; build it with in_chans"):
            model(torch.randn(2, 1, 8, 8))

    def test_it_computes_what_the_supernet_does_with_that_cell_alone(self):
        cell = Genotype.from_arch(SAMPLE_ARCH)
        sizes = {"num_classes": 4, "in_chans": 1, "channels": 2, "cells": 2}
        model, space = create_model(cell, **sizes).eval(), SPACE.with_none()
        parent = BenchmarkSupernet(space, **sizes).eval()
        for name in ("stem", "last", "classifier"):
            getattr(parent, name).load_state_dict(getattr(model, name).state_dict())
        columns = [space.operations.index(e.operation) for node in cell.normal.nodes for e in node]
        with torch.no_grad():
            parent.normal_mixture.copy_(torch.eye(5)[columns])
        for mine, theirs in zip(model.cells, parent.blocks, strict=True):
            if isinstance(theirs, BenchmarkSearchCell):
                for edge, forecaster, column in zip(
                    mine.edges, theirs.forecasters, columns, strict=True
                ):
                    expert = forecaster.experts[space.operations[column]]
                    expert.load_state_dict(edge.state_dict(), strict=False)  # scales are 1 at the start
            else:
                theirs.load_state_dict(mine.state_dict(), strict=False)
        x = torch.randn(2, 1, 8, 8)
        torch.testing.assert_close(model(x), parent(x))

    def test_every_cell_has_the_parameters_of_the_sum_by_hand(self):
        for operations in all_cells():
            assert benchmark_parameters(Genotype.from_arch(arch(operations))) == parameters(operations)

    def test_a_sample_of_networks_has_them_when_built(self):
        draw = random.Random(0)  # noqa: S311 - a sample
        for operations in draw.sample(all_cells(), 25):
            with torch.device("meta"):
                model = create_model(arch(operations))
            assert count_parameters(model) == parameters(operations)

    def test_a_network_of_skips_costs_its_stem_reductions_and_classifier(self):
        # 3x3 stem at 32 x 32; two 3x3 and one 1x1 convolution in each reduction, at 16 x 16 and 8 x 8.
        by_hand = 432 * 32**2 + (4608 + 9216 + 512) * 16**2 + (18432 + 36864 + 2048) * 8**2 + 640
        with torch.device("meta"):
            model = create_model(SKIPS)
        assert count_macs(model, (3, 32, 32)) == by_hand

    @pytest.mark.parametrize(
        "option",
        [
            {"auxiliary": True},
            {"drop_path_rate": 0.2},
            {"squeeze_excitation": True},
            {"stem_channels": 8},
        ],
    )
    def test_what_the_benchmark_s_networks_do_not_have_is_refused(self, option):
        (name,) = option
        with pytest.raises(ConfigError, match=f"NAS-Bench-201 has no {name} to set, got .*leave it out"):
            create_model(SAMPLE_ARCH, **option)
        with pytest.raises(ConfigError, match="cells must be at least 1, got 0"):
            create_model(SAMPLE_ARCH, cells=0)
        with pytest.raises(ConfigError, match="no network called 'imagenet'; there are: cifar"):
            create_model(SAMPLE_ARCH, network="imagenet")

    def test_a_malformed_string_is_told_as_one(self):
        with pytest.raises(GenotypeError, match=r"node 1 of the architecture is '\|skip_connect~0'"):
            create_model("|skip_connect~0")
