"""Prices follow what the present cell costs, and mean the same whatever rewards are."""

import pytest
import torch
from searching import small, small_engine, stripes

from xnas.runs.expert_costs import ExpertCosts
from xnas.runs.prepare import prepare
from xnas.runs.prices import STEP, Prices, paid_by, spread, unpriced_sums
from xnas.space import SPACES

pytestmark = pytest.mark.usefixtures("small_space")
EPOCHS = 10


def costs_of(space, resources=("params",)):
    """The convolution of 5 x 5 costs 4, that of 3 x 3 costs 2; skips cost 1 of a second resource."""
    each = {}
    for kind in space.kinds:
        table = torch.zeros(len(space.edges), len(space.operations), len(resources)).double()
        table[:, space.operations.index("sep_conv_5x5"), 0] = 4.0
        table[:, space.operations.index("sep_conv_3x3"), 0] = 2.0
        table[:, space.operations.index("skip_connect"), 1:] = 1.0
        each[str(kind)] = table
    return ExpertCosts(space, tuple(resources), each, torch.full((len(resources),), 100.0).double())


class Game:
    updates = 10

    def rounds(self, _):
        return 10


GAME = Game()


def priced(most=110.0):
    costs = costs_of(SPACES["small"])
    return Prices(costs, {"params": most}, EPOCHS)


def earning(search, scale=1.0, rounds=4):
    """Rewards of some rounds, which differ between experts."""
    for kind, mixture in search.mixtures.items():
        draw = torch.Generator().manual_seed(len(kind))
        rewards = scale * torch.rand(rounds, *mixture.shape, generator=draw, dtype=torch.float64)
        for paid in rewards:
            search.method.observe(mixture, paid[None])
    return search


def test_a_price_rises_above_the_limit_falls_below_it_and_is_never_negative():
    search, prices, found = small_engine(epochs=EPOCHS), priced(), []
    for present in (118.0, 111.0, 110.0, 109.0, 100.0, 100.0, 118.0):
        prices.follow({"params": present}, search, GAME)
        found.append(prices.by_name()["params"])
    step = STEP / EPOCHS
    assert found == pytest.approx([step, 2 * step, 2 * step, step, 0, 0, step])


def test_experts_pay_in_proportion_to_what_they_cost():
    search, prices = earning(small_engine()), priced()
    prices.follow({"params": 118.0}, search, GAME)
    prices.charge(search, GAME)
    unit, price = spread(search, GAME), prices.by_name()["params"]
    names = SPACES["small"].operations
    expected = torch.zeros(5, len(names), dtype=torch.float64)
    expected[:, names.index("sep_conv_5x5")] = unit * price
    expected[:, names.index("sep_conv_3x3")] = unit * price / 2
    for kind, mixture in search.mixtures.items():
        assert torch.allclose(prices.of(kind, GAME), expected)
        before = search.method.cumulative_rewards(mixture)
        search.method.observe(mixture, torch.zeros(1, *mixture.shape))
        assert torch.allclose(before - search.method.cumulative_rewards(mixture), expected)


@pytest.mark.parametrize("scale", [1e-4, 1e-2])
def test_rewards_that_are_smaller_by_a_factor_lead_to_prices_that_are(scale):
    large, small = earning(small_engine()), earning(small_engine(), scale)
    found = []
    for search in (large, small):
        prices = priced()
        prices.follow({"params": 118.0}, search, GAME)
        prices.charge(search, GAME)
        found.append(prices)
        earning(search, 1.0 if search is large else scale)
    assert found[0].prices.tolist() == found[1].prices.tolist()
    assert found[1].unit == pytest.approx(scale * found[0].unit)
    for kind in large.mixtures:
        sums = [search.method.cumulative_rewards(search.mixtures[kind]) for search in (large, small)]
        assert torch.allclose(scale * sums[0], sums[1])


def test_the_spread_is_that_of_living_experts_without_prices():
    search, prices = earning(small_engine()), priced()
    before = spread(search, GAME)
    by_hand = [
        (unpriced_sums(search, kind).amax(-1) - unpriced_sums(search, kind).amin(-1)) / 4
        for kind in search.mixtures
    ]
    assert before == pytest.approx(torch.cat(by_hand).mean().item())
    prices.follow({"params": 132.0}, search, GAME)
    prices.charge(search, GAME)
    for mixture in search.mixtures.values():  # two updates without rewards, in which all pay
        search.method.observe(mixture, torch.zeros(2, *mixture.shape))
    assert spread(search, GAME) == pytest.approx(before * 4 / 6)
    for mixture in search.mixtures.values():
        weakest = search.method.cumulative_rewards(mixture).argmin(-1, keepdim=True)
        gone = torch.zeros_like(mixture, dtype=torch.bool).scatter_(1, weakest, value=True)
        search.method.wipe(mixture, gone)
    assert spread(search, GAME) < before * 4 / 6


def test_before_the_first_round_nothing_is_paid():
    search, prices = small_engine(), priced()
    assert spread(search, GAME) == 0.0
    prices.follow({"params": 132.0}, search, GAME)
    prices.charge(search, GAME)
    assert not prices.of("normal", GAME).any()


def test_rounds_of_finer_accounting_share_the_price_of_an_update():
    search = prepare(small(accounting="sample", cells=5), stripes())
    prices = Prices(costs_of(SPACES["small"]), {"params": 110.0}, EPOCHS)
    prices.prices, prices.unit = torch.ones(1, dtype=torch.float64), 0.5
    rounds = {kind: search.game.rounds(kind) / search.game.updates for kind in ("normal", "reduction")}
    assert rounds["normal"] != rounds["reduction"]
    for kind, each in rounds.items():
        assert prices.of(kind, search.game).max().item() * each == pytest.approx(0.5)


def test_two_limits_add_their_prices():
    costs = costs_of(SPACES["small"], ("params", "macs"))
    prices = Prices(costs, {"params": 110.0, "macs": 101.0}, EPOCHS)
    prices.prices, prices.unit = torch.tensor([2.0, 3.0]).double(), 1.0
    names = SPACES["small"].operations
    paid = dict(zip(names, prices.of("normal", GAME)[0].tolist(), strict=True))
    assert (paid["sep_conv_5x5"], paid["skip_connect"]) == (2.0, 3.0)
    assert paid["max_pool_3x3"] == 0.0


def test_they_are_resumed():
    search, prices = earning(small_engine()), priced()
    prices.follow({"params": 118.0}, search, GAME)
    again = priced()
    again.restore(prices.state())
    assert (again.prices.tolist(), again.unit) == (prices.prices.tolist(), prices.unit)
    with pytest.raises(KeyError):
        again.restore({"prices": {"macs": 1.0}, "unit": 0.0})


def test_what_was_paid_gives_back_the_weights_of_a_search_without_prices():
    free, search, prices = earning(small_engine()), earning(small_engine()), priced()
    prices.follow({"params": 118.0}, search, GAME)
    prices.charge(search, GAME)
    for one in (free, search):
        earning(one)
    for kind in search.mixtures:
        weights = [one.method.strengths(one.mixtures[kind]) for one in (free, search)]
        assert not torch.allclose(*weights)
        restored = (weights[1].log() + paid_by(search, kind)).softmax(-1)
        assert torch.allclose(restored, weights[0])
