"""Searches in stages: other supernets, fewer experts, fresh or kept weights and methods."""

import json
import os
import re
import signal
from dataclasses import replace

import pytest
import torch
from hooked import Plain
from searching import stripes, tiny

from xnas import ConfigError, SampleConfig, SearchConfig, resume_search, search
from xnas.engine import end_epoch, play_round, restore_search, search_state
from xnas.engine.capture import copied
from xnas.engine.distributed import ALONE
from xnas.errors import DamagedFileError
from xnas.methods import METHODS, LearnsLogits, Recipe, RegisteredMethod, Stage
from xnas.process.interrupt import Interrupted
from xnas.runs.displays import Silence
from xnas.runs.prepare import prepare
from xnas.runs.sampling.evaluators import EVALUATORS, evaluate_trial
from xnas.runs.search_plan import resolve
from xnas.runs.stages import StageBuilder
from xnas.samplers import Trial
from xnas.space import SPACES
from xnas.space.guards import UNGUARDED

FRESH = (Stage(epochs=2, cells=1), Stage(epochs=2, cells=2, experts=2))
KEPT = (
    Stage(epochs=2),
    Stage(epochs=2, weights_lr=0.01, final_weights_lr=0.01, fresh_weights=False, fresh_method=False),
)
GROWN = (Stage(epochs=2, cells=1), Stage(epochs=2, cells=2, fresh_method=False))
NARROWED = (Stage(epochs=2, cells=1), Stage(epochs=2, cells=2, experts=2, fresh_method=False))
SMALL = {"method": "staged", "space": "nasbench201", "channels": 2, "cells": None, "epochs": 4}


class Obedient(Plain):
    """Begins with the experts that are left."""

    def __init__(self, mixtures, game):
        super().__init__(mixtures, game)
        for kind, alive in game.alive.items():
            self.dead[kind] = ~alive
        self.write()

    def wipe(self, mixture, experts):
        self.dead[self.kind_of(mixture)] |= experts
        self.write()


@pytest.fixture
def staged(monkeypatch):
    """A method in stages, under the name `staged`."""

    def add(stages, factory=Obedient, **recipe):
        entry = RegisteredMethod(factory=factory, recipe=Recipe(cells=1, **recipe), stages=stages)
        monkeypatch.setitem(METHODS._entries, "staged", entry)

    return add


def played(prepared, epochs):
    """Whole epochs, with stages between them."""
    for _ in range(epochs):
        prepared = prepared.following() or prepared
        prepared.search.begin_epoch()
        for _ in range(prepared.search.settings.rounds_per_epoch):
            play_round(prepared.search)
        end_epoch(prepared.search)
    return prepared


def test_a_fresh_stage_has_another_supernet_with_the_strongest_experts(staged):
    staged(FRESH)
    first = played(prepare(tiny(**SMALL), stripes()), 2)
    strengths = first.search.method.strengths(first.search.mixtures["normal"])
    second = first.following()
    assert (first.search.supernet.cells_per_stage, second.search.supernet.cells_per_stage) == (1, 2)
    alive = second.search.method.alive(second.search.mixtures["normal"])
    strongest = torch.zeros_like(alive).scatter(1, strengths.topk(2).indices, value=True)
    assert torch.equal(alive, strongest)
    names = second.search.supernet.space.operations
    for edge in range(6):
        for forecaster in second.search.supernet.forecasters_of("normal", edge):
            assert [name in forecaster.experts for name in names] == alive[edge].tolist()
    mixture = second.search.mixtures["normal"]
    assert torch.equal(mixture, alive / 2)
    assert (second.game.epochs, second.game.stage, second.game.stages) == (2, 1, (2, 2))
    assert (second.search.epoch, second.search.game_epoch) == (2, 0)
    assert second.search.learning_rate() == 0.025
    assert second.search.dropout is first.search.dropout
    assert second.following() is None


def test_of_equal_experts_the_earlier_columns_go(staged):
    staged(FRESH)
    first = prepare(tiny(**SMALL), stripes())
    first.search.epoch = 2
    second = first.following()
    alive = second.search.method.alive(second.search.mixtures["normal"])
    assert alive.tolist() == [[False, False, True, True]] * 6


