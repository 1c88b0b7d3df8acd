"""On a GPU: the same numbers as on the CPU, and a step inside a captured graph."""

import math

import pytest
import torch

from xnas import ExpertsOptimizer, Forecaster, RoundError, replay, uniform_mixture

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]


def build(rounds, device="cuda", **arguments):
    mixtures = [torch.nn.Parameter(uniform_mixture(14, 7).detach().to(device)) for _ in range(2)]
    optimizer = ExpertsOptimizer(mixtures, horizon=rounds, **arguments)
    for mixture in mixtures:
        mixture.grad = torch.zeros_like(mixture)
    return mixtures, optimizer


def capture(optimizer):
    """Capture `step` as the documentation of CUDA graphs says, leaving the state untouched."""
    saved = {"state": optimizer.state_dict(), "params": [p.detach().clone() for p in params(optimizer)]}
    saved["state"] = torch.utils._pytree.tree_map_only(torch.Tensor, torch.clone, saved["state"])
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        optimizer.step()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        optimizer.step()
    optimizer.load_state_dict(saved["state"])
    with torch.no_grad():
        for p, value in zip(params(optimizer), saved["params"], strict=True):
            p.copy_(value)
    return graph


def params(optimizer):
    return [p for group in optimizer.param_groups for p in group["params"]]


def test_gpu_and_cpu_agree():
    rewards = torch.randn(60, 2, 14, 7)
    ledgers = []
    for device in ("cpu", "cuda"):
        mixtures, optimizer = build(60, device)
        for round_rewards in rewards:
            for mixture, given in zip(mixtures, round_rewards, strict=True):
                mixture.grad = -given.to(device)
            optimizer.step()
        ledgers.append(optimizer.ledger(mixtures[0]))
    cpu, gpu = ledgers
    assert cpu.wipeouts == gpu.wipeouts
    assert cpu.histogram_counts == gpu.histogram_counts
    assert cpu.regret == pytest.approx(gpu.regret, abs=1e-10)
    assert cpu.regret_bound == pytest.approx(gpu.regret_bound, abs=1e-10)


def test_a_captured_step_equals_replay():
    # Capture itself forbids synchronisation: a host read inside `step` would raise here.
    mixtures, optimizer = build(60)
    graph = capture(optimizer)
    rewards = torch.randn(60, 14, 7, device="cuda")
    for round_rewards in rewards:
        for mixture in mixtures:
            mixture.grad.copy_(-round_rewards)
        graph.replay()
    optimizer.check()
    rate = float(optimizer.param_groups[0]["lr"])
    expected = replay(rewards.transpose(0, 1), learning_rate=rate)
    for mixture in mixtures:
        torch.testing.assert_close(optimizer.cumulative_rewards(mixture), expected.cumulative_rewards)
        assert torch.equal(optimizer.alive(mixture), expected.alive[:, -1])
        assert optimizer.ledger(mixture).rounds == 60


def test_a_scheduler_reaches_a_captured_step():
    mixtures, optimizer = build(10, lr=1.0)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.25)
    graph = capture(optimizer)
    mixtures[0].grad[0, 0] = -1.0
    graph.replay()
    first = mixtures[0][0, 0].item()
    scheduler.step()
    graph.replay()
    weight = math.exp(0.25 * 2)
    assert first == pytest.approx(math.e / (math.e + 6))
    assert mixtures[0][0, 0].item() == pytest.approx(weight / (weight + 6))


def test_faults_inside_a_graph_are_masked_and_reported_later():
    mixtures, optimizer = build(3)
    graph = capture(optimizer)
    mixtures[0].grad.fill_(0.5)
    graph.replay()
    before = mixtures[0].detach().clone()
    mixtures[1].grad[3, 2] = math.nan
    graph.replay()
    assert torch.equal(mixtures[0], before)
    assert optimizer.ledger(mixtures[0]).rounds == 1
    with pytest.raises(RoundError, match="mixture 1 refused 1 captured"):
        optimizer.check()
    mixtures[1].grad.zero_()
    for _ in range(3):
        graph.replay()
    with pytest.raises(RoundError, match="the horizon of 3 rounds has passed"):
        optimizer.check()
    assert optimizer.ledger(mixtures[0]).rounds == 3


def test_loading_reaches_a_captured_step():
    mixtures, optimizer = build(20)
    graph = capture(optimizer)
    mixtures[0].grad.normal_()
    for _ in range(5):
        graph.replay()
    state = torch.utils._pytree.tree_map_only(torch.Tensor, torch.clone, optimizer.state_dict())
    for _ in range(5):
        graph.replay()
    after = optimizer.ledger(mixtures[0])
    optimizer.load_state_dict(state)
    for _ in range(5):
        graph.replay()
    assert optimizer.ledger(mixtures[0]) == after


def test_a_forecaster_is_captured_with_its_optimizer():
    torch.manual_seed(0)
    forecaster = Forecaster({"good": torch.nn.Linear(8, 1), "bad": torch.nn.Linear(8, 1)}).cuda()
    optimizer = ExpertsOptimizer([forecaster.mixture], horizon=50)
    x = torch.randn(64, 8, device="cuda")
    y = forecaster.experts["good"](x).detach()

    def round_():
        optimizer.zero_grad(set_to_none=False)
        (forecaster(x) - y).square().mean().backward()
        optimizer.step()

    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            round_()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        round_()
    for _ in range(47):
        graph.replay()
    optimizer.check()
    assert optimizer.alive(forecaster.mixture).tolist() == [[True, False]]
