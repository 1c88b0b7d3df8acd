"""The network of a NAS-Bench-201 cell: what it computes, its size, what it refuses."""

import random
from pathlib import Path

import pytest
import torch
from nasbench201 import all_cells, arch, parameters

from xnas import (
    ConfigError,
    Genotype,
    GenotypeError,
    count_macs,
    count_parameters,
    create_model,
)
from xnas.space import SPACES
from xnas.space.benchmark_network import benchmark_parameters
from xnas.space.benchmark_supernet import BenchmarkSearchCell, BenchmarkSupernet

SPACE = SPACES["nasbench201"]


SAMPLE = Path(__file__).parents[1] / "samples" / "genotype-nasbench201-v1.json"


SAMPLE_ARCH = "|nor_conv_3x3~0|+|none~0|skip_connect~1|+|avg_pool_3x3~0|nor_conv_1x1~1|nor_conv_3x3~2|"


SKIPS = arch(["skip_connect"] * 6)


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
        draw = random.Random(0)
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

    def test_a_malformed_string_is_reported_as_one(self):
        with pytest.raises(GenotypeError, match=r"node 1 of the architecture is '\|skip_connect~0'"):
            create_model("|skip_connect~0")
