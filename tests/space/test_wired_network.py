"""Randomly wired networks: known counts, positive weights, and the graph that is computed."""

from statistics import mean, stdev

import pytest
import torch
from torch.autograd import gradcheck

from xnas import ConfigError, Wiring, count_macs, count_parameters, create_model
from xnas.space.wired_network import WiredStage
from xnas.space.wiring import REGULAR

CHAIN = Wiring("own", (), 0, (2, 1, 3), ([(0, 1)], [], [(0, 1), (1, 2)]))
TINY = Wiring.random("ws", 4, 0.75, seed=3, nodes=(8, 6, 6))


def empty(wiring, **options):
    with torch.device("meta"):
        return create_model(wiring, **options)


class TestCounts:
    def test_ba_of_the_small_regime_has_the_known_parameters_whatever_the_seed(self):
        # By hand: convolutions, batch norms and classifier, and one weight for each of 3 x 135 edges
        for seed in (0, 1):
            model = empty(Wiring.random("ba", 5, seed=seed), network="imagenet")
            assert count_parameters(model) == 5_677_900
            assert sum(stage.weights.numel() for stage in model.cells) == 405

    def test_a_small_network_has_the_counts_of_its_layers(self):
        model = empty(CHAIN, channels=4, num_classes=3)
        stem, head = 3 * 2 * 9 + 2 * 2, 16 * 1280 + 2 * 1280
        first = (9 * 2 + 2 * 4 + 8) + (9 * 4 + 4 * 4 + 8)
        second = 9 * 4 + 4 * 8 + 16
        third = (9 * 8 + 8 * 16 + 32) + 2 * (9 * 16 + 16 * 16 + 32)
        assert count_parameters(model) == stem + first + second + third + head + 1280 * 3 + 3
        full, half, quarter = 64, 16, 4  # pixels of 8 x 8 images, stage by stage
        macs = full * (3 * 2 * 9 + 9 * 2 + 2 * 4 + 9 * 4 + 4 * 4) + half * (9 * 4 + 4 * 8)
        macs += quarter * (9 * 8 + 8 * 16 + 2 * (9 * 16 + 16 * 16) + 16 * 1280) + 1280 * 3
        assert count_macs(model, (3, 8, 8)) == macs

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("nodes", "channels", "millions", "macs"),
        [
            # Means and deviations of an earlier count of 20 other graphs. Xie et al. (2019) print 5.6 M
            # and 583 M for C = 78, and 61.5 M and 7.9 G for C = 154.
            ((32, 32, 32), 78, (5.61, 0.08), (581, 4)),
            (REGULAR, 109, (32.4, 0.5), (4000, 40)),
            (REGULAR, 154, (62.4, 1.0), (7880, 90)),
        ],
    )
    def test_ws_has_the_mean_counts_of_its_regime(self, nodes, channels, millions, macs):
        models = [
            empty(
                Wiring.random("ws", 4, 0.75, seed=s, nodes=nodes), network="imagenet", channels=channels
            )
            for s in range(20)
        ]
        for counts, (expected, deviation) in (
            ([count_parameters(model) / 1e6 for model in models], millions),
            ([count_macs(model, (3, 224, 224)) / 1e6 for model in models], macs),
        ):
            error = (stdev(counts) ** 2 / 20 + deviation**2 / 20) ** 0.5  # of both means
            assert abs(mean(counts) - expected) < 3 * error


