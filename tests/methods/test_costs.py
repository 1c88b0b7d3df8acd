import pytest

from xnas.methods.costs import relative_cost


@pytest.mark.parametrize(
    ("costs", "rounds"),
    [("W + M", 1), ("J", 0.5), ("2W + J + 2M", 2.5), ("W + M/5", 0.6), ("W + M, then F", 1), ("", None)],
)
def test_a_round_is_estimated_from_its_passes(costs, rounds):
    assert relative_cost(costs) == rounds


def test_forward_passes_are_a_third():
    assert relative_cost("W + 8M + 2F") == pytest.approx(0.5 + 4 + 1 / 3)
