"""PC-DARTS and GAEA on it: weights of edges."""

import torch
from method_games import build, game, near, row

from xnas.methods.gaea import eg_step
from xnas.methods.pc_darts import Nodes, PartialDarts, PartialGaea, edge_gradient
from xnas.nn.forecaster import Forecaster
from xnas.nn.partial import PartialForecaster

ALPHA = torch.tensor([[0.2, -0.1, 0.4], [0.0, 0.3, -0.2], [0.1, 0.1, 0.1]]).double()
B = torch.tensor([0.1, -0.2, 0.3]).double()
G = torch.tensor([[0.5, -0.3, 0.1], [0.2, 0.0, -0.1], [-0.4, 0.1, 0.3]]).double()
ONE_NODE = {"edges": ((0, 3), (1, 3), (2, 3)), "kept_edges": 2, "operations": ("a", "b", "c")}


def made(kind):
    mixture = torch.nn.Parameter(torch.full((3, 3), 1 / 3).double())
    return mixture, kind({"normal": mixture}, game(**ONE_NODE, replications={"normal": 1}))


def test_three_edges_into_one_node():
    mixture, method = made(PartialDarts)
    with torch.no_grad():
        method.logits[0].copy_(ALPHA)
        method.edge_logits["normal"].copy_(B)
    method.write_beliefs()
    assert near(method.edge_weights("normal"), 0.337585, 0.250089, 0.412327)
    weights = method.weights("weights", None)["normal"]
    assert near(weights[0], 0.113963, 0.084426, 0.139195)
    mixture.grad = G.clone()
    method.step()
    assert near(method.logits[0].grad[0], 0.041597, -0.036725, -0.004872)
    assert near(method.edge_logits["normal"].grad, 0.027041, -0.004406, -0.022635)


def test_the_gradients_are_autograds():
    alpha, b = ALPHA.clone().requires_grad_(), B.clone().requires_grad_()
    w = b.softmax(0)[:, None] * alpha.softmax(-1)
    by_alpha, by_b = torch.autograd.grad((w * G).sum(), (alpha, b))
    nodes = Nodes(game(**ONE_NODE), 3, torch.device("cpu"))
    u = ALPHA.softmax(-1)
    by_u, found_b = edge_gradient(B.softmax(0), u, G, nodes)
    torch.testing.assert_close(found_b, by_b)
    torch.testing.assert_close(u * (by_u - (u * by_u).sum(-1, keepdim=True)), by_alpha)


def test_edges_of_different_nodes_do_not_compete():
    _, method = build("pc-darts")
    beta = method.edge_weights("normal")  # two nodes of two edges each
    torch.testing.assert_close(beta[:2].sum(), torch.tensor(1.0))
    torch.testing.assert_close(beta[2:].sum(), torch.tensor(1.0))
    assert [method.learns(e, 0) for e in (0, 5, 6, 19)] == [False, False, True, True]  # of 20 epochs


def test_exponentiated_gradient_of_edges_has_no_floor():
    mixture, method = made(PartialGaea)
    assert near(method.edge_mixtures["normal"], 1 / 3, 1 / 3, 1 / 3)
    # experts that all earn alike: the gradients of the edges of the example
    mixture.grad = torch.tensor([0.2, -0.1, 0.05]).double()[:, None].expand(3, 3).clone()
    method.step()
    assert near(method.edge_mixtures["normal"], 0.328346, 0.338346, 0.333308)
    expected = eg_step(row(1 / 3, 1 / 3, 1 / 3), row(0.2, -0.1, 0.05), learning_rate=0.1)
    torch.testing.assert_close(method.edge_mixtures["normal"], expected[0])
    for _ in range(2000):
        mixture.grad = torch.tensor([9.0, 0.0, 9.0]).double()[:, None].expand(3, 3).clone()
        method.step()
    assert method.edge_mixtures["normal"][0] < 1e-9


def test_strengths_are_products():
    mixtures, method = build("gaea-pc")
    strengths = method.strengths(mixtures["normal"])
    torch.testing.assert_close(strengths, torch.full((4, 5), 0.1).double())


def test_with_all_channels_it_is_darts_with_weights_of_edges():
    """K = 1: DARTS by autograd, cells multiplying by softmax(b) · softmax(α), one Adam for both."""
    mixture, method = made(PartialDarts)
    alpha = method.logits[0].detach().clone().requires_grad_()
    b = method.edge_logits["normal"].detach().clone().requires_grad_()
    group = method.adam.param_groups[0]
    how = {name: group[name] for name in ("lr", "betas", "eps", "weight_decay")}
    adam = torch.optim.Adam([alpha, b], **how)
    target = torch.tensor([0.3, -0.2, 0.1]).double()
    experts = {
        str(n): torch.nn.Conv2d(4, 4, 1, bias=False).double().requires_grad_(False) for n in range(3)
    }
    edges = [PartialForecaster(experts, channels=4, parts=1) for _ in range(3)]
    plain = [Forecaster(experts, own_mixture=False) for _ in range(3)]
    x = torch.randn(2, 4, 5, 5, dtype=torch.float64)

    def loss(forecasters, w):
        node = sum(edge(x, w[n]) for n, edge in enumerate(forecasters))
        return ((node.mean((0, 2, 3))[:3] - target) ** 2).sum()

    for _ in range(5):
        weights = method.weights("rewards", None)["normal"].requires_grad_()
        (mixture.grad,) = torch.autograd.grad(loss(edges, weights), weights)
        method.step()
        adam.zero_grad()
        loss(plain, b.softmax(0)[:, None] * alpha.softmax(-1)).backward()
        adam.step()
    torch.testing.assert_close(method.logits[0].detach(), alpha.detach())
    torch.testing.assert_close(method.edge_logits["normal"].detach(), b.detach())
    torch.testing.assert_close(method.strengths(mixture), b.softmax(0)[:, None] * alpha.softmax(-1))