def test_a_kept_stage_goes_on_with_a_new_rate_and_fresh_momenta(staged):
    staged(KEPT)
    first = played(prepare(tiny(**SMALL), stripes()), 2)
    second = first.following()
    assert second.search.supernet is first.search.supernet
    assert second.search.method is first.search.method
    assert first.search.weight_optimizer.state
    assert not second.search.weight_optimizer.state
    assert (second.game.epochs, second.search.game_epoch) == (4, 2)
    assert [second.search.learning_rate(), first.search.settings.learning_rate] == [0.01, 0.025]
    assert played(second, 2).search.epoch == 4


def test_a_kept_method_learns_on_in_a_grown_supernet(staged):
    staged(GROWN)
    first = played(prepare(tiny(**SMALL), stripes()), 2)
    before = first.search.mixtures["normal"].detach().clone()
    second = first.following()
    assert second.search.method is first.search.method
    mixture = second.search.mixtures["normal"]
    assert torch.equal(mixture, before)
    assert second.search.supernet.replications == {"normal": 6}
    played(second, 1)
    assert not torch.equal(mixture, before)


def test_a_kept_method_learns_on_with_the_strongest_experts(staged):
    staged(NARROWED)
    first = played(prepare(tiny(**SMALL), stripes()), 2)
    before = first.search.mixtures["normal"].detach().clone()
    second = first.following()
    assert second.search.method is first.search.method
    alive = second.search.method.alive(second.search.mixtures["normal"])
    strongest = torch.zeros_like(alive).scatter(1, before.topk(2).indices, value=True)
    assert torch.equal(alive, strongest)
    expected = before * alive / (before * alive).sum(-1, keepdim=True)  # what was learned is kept
    torch.testing.assert_close(second.search.mixtures["normal"].detach(), expected)
    assert (expected[alive] != 0.5).any()
    names = second.search.supernet.space.operations
    for edge in range(6):
        for forecaster in second.search.supernet.forecasters_of("normal", edge):
            assert [name in forecaster.experts for name in names] == alive[edge].tolist()
    assert len(second.search.deleted) == 6 * 2
    played(second, 1)


def test_a_kept_method_that_cannot_wipe_is_refused_fewer_experts(staged):
    staged(NARROWED, Plain)
    first = played(prepare(tiny(**SMALL), stripes()), 2)
    with pytest.raises(ConfigError, match=r"keeps the method Plain .* it has no wipe\(mixture, experts"):
        first.following()


@pytest.mark.parametrize("stages", [FRESH, KEPT, GROWN, NARROWED])
def test_a_checkpoint_is_restored_in_its_stage_and_plays_on_alike(staged, stages):
    staged(stages)
    whole = played(prepare(tiny(**SMALL), stripes()), 2).following()
    whole.search.begin_epoch()
    play_round(whole.search)
    state = copied(search_state(whole.search))
    assert state["stage"] == 1
    again = prepare(tiny(**SMALL), stripes()).resumed(state)
    restore_search(again.search, state)
    for twin in (whole, again):
        play_round(twin.search)
    for part in ("supernet", "method"):
        one, other = (search_state(twin.search)[part] for twin in (whole, again))
        assert repr(one) == repr(other)
    assert (again.search.deleted, again.search.gone) == (whole.search.deleted, whole.search.gone)
    assert again.game.stage == whole.game.stage


def test_decisions_of_darts_pt_come_in_its_second_stage_after_a_warm_up():
    small = SMALL | {"method": "darts-pt", "cells": 1, "epochs": 20, "warmup": 0.3}
    prepared = prepare(tiny(**small), stripes())
    assert [(s.span.first, s.span.epochs) for s in prepared.plan.stages] == [(0, 16), (16, 4)]
    assert prepared.plan.warmup_epochs == 6
    decided = []
    while prepared.search.epoch < 20:
        prepared = played(prepared, 1)
        decided.append(int(prepared.search.method.decided["normal"].sum()))
    # Sec. 5.20 has 6 edges in 25 epochs, at epochs 0, 5, 10, 15, 20 and 24; here there are 4 of these.
    assert decided == [0] * 15 + [1, 2, 3, 6, 6]
    assert (prepared.search.standing().alive["normal"].sum(-1) == 1).all()


def test_a_warm_up_as_long_as_the_first_stage_is_refused(staged):
    staged(FRESH)
    for share in (0.5, 0.9):
        with pytest.raises(ConfigError, match=r"stage, which has 2; use a --warmup below 0\.375$"):
            prepare(tiny(**(SMALL | {"warmup": share})), stripes())
    assert prepare(tiny(**(SMALL | {"warmup": 0.25})), stripes()).game.epochs == 1


