"""Networks of cells: counted to the last parameter, of any size, compiled or not the same function."""

import json
from pathlib import Path

import pytest
import torch
from torch import nn

from xnas import (
    ConfigError,
    Genotype,
    create_model,
    list_cells,
)
from xnas.nn.drop_path import DropPath
from xnas.nn.operations import FactorizedReduction
from xnas.space import CellGenotype, CellKind, Edge

ROOT = Path(__file__).parents[1]


KNOWN = json.loads((ROOT / "known_answers.json").read_text(encoding="utf8"))


SHAPES = KNOWN["shapes_and_misc"]


def small(cell="xnas", **options):
    torch.manual_seed(0)
    return create_model(cell, **{"channels": 4, "cells": 5} | options)


class TestShapes:
    @pytest.mark.parametrize(
        ("key", "options", "size"),
        [("cells_cifar_20x36", {}, 32), ("cells_imagenet_14x46", {"network": "imagenet"}, 224)],
    )
    def test_cells_have_the_known_channels_and_sizes(self, key, options, size):
        with torch.device("meta"):
            model, x = create_model("xnas", **options), torch.zeros(1, 3, size, size)
        seen = []
        for cell in model.cells:
            cell.register_forward_hook(
                lambda m, _, out: seen.append((m.kind, m.channels, *out.shape[1:]))
            )
        model.eval()(x)
        kinds = {"N": CellKind.NORMAL, "R": CellKind.REDUCTION}
        assert seen == [
            (kinds[row["type"]], row["C"], row["out_channels"], row["HxW"], row["HxW"])
            for row in SHAPES[key]
        ]

    @pytest.mark.parametrize("cell", list_cells())
    def test_every_published_cell_trains(self, cell):
        model = small(cell, cells=3, channels=2)
        logits = model(torch.randn(2, 3, 9, 12))
        assert logits.shape == (2, 10)
        logits.square().sum().backward()
        # An edge `none` and what it alone would feed learn nothing; everything else does.
        assert model.stem.layers[0].weight.grad.abs().sum() > 0
        assert model.classifier.weight.grad.abs().sum() > 0

    @pytest.mark.parametrize("size", [(4, 4), (7, 5), (28, 28), (33, 31), (96, 64)])
    @pytest.mark.parametrize("in_chans", [1, 2, 3, 4])
    def test_any_size_and_any_channels(self, size, in_chans):
        model = small(cells=3, in_chans=in_chans, num_classes=7)
        assert model.stem.layers[0].out_channels == 4 * min(in_chans, 3)
        assert model(torch.randn(2, in_chans, *size)).shape == (2, 7)

    def test_an_imagenet_network_takes_other_sizes_too(self):
        model = small(network="imagenet", stem_channels=6, num_classes=11, auxiliary=True)
        for size in ((32, 32), (65, 97)):
            logits, extra = model.forward_with_auxiliary(torch.randn(2, 3, *size))
            assert logits.shape == extra.shape == (2, 11)

    def test_inputs_in_the_output_of_a_reduction_cell_are_halved_first(self):
        edges = (Edge("skip_connect", 0), Edge("max_pool_3x3", 1))
        joined = CellGenotype((edges,), (0, 1, 2))
        model = small(Genotype("darts", joined, joined))
        reduction = model.cells[model.last_reduction]
        assert {type(m) for m in reduction.joined.values()} == {FactorizedReduction}
        assert {type(m) for m in model.cells[0].joined.values()} == {nn.Identity}
        assert model(torch.randn(2, 3, 8, 8)).shape == (2, 10)


