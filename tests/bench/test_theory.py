import torch

from xnas import ExpertsOptimizer, uniform_mixture
from xnas.bench.options import BenchTheoryConfig
from xnas.bench.theory import (
    AloneStep,
    PlainLoop,
    bench_theory,
    essential_bytes,
    state_bytes,
)
from xnas.report.tables import step_cost_table


def test_the_plain_loop_and_the_optimizer_agree():
    rewards = torch.randn(80, 2, 4, 5)
    fast = [uniform_mixture(4, 5) for _ in range(2)]
    slow = [uniform_mixture(4, 5) for _ in range(2)]
    optimizer = ExpertsOptimizer(fast, horizon=80, lr=0.3)
    loop = PlainLoop(slow, learning_rate=0.3, horizon=80)
    for round_rewards in rewards:
        for p, q, given in zip(fast, slow, round_rewards, strict=True):
            p.grad = q.grad = -given
        optimizer.step()
        loop.step()
    for index, (p, q) in enumerate(zip(fast, slow, strict=True)):
        torch.testing.assert_close(p, q, rtol=1e-6, atol=1e-9)
        assert optimizer.alive(p).tolist() == loop.alive[index]


def test_algorithm_1_alone_plays_the_same_mixtures():
    rewards = torch.randn(60, 2, 4, 5)
    fast = [uniform_mixture(4, 5) for _ in range(2)]
    alone = [uniform_mixture(4, 5) for _ in range(2)]
    steppers = ExpertsOptimizer(fast, horizon=60), AloneStep(alone, horizon=60)
    for round_rewards in rewards:
        for p, q, given in zip(fast, alone, round_rewards, strict=True):
            p.grad = q.grad = -given
        for stepper in steppers:
            stepper.step()
    for p, q in zip(fast, alone, strict=True):
        torch.testing.assert_close(p, q, rtol=1e-6, atol=1e-9)


def test_costs_are_measured_for_every_optimizer_and_number_of_mixtures():
    costs = bench_theory(BenchTheoryConfig(mixtures=(1, 3), repetitions=3))
    assert [(c.mixtures, c.optimizer) for c in costs] == [
        (count, name)
        for count in (1, 3)
        for name in (
            "ExpertsOptimizer",
            "plain Python loop",
            "Algorithm 1 alone",
            "Adam",
            "SGD, momentum",
        )
    ]
    assert all(c.microseconds > 0 for c in costs)
    assert [c.ratio for c in costs if c.optimizer == "ExpertsOptimizer"] == [1, 1]
    table = step_cost_table(costs)
    assert len(table.splitlines()) == 11


def test_state_is_counted_in_bytes_a_mixture():
    sizes = state_bytes()
    assert sizes["Adam"] == 2 * 14 * 7 * 4 + 4  # two averages in float32 and a step counter
    assert sizes["SGD"] == 14 * 7 * 4
    assert essential_bytes() == 14 * 7 * 8
    assert sizes["ExpertsOptimizer"] > essential_bytes()