def test_a_forged_stage_is_refused(staged):
    staged(FRESH)
    prepared = prepare(tiny(**SMALL), stripes())
    state = search_state(prepared.search)
    for number in (7, "1", None):
        with pytest.raises(DamagedFileError, match="does not fit this search"):
            prepared.resumed(state | {"stage": number})
    with pytest.raises(DamagedFileError, match="it is of stage 1, not 0"):
        restore_search(prepared.search, state | {"stage": 1})


def test_a_method_that_brings_dead_experts_back_is_refused(staged):
    staged(FRESH, Plain)
    first = played(prepare(tiny(**SMALL), stripes()), 2)
    with pytest.raises(
        ConfigError, match=r"staged has stages .* let its alive\(\) begin with game.alive"
    ):
        first.following()


class Stopping(Silence):
    """Asks to stop after a round."""

    def __init__(self, after):
        self.after, self.lines = after, []

    def say(self, line):
        self.lines.append(line)

    def after_round(self, found):
        if found.rounds == self.after:
            os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.parametrize("after", [pytest.param(10, marks=pytest.mark.slow), 11])
def test_a_run_stopped_at_the_first_round_of_a_stage_or_inside_it_resumes_alike(staged, tmp_path, after):
    staged(FRESH)
    display = Stopping(0)
    search(tiny(**SMALL, out=tmp_path / "whole"), stripes(), display=display)
    assert "chosen: 2 stages of 2, 2 epochs" in display.lines
    (line,) = (line for line in display.lines if line.startswith("stage"))
    assert re.fullmatch(
        r"stage 2 of 2: 2 epochs, supernet of 2 cells and [\d,]+ weights, 12 experts", line
    )
    with pytest.raises(Interrupted):
        search(tiny(**SMALL, out=tmp_path / "run"), stripes(), display=Stopping(after))
    config = json.loads((tmp_path / "run" / "config.json").read_text(encoding="utf8"))["config"]
    assert (config["cells"], config["channels"]) == (None, 2)  # a number would hold for all stages
    resume_search(tmp_path / "run", data=stripes())
    for name in ("genotype.json", "discretization.json"):
        one, other = ((tmp_path / run / name).read_text() for run in ("whole", "run"))
        assert one == other
    lines = []
    for run in ("whole", "run"):
        found = map(json.loads, (tmp_path / run / "metrics.jsonl").read_text().splitlines())
        lines.append([{k: v for k, v in line.items() if k != "cost"} for line in found])
    assert lines[0] == lines[1]
    assert lines[0][-1]["experts_alive"] == {"normal": 12}


def test_cells_are_measured_with_the_weights_of_the_last_stage(staged, tmp_path):
    staged(GROWN)
    found = search(tiny(**SMALL, out=tmp_path / "run"), stripes())
    config = SampleConfig(
        weights=tmp_path / "run", evaluator="shared", space="nasbench201", device="cpu"
    )
    evaluator = EVALUATORS["shared"].build(config, stripes())
    trial = Trial(number=0, genotype=found.genotype)
    result = evaluate_trial(evaluator, trial, tmp_path)
    assert (result.state, result.at) == ("done", 4)
    assert 0 < result.value <= 1


@pytest.mark.parametrize("space", [{"space": "darts", "cells": 3}, {"cells": 1}])
def test_partial_channels_are_searched_by_any_method(space):
    settings = {"space": "nasbench201", "channels": 4, "partial_channels": 2} | space
    prepared = prepare(tiny(**settings), stripes())
    whole = prepare(tiny(**settings | {"partial_channels": None}), stripes())
    weights = [sum(p.numel() for p in each.search.weights) for each in (prepared, whole)]
    assert weights[0] < 0.8 * weights[1]
    assert prepared.game.partial_channels == 2
    played(prepared, 1)
    assert prepared.search.mixtures["normal"].std() > 0


def test_channels_without_equal_parts_are_refused():
    settings = {"space": "nasbench201", "cells": 1, "channels": 10, "partial_channels": 4}
    with pytest.raises(ConfigError, match="multiples of 4, got 10; use --channels 12"):
        prepare(tiny(**settings), stripes())


