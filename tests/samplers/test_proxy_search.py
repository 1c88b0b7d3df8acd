"""A pool ranked by a proxy, and a sampler that begins with its best."""

import csv

import pytest
import torch
from nasbench201 import REAL, needs_the_real_table

from xnas import ConfigError, count_macs, count_parameters, create_model
from xnas.samplers import PROXIES, SAMPLERS, Result, proxy_score
from xnas.samplers.proxy_search import ProxySettings, noise
from xnas.space import encoding_of


def made(seed=0, **settings):
    given = {"proxy": "params", "pool": 12, "batch": 2} | settings
    return SAMPLERS["proxy"](encoding_of("nasbench201"), seed, given)


def tell(sampler, trial):
    sampler.tell(Result(number=trial.number, value=0.5, state="done"))


def test_a_pool_is_asked_from_the_largest_score_down_and_then_it_is_over():
    sampler, sizes = made(), []
    while (trial := sampler.ask()) is not None:
        sizes.append(count_parameters(create_model(trial.genotype)))
        tell(sampler, trial)
    assert sizes == sorted(sizes, reverse=True)
    assert len(sizes) == 12
    assert len(set(sizes)) > 4
    assert sampler.finished


@pytest.mark.parametrize("name", ["evolution", "tpe", "bananas"])
def test_another_sampler_begins_with_the_best_of_the_pool(name):
    if name == "tpe":
        pytest.importorskip("optuna")
    alone, warmed = made(), made(then=name, first=3)
    best = [alone.ask().genotype for _ in range(3)]
    assert [warmed.ask().genotype for _ in range(3)] == best
    assert not warmed.finished
    assert warmed.ask().genotype not in best


def test_a_sampler_that_cannot_begin_with_given_cells_is_refused():
    with pytest.raises(ConfigError, match=r"'random' cannot begin with the cells of a proxy; .*bananas"):
        made(then="random")
    with pytest.raises(ConfigError, match="no zero-cost proxy called 'param'; did you mean params"):
        made(proxy="param")
    with pytest.raises(ConfigError, match="no sampler called 'tpf'"):
        made(then="tpf")


def test_the_images_of_a_run_are_scored_instead_of_noise(monkeypatch):
    seen = []
    monkeypatch.setitem(PROXIES._entries, "params", lambda _, images: float(seen.append(images) or 1))
    sampler = made(pool=2)
    sampler.ask()
    assert torch.equal(seen[0], noise(ProxySettings(batch=2), 0))
    assert seen[0].shape == (2, 3, 32, 32)
    with pytest.raises(ConfigError, match="scored already; give the images before the first ask"):
        sampler.use_images(torch.ones(4, 1, 8, 8))
    sampler = made(pool=2)
    sampler.use_images(torch.ones(4, 1, 8, 8))
    sampler.ask()
    assert torch.equal(seen[-1], torch.ones(4, 1, 8, 8))


def test_a_score_follows_from_its_seed_and_leaves_the_global_generator_alone():
    genotype = encoding_of("nasbench201").decode((3, 3, 3, 1, 3, 2))
    images = noise(ProxySettings(batch=4, image_size=8), 0)
    state = torch.get_rng_state()
    scores = [proxy_score("naswot", genotype, images, seed=seed) for seed in (0, 0, 1)]
    assert torch.equal(torch.get_rng_state(), state)
    assert scores[0] == scores[1] != scores[2]


def test_networks_have_the_sizes_of_the_spaces_supernet():
    best = encoding_of("nasbench201").decode((3, 3, 3, 1, 3, 2))
    assert proxy_score("params", best, torch.zeros(2, 3, 32, 32)) == count_parameters(create_model(best))
    darts = encoding_of("darts").decode((0,) * 24)
    small = create_model(darts, channels=16, cells=8)
    assert proxy_score("params", darts, torch.zeros(2, 3, 32, 32)) == count_parameters(small)
    assert proxy_score("macs", darts, torch.zeros(2, 3, 32, 32)) == count_macs(small, (3, 32, 32))


@pytest.mark.slow
@needs_the_real_table
def test_how_sizes_and_short_trainings_rank_the_cells_of_the_table():
    stats = pytest.importorskip("scipy.stats")
    with open(REAL, encoding="utf8", newline="") as file:  # noqa: PTH123
        rows = list(csv.DictReader(file))

    def spearman(column, among):
        truth = [float(row["c10_test_200"]) for row in among]
        return stats.spearmanr([float(row[column]) for row in among], truth).statistic

    # Computed from the table once, by other code.
    assert spearman("params_c10", rows) == pytest.approx(0.753, abs=5e-4)
    assert spearman("mflops_c10", rows) == pytest.approx(0.732, abs=5e-4)
    assert spearman("c10_valid_12", rows) == pytest.approx(0.772, abs=5e-4)
    assert spearman("c10_valid_200", rows) == pytest.approx(0.984, abs=5e-4)
    best = sorted(rows, key=lambda row: -float(row["c10_test_200"]))[: len(rows) // 10]
    assert spearman("params_c10", best) == pytest.approx(0.110, abs=5e-3)
    assert spearman("c10_valid_12", best) == pytest.approx(0.503, abs=5e-3)