class TestStage:
    def test_nodes_sum_their_weighted_inputs_and_the_last_ones_are_averaged(self):
        torch.manual_seed(0)
        stage = WiredStage([(), (0,), (0, 1), ()], 3, 4, stride=2).eval()
        stage.weights.data = torch.tensor([-1.0, 2.0])
        x = torch.randn(2, 3, 6, 6)
        first, second, third, fourth = stage.nodes
        a, d = first(x), fourth(x)
        b = second(a)
        c = third(torch.sigmoid(torch.tensor(-1.0)) * a + torch.sigmoid(torch.tensor(2.0)) * b)
        assert stage(x).shape == (2, 4, 3, 3)
        assert torch.allclose(stage(x), (c + d) / 2, atol=1e-6)

    def test_weights_are_positive_whatever_the_parameter_and_have_the_right_gradient(self):
        torch.manual_seed(0)
        stage = WiredStage([(), (0,), (0, 1)], 2, 2, stride=1).double().eval()
        stage.weights.data = torch.tensor([-30.0, 30.0], dtype=torch.float64)
        assert all(0 < weight < 1 for weights in stage._edge_weights() for weight in weights.tolist())
        x = torch.randn(1, 2, 3, 3, dtype=torch.float64)

        def answer(weights):
            return torch.func.functional_call(stage, {"weights": weights}, (x,))

        assert gradcheck(answer, torch.randn(2, dtype=torch.float64, requires_grad=True))

    def test_numbers_of_nodes_do_not_matter_as_long_as_edges_keep_their_order(self):
        torch.manual_seed(0)
        one = WiredStage([(), (), (0, 1), (0,)], 2, 2, stride=1).eval()
        other = WiredStage([(), (), (0, 1), (1,)], 2, 2, stride=1).eval()  # nodes 0 and 1 swapped
        for ours, theirs in zip((0, 1, 2, 3), (1, 0, 2, 3), strict=True):
            other.nodes[theirs].load_state_dict(one.nodes[ours].state_dict())
        one.weights.data = torch.tensor([0.5, -1.0])
        other.weights.data = torch.tensor([-1.0, 0.5])
        x = torch.randn(1, 2, 4, 4)
        assert torch.allclose(one(x), other(x), atol=1e-6)


class TestNetwork:
    @pytest.mark.parametrize(
        ("network", "nodes", "least"),
        [("cifar", (8, 6, 6), 4), ("cifar", (4, 4, 4, 4), 8), ("imagenet", (8, 6, 6), 32)],
    )
    def test_networks_take_images_from_the_size_that_their_halvings_need(self, network, nodes, least):
        wiring = Wiring.random("ba", 2, nodes=nodes)
        model = create_model(wiring, network=network, num_classes=3, channels=4).eval()
        assert model(torch.randn(2, 3, least, least)).shape == (2, 3)
        assert model.maps(torch.randn(2, 3, least, least))[0].shape == (2, 1280, 1, 1)
        with pytest.raises(ConfigError, match=rf"too small for .* they need {least} a side"):
            model(torch.randn(2, 3, least, least - 1))

    def test_the_regular_regime_drops_edges_in_training_alone(self):
        wiring = Wiring.random("ws", 4, 0.75, nodes=(6, 8, 8, 8))
        spec = empty(wiring, network="imagenet").spec
        assert (spec.channels, spec.drop_path_rate, spec.cells) == (109, 0.1, 4)
        assert spec.for_inference.drop_path_rate == 0
        assert empty(wiring).drop_path is None
        torch.manual_seed(0)
        model = create_model(wiring, channels=4, drop_path_rate=0.9)
        x = torch.randn(2, 3, 16, 16)
        losing = model.cells[0]
        assert torch.cat(losing._edge_weights()).unique().tolist() == [0.0, 0.5]
        assert torch.cat(losing.eval()._edge_weights()).unique().tolist() == [0.5]
        assert torch.equal(model.eval()(x), model(x))

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            ({"auxiliary": True}, "a randomly wired network has no auxiliary to set, got True"),
            ({"squeeze_excitation": True}, "has no squeeze_excitation to set, got True"),
            ({"stem_channels": 8}, "has no stem_channels to set, got 8"),
            ({"cells": 5}, "no cells to set, got 5; its cells are the 3 stages of the wiring"),
            ({"channels": 1}, "has half of its channels, got channels 1; use at least 2"),
            ({"network": "mnist"}, "no network called 'mnist'; there are: cifar, imagenet"),
        ],
    )
    def test_settings_that_a_wired_network_has_not_are_named(self, options, words):
        with pytest.raises(ConfigError, match=words):
            empty(TINY, **options)

    def test_every_parameter_learns(self):
        torch.manual_seed(0)
        model = create_model(TINY, channels=4, num_classes=3)
        model(torch.randn(4, 3, 8, 8)).square().sum().backward()
        assert all(p.grad is not None and bool(p.grad.any()) for p in model.parameters())