ADAM = {"lr": 3e-4, "betas": (0.5, 0.999), "decay": 1e-3, "start": (0.0, 1e-3)}
"""DARTS's own, of logits (5.1)."""
DARTS = {
    "epochs": [50],
    "batch_size": 64,
    "cells": [8],
    "channels": 16,
    "rates": [(0.025, 0.001)],
    "momentum": 0.9,
    "nesterov": False,
    "weight_decay": 3e-4,
    "clip": 5.0,
    "none": True,
    "single_level": False,
    "parts": [1],
    "adam": ADAM,
}
"""DARTS's own search (5.1), from which most others differ in a few numbers."""
BENCHMARK = DARTS | {"epochs": [100], "cells": [5]}
"""The same on NAS-Bench-201, as several papers ran it (5.14, 5.16, 5.20)."""
PROXYLESS = DARTS | {
    "epochs": [120],
    "rates": [(0.025, 0.0)],
    "nesterov": True,
    "weight_decay": 4e-5,
    "none": False,
    "adam": {"lr": 1e-3, "betas": (0.0, 0.999), "decay": 0.0, "start": (0.0, 1e-3)},
}
GDAS = DARTS | {"epochs": [250], "batch_size": 256, "nesterov": True, "weight_decay": 5e-4}
GAEA = BENCHMARK | {"epochs": [25], "channels": 24, "none": False, "adam": None}
PARTIAL = DARTS | {"batch_size": 256, "rates": [(0.1, 0.0)], "parts": [4]}
FASTER = ADAM | {"lr": 6e-4}
PUBLISHED = {
    ("darts", "darts"): DARTS | {"batch_size": 96},  # a departure, errata (u)
    ("darts2", "darts"): DARTS,  # 5.1
    ("darts2", "nasbench201"): BENCHMARK | {"epochs": [50]},  # 5.1
    ("gaea", "nasbench201"): GAEA,  # 5.2
    ("gaea-erm", "nasbench201"): GAEA | {"single_level": True},  # 5.2
    ("gaea-pc", "darts"): PARTIAL | {"adam": None},  # 5.2
    ("snas", "darts"): DARTS  # 5.3
    | {"epochs": [150], "single_level": True, "adam": ADAM | {"start": (1.0, 0.01)}},
    ("gdas", "darts"): GDAS,  # 5.4
    ("gdas", "nasbench201"): GDAS | {"batch_size": 64, "cells": [5]},  # 5.4
    ("drnas", "nasbench201"): BENCHMARK,  # 5.5
    ("drnas-progressive", "darts"): DARTS  # 5.5
    | {
        "epochs": [25, 25],
        "cells": [20, 20],
        "channels": 36,
        "rates": [(0.1, 0.0)] * 2,
        "none": False,
        "parts": [6, 4],
        "adam": FASTER,
    },
    ("drnas-progressive", "nasbench201"): BENCHMARK  # 5.5
    | {"epochs": [50, 50], "cells": [5, 5], "rates": [(0.025, 0.001)] * 2, "parts": [4, 2]},
    ("asap", "darts"): DARTS | {"none": False},  # 5.6
    ("pdarts", "darts"): DARTS  # 5.7
    | {
        "epochs": [25, 25, 25],
        "batch_size": 96,
        "cells": [5, 11, 17],
        "rates": [(0.025, 0.0)] * 3,
        "parts": [1, 1, 1],
        "adam": FASTER,
    },
    ("sharp", "darts"): DARTS | {"rates": [(0.025, 1e-4)]},  # 5.8
    ("proxyless", "darts"): PROXYLESS,  # 5.9
    ("proxyless-two", "darts"): PROXYLESS,  # 5.9
    ("proxyless-rl", "darts"): PROXYLESS,  # 5.9
    ("dso", "darts"): DARTS  # 5.10; the clip is a departure
    | {
        "epochs": [120],
        "batch_size": 128,
        "rates": [(0.1, 0.1)],
        "nesterov": True,
        "weight_decay": 1e-4,
        "none": False,
        "adam": None,
    },
    ("enas", "darts"): DARTS  # 5.11
    | {
        "epochs": [150],
        "batch_size": 160,
        "rates": [(0.05, 5e-4)],
        "nesterov": True,
        "weight_decay": 1e-4,
        "none": False,
        "adam": None,
    },
    ("random", "darts"): DARTS | {"epochs": [150], "adam": None},  # 5.12
    ("pc-darts", "darts"): PARTIAL | {"adam": FASTER},  # 5.13
    ("beta", "darts"): DARTS,  # 5.14
    ("beta", "nasbench201"): BENCHMARK,  # 5.14
    ("fair", "darts"): DARTS  # 5.15
    | {
        "batch_size": 128,
        "rates": [(0.005, 0.001)],
        "none": False,
        "adam": {"lr": 3e-3, "betas": (0.9, 0.999), "decay": 1e-3, "start": (0.0, 0.0)},
    },
    ("sdarts-rs", "darts"): DARTS,  # 5.16
    ("sdarts-rs", "nasbench201"): BENCHMARK,  # 5.16
    ("sdarts-adv", "darts"): DARTS,  # 5.16
    ("sdarts-adv", "nasbench201"): BENCHMARK,  # 5.16
    ("oles", "darts"): DARTS,  # 5.17
    ("lambda", "darts"): DARTS | {"batch_size": 96},  # 5.18, the script's
    ("darts-minus", "darts"): DARTS,  # 5.19
    ("darts-pt", "darts"): DARTS  # 5.20
    | {
        "epochs": [50, 81],
        "cells": [8, 8],
        "rates": [(0.025, 0.001), (0.0025, 0.0025)],
        "parts": [1, 1],
    },
    ("darts-pt", "nasbench201"): BENCHMARK  # 5.20
    | {
        "epochs": [100, 25],
        "cells": [5, 5],
        "rates": [(0.025, 0.001), (0.0025, 0.0025)],
        "parts": [1, 1],
    },
}
"""Recipes by method and space, on a GPU and with CIFAR-10's halves. Numbers are those of the methods'
papers and of their authors' code, by the sections of the specification from which they were built."""


