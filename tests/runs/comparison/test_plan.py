"""All runs of a comparison, with their settings."""

import pytest
from comparing import images

from xnas import CompareConfig, ConfigError
from xnas.runs.comparison.entries import entries_of
from xnas.runs.comparison.plan import (
    ComparedData,
    asks_the_benchmark,
    first_of_each,
    planned_runs,
    require_new_names,
)
from xnas.runs.sampling.config import SampleConfig

DATA = [ComparedData(label, label, images()) for label in ("digits", "photos")]


def planned(data=DATA[:1], **given):
    config = CompareConfig(**{"seeds": "0-1", **given})
    return planned_runs(config, entries_of(config), data)


def test_runs_of_a_seed_come_together_and_are_named_by_what_differs():
    assert [run.name for run in planned(methods="xnas,darts")] == [
        *("xnas-0", "darts-0", "xnas-1", "darts-1")
    ]
    both = planned(DATA, methods="xnas,darts", space="darts,nasbench201", seeds="3")
    assert both[0].name == "xnas-digits-darts-3"
    assert len(both) == 8
    assert len(list(first_of_each(planned(methods="xnas,darts")))) == 2


def test_no_folder_is_named_like_an_option():
    entries = {name: {"method": "darts"} for name in ("<b>evil|name", "--out", "??")}
    names = [run.name for run in planned(methods="xnas", entries=entries, seeds="0")]
    assert names == ["xnas-0", "b-evil-name-0", "out-0", "entry-0"]


def test_settings_of_an_entry_go_before_those_of_all():
    runs = planned(
        methods="xnas,darts",
        entries={"darts": {"epochs": 3}, "own": {"sampler": "random", "settings": {"a": 1}}},
        search={"epochs": 9, "channels": 4},
        device="cpu",
        image_size=8,
    )
    xnas, darts, own = (run.search for run in runs[:3])
    assert (xnas.epochs, darts.epochs, darts.channels) == (9, 3, 4)
    assert (xnas.device, xnas.image_size, xnas.seed, xnas.quiet) == ("cpu", 8, 0, True)
    assert isinstance(own, SampleConfig)
    assert own.sampler_settings == {"a": 1}


def test_trained_cells_have_a_baseline_without_a_search():
    *_, last = planned(methods="xnas", train="quick,epochs=2")
    assert (last.entry, last.search, last.train.epochs) == ("random cells", None, 2)


def test_two_runs_do_not_share_a_folder():
    runs = planned(methods="xnas", entries={"a b": {"method": "darts"}, "a/b": {"method": "gaea"}})
    with pytest.raises(ConfigError, match="'a b' and 'a/b' would share the folder a-b-0; rename one"):
        require_new_names(runs)


def test_it_is_known_who_asks_the_benchmark():
    runs = planned(methods="xnas", samplers="random", space="nasbench201", sample="evaluator=table")
    assert [asks_the_benchmark(run) for run in runs[:2]] == [False, True]
