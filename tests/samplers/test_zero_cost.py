"""Proxies: known answers of small networks, what a ReLU count must see, and models left as they were."""

import math

import pytest
import torch
from torch import nn

from xnas import Genotype, count_macs, count_parameters, create_model
from xnas.samplers.zero_cost import PROXIES, ReluCodes, jacob_cov, jacobian_score, naswot, synflow

BEST = "|nor_conv_3x3~0|+|nor_conv_3x3~0|nor_conv_3x3~1|+|skip_connect~0|nor_conv_3x3~1|nor_conv_1x1~2|"
NOTHING = "|none~0|+|none~0|none~1|+|none~0|none~1|none~2|"


def chain(*weights):
    layers = [nn.Linear(len(w[0]), len(w), bias=False) for w in weights]
    for layer, weight in zip(layers, weights, strict=True):
        layer.weight.data = torch.tensor(weight)
    return nn.Sequential(*layers)


def small(cell=BEST):
    return create_model(cell, channels=4, cells=1)


def images(batch=6, size=8):
    return torch.randn(batch, 3, size, size, generator=torch.Generator().manual_seed(0))


def test_synflow_of_a_chain_is_layers_times_output():
    # |W2| |W1| 1 = (1, 1) . (3, 7) = 10, and each of two layers has the sum 10.
    two = chain([[1.0, -2.0], [3.0, 4.0]], [[1.0, -1.0]])
    assert synflow(two, torch.zeros(5, 2)) == 20
    three = chain([[1.0, -2.0], [3.0, 4.0]], [[1.0, -1.0]], [[0.5]])
    assert synflow(three, torch.zeros(5, 2)) == 15


def test_synflow_leaves_norms_out():
    with_norm = nn.Sequential(*chain([[1.0, -2.0], [3.0, 4.0]], [[1.0, -1.0]]))
    with_norm.insert(1, nn.BatchNorm1d(2))
    with_norm[1].weight.data.fill_(7.0)
    assert synflow(with_norm, torch.zeros(5, 2)) == 20


@pytest.mark.parametrize(
    ("rows", "score"),
    [  # by the formula, from eigenvalues (1, 1, 1, 1), (0.5, 1.5) and (0, 2)
        ([[1, -1, 0, 0, 0, 0], [0, 0, 1, -1, 0, 0], [0, 0, 0, 0, 1, -1], [1, 1, 1, 1, -2, -2]], -4.0),
        ([[1, -1, 0], [1, 0, -1]], -2.37897),
        ([[1, 2, 3], [1, 2, 3]], -99_989.68),
    ],
)
def test_known_jacobian_scores(rows, score):
    assert jacobian_score(torch.tensor(rows).float()) == pytest.approx(
        score, abs=5e-3 * abs(score) ** 0.1
    )


def test_jacob_cov_of_a_linear_network_is_that_of_equal_rows():
    # Its gradient is the same for every image: eigenvalues 0 and 2.
    assert jacob_cov(chain([[1.0, 5.0, 2.0]]), torch.randn(2, 3)) == pytest.approx(-99_989.68)
    assert jacob_cov(chain([[3.0, 3.0, 3.0]]), torch.randn(2, 3)) == -math.inf  # a row without spread


@pytest.mark.parametrize(
    ("codes", "determinant"),
    [([[1, 1, 0], [1, 0, 0]], 5), ([[1, 1, 0, 0], [1, 0, 1, 0], [0, 0, 0, 1]], 44)],
)
def test_known_naswot_scores(codes, determinant):
    inputs = torch.tensor(codes).float() - 0.5
    assert naswot(nn.ReLU(), inputs) == pytest.approx(math.log(determinant))


def test_naswot_of_two_images_with_one_code_is_the_worst():
    assert naswot(nn.ReLU(), torch.tensor([[1.0, 2.0], [3.0, 4.0]])) == -math.inf


def test_every_relu_of_a_benchmark_network_is_seen():
    # Five convolutions in each of 5 cells of 3 stages, two in each of 2 reductions, one at the end.
    with ReluCodes() as codes, torch.no_grad():
        create_model(BEST)(images())
    assert codes.relus == 5 * 5 * 3 + 2 * 2 + 1 == 80
    assert (codes.equal_bits.diagonal() == codes.equal_bits.max()).all()


def test_relus_that_are_calls_are_seen_as_well():
    # DARTS's second-order cell, three cells, the last two reductions: each prepares its two inputs, the
    # last by a factorised reduction. Normal: 5 separable convolutions of 2 stages, 1 dilated, 2 skips.
    # Reduction: 5 pools, 3 skips, all from nodes.
    model = create_model("darts_v2", channels=4, cells=3, auxiliary=True)
    hooked = []
    for module in model.modules():
        if isinstance(module, nn.ReLU):
            module.register_forward_hook(lambda *_: hooked.append(1))
    with ReluCodes() as codes, torch.no_grad():
        model.forward_with_auxiliary(images(size=32))
    cells = [model.genotype.cell(cell.kind) for cell in model.cells]
    of = {"sep": 2, "dil": 1}
    edges = sum(of.get(e.operation[:3], 0) for cell in cells for node in cell.nodes for e in node)
    strided = sum(
        e.operation == "skip_connect" and e.source < 2
        for cell in cells[1:]
        for node in cell.nodes
        for e in node
    )
    tower = 3
    assert codes.relus == 2 * 3 + edges + strided + tower
    assert len(hooked) < codes.relus


def test_counting_proxies_are_those_of_the_package():
    model = small()
    assert PROXIES["params"](model, images()) == count_parameters(model)
    assert PROXIES["macs"](model, images()) == count_macs(model, (3, 8, 8))


@pytest.mark.parametrize("name", list(PROXIES))
def test_a_proxy_leaves_the_network_as_it_was(name):
    model = small().eval()
    before = {key: value.clone() for key, value in model.state_dict().items()}
    score = PROXIES[name](model, images())
    assert score == PROXIES[name](model, images())
    assert not any(module.training for module in model.modules())
    assert all(p.grad is None and p.dtype is torch.float32 for p in model.parameters())
    for key, value in model.state_dict().items():
        assert torch.equal(value, before[key])


@pytest.mark.parametrize("name", list(PROXIES))
def test_a_cell_that_passes_nothing_on_is_below_the_best_one(name):
    nothing = PROXIES[name](small(NOTHING), images())
    assert nothing < PROXIES[name](small(), images())
    if name in ("jacob_cov", "naswot"):
        assert nothing == -math.inf


def test_a_darts_network_has_scores():
    model = create_model("xnas", channels=4, cells=3)
    assert all(math.isfinite(PROXIES[name](model, images(size=16))) for name in PROXIES)


def test_genotypes_of_the_benchmark_are_built_as_they_are():
    assert Genotype.from_arch(BEST).arch == small().genotype.arch