@pytest.mark.parametrize(("method", "space"), list(PUBLISHED))
def test_a_method_is_searched_by_its_published_recipe(method, space):
    expected = PUBLISHED[method, space]
    config = SearchConfig(method=method, space=space)
    plan = resolve(config, examples=25_000, device=torch.device("cuda"))
    builder = StageBuilder(
        plan=plan,
        images=None,
        device=torch.device("cpu"),
        train=None,
        valid=None,
        examples=25_000,
        rounds=25_000 // plan.batch_size,
        ranks=ALONE,
    )
    settings = [builder._settings(stage) for stage in plan.stages]
    (first,) = {replace(s, **CHANGING) for s in settings}  # all else holds for every stage
    assert {
        "epochs": [stage.span.epochs for stage in plan.stages],
        "batch_size": plan.batch_size,
        "cells": [stage.cells for stage in plan.stages],
        "channels": plan.channels,
        "rates": [(s.learning_rate, s.final_learning_rate) for s in settings],
        "momentum": first.momentum,
        "nesterov": first.nesterov,
        "weight_decay": first.weight_decay,
        "clip": first.gradient_clip,
        "none": plan.include_none,
        "single_level": plan.single_level,
        "parts": [stage.partial_channels for stage in plan.stages],
        "adam": adam_of(builder, plan),
    } == expected
    assert plan.guards == UNGUARDED


CHANGING = {
    "learning_rate": 0.0,
    "final_learning_rate": 0.0,
    "rate_epochs": None,
    "stage": 0,
    "game_from": 0,
}
"""Settings in which stages of a search differ."""


def adam_of(builder, plan):
    """Adam's settings for the logits, and the mean and the spread with which these begin."""
    space = SPACES[plan.options.space]
    space = space.with_none() if plan.include_none else space
    size = {"num_classes": 10, "cells": 3, "channels": 12}
    supernet = space.supernet(space, **size)
    method = builder._method(supernet, builder._game(supernet, plan.stages[0], gone=()))
    if not isinstance(method, LearnsLogits):
        return None
    (group,) = method.adam.param_groups
    logits = torch.cat([p.detach().flatten() for p in getattr(method, "inner", method).logits])
    mean, spread = float(logits.mean()), float(logits.std())
    start = next(s for s in STARTS if mean == pytest.approx(s[0], abs=5e-3) and within(spread, s[1]))
    found = {"lr": group["lr"], "betas": group["betas"], "decay": group["weight_decay"]}
    return found | {"start": start}


STARTS = ((0.0, 0.0), (0.0, 1e-3), (1.0, 0.01))


def within(found, expected):
    """Whether a spread of a few dozen draws, or of none, is the expected one."""
    return found == pytest.approx(expected, rel=0.4)