class TestCellsCompute:
    def test_a_node_adds_its_edges_and_the_output_joins_the_nodes(self):
        """The forward pass of a cell, written out for the XNAS cell."""
        model = small().eval()
        cell, x = model.cells[0], torch.randn(2, 12, 8, 8)
        a, b = cell.prepare_before_that(x), cell.prepare_previous(x)
        ops = list(cell.edges)
        two = ops[0](b) + ops[1](a)
        three = ops[2](a) + ops[3](two)
        four = ops[4](three) + ops[5](b)
        five = ops[6](four) + ops[7](a)
        assert torch.equal(cell(x, x), torch.cat([two, three, four, five], dim=1))

    def test_drop_path_spares_identities_alone(self, monkeypatch):
        model = small(drop_path_rate=0.3)
        assert isinstance(model.drop_path, DropPath)
        assert {id(cell.drop_path) for cell in model.cells} == {id(model.drop_path)}
        draw, drawn = model.drop_path.draw, []
        monkeypatch.setattr(
            model.drop_path, "draw", lambda x, edges: drawn.append(edges) or draw(x, edges=edges)
        )
        model(torch.randn(2, 3, 16, 16))
        identities = sum(isinstance(op, nn.Identity) for cell in model.cells for op in cell.edges)
        assert identities == 3 + 2  # one in each of three normal and two reduction cells
        assert sum(drawn) == 5 * 8 - identities
        for cell in model.cells:
            spared = set(range(len(cell.edges))) - set(cell._factors(torch.ones(2, 1, 1, 1)))
            assert spared == {i for i, op in enumerate(cell.edges) if isinstance(op, nn.Identity)}

    def test_the_auxiliary_tower_reads_the_last_reduction_cell(self):
        model = small(auxiliary=True)
        seen = {}
        model.cells[model.last_reduction].register_forward_hook(lambda *a: seen.update(tapped=a[2]))
        model.auxiliary_tower.register_forward_hook(lambda *a: seen.update(read=a[1][0]))
        logits, extra = model.forward_with_auxiliary(torch.randn(2, 3, 32, 32))
        assert seen["read"] is seen["tapped"]
        assert seen["read"].shape[-2:] == (8, 8)
        assert logits.shape == extra.shape
        assert model.last_reduction == 3

    @pytest.mark.parametrize(("size", "darts_pool"), [(32, True), (28, False), (96, False)])
    def test_the_tower_has_darts_pool_on_its_own_map_alone(self, size, darts_pool):
        model = small(auxiliary=True)
        calls = []
        model.auxiliary_tower.pool.register_forward_hook(lambda *_: calls.append(1))
        model.forward_with_auxiliary(torch.randn(2, 3, size, size))
        assert bool(calls) is darts_pool

    def test_forward_gives_logits_in_training_and_in_evaluation(self):
        model = small(auxiliary=True)
        x = torch.randn(2, 3, 16, 16)
        assert isinstance(model.train()(x), torch.Tensor)
        model.eval()
        assert torch.equal(model(x), model.forward_with_auxiliary(x)[0])
        assert torch.equal(model(x), model.forward_head(model.forward_features(x)))

    def test_without_a_tower_its_logits_cannot_be_had(self):
        with pytest.raises(ConfigError, match="no auxiliary tower; build it with create_model"):
            small().forward_with_auxiliary(torch.randn(2, 3, 16, 16))


class TestFastPaths:
    """Every fast path computes what the plain one does."""

    @pytest.mark.parametrize("network", ["cifar", "imagenet"])
    def test_channels_last_is_the_same_function(self, network):
        options = {} if network == "cifar" else {"network": network, "stem_channels": 6}
        plain, other = small(**options).double(), small(**options).double()
        other = other.to(memory_format=torch.channels_last)
        x = torch.randn(3, 3, 33, 40, dtype=torch.float64)
        out, fast = plain(x), other(x.to(memory_format=torch.channels_last))
        assert torch.allclose(out, fast, atol=1e-10)
        out.square().sum().backward()
        fast.square().sum().backward()
        for one, two in zip(plain.parameters(), other.parameters(), strict=True):
            assert torch.allclose(one.grad, two.grad, atol=1e-8)

    @pytest.mark.slow
    def test_a_graph_of_the_whole_network_is_the_same_function(self):
        """Traced without a break."""
        model = small(drop_path_rate=0.2, cells=3)
        compiled = torch.compile(model, backend="aot_eager", fullgraph=True)
        x = torch.randn(3, 3, 16, 16)
        for mode in (True, False):
            model.train(mode)
            torch.manual_seed(1)
            expected = model(x)
            torch.manual_seed(1)
            assert torch.allclose(compiled(x), expected, atol=1e-5)

    @pytest.mark.slow
    @pytest.mark.parametrize("channels_last", [False, True])
    def test_compiled_code_is_the_same_function(self, channels_last):
        model = small("amoebanet_a", cells=3)
        x = torch.randn(3, 3, 16, 16)
        if channels_last:
            model, x = (
                model.to(memory_format=torch.channels_last),
                x.to(memory_format=torch.channels_last),
            )
        expected = model(x)
        expected.square().sum().backward()
        gradients = [p.grad.clone() for p in model.parameters()]
        model.zero_grad()
        for norm in model.modules():
            if isinstance(norm, nn.BatchNorm2d):
                norm.reset_running_stats()
        out = torch.compile(model)(x)
        out.square().sum().backward()
        assert torch.allclose(out, expected, atol=1e-4)
        for gradient, parameter in zip(gradients, model.parameters(), strict=True):
            assert torch.allclose(gradient, parameter.grad, atol=1e-3, rtol=1e-3)


class TestClassifier:
    def test_a_new_classifier_has_the_classes_asked_for(self):
        model = small()
        model.reset_classifier(4)
        assert model(torch.randn(2, 3, 8, 8)).shape == (2, 4)
        assert model.get_classifier() is model.classifier
        model.reset_classifier(0)
        assert model(torch.randn(2, 3, 8, 8)).shape == (2, model.num_features)

    def test_it_keeps_kind_and_tower_in_step(self):
        model = small(auxiliary=True).double()
        model.reset_classifier(4)
        logits, extra = model.forward_with_auxiliary(torch.randn(2, 3, 8, 8, dtype=torch.float64))
        assert logits.shape == extra.shape == (2, 4)
        with pytest.raises(ConfigError, match="num_classes must be at least 0, got -1"):
            model.reset_classifier(-1)
