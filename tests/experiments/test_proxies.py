"""Zero-cost proxies and shared weights measured: rank correlations, and the tables made of them."""

import json

import pytest
from nasbench201 import rows, write_table
from searching import stripes

import proxies
import sampler_tables
from result_tables import Results
from xnas.benchmarks import TabularBenchmark
from xnas.samplers import proxy_score
from xnas.samplers.proxy_search import ProxySettings, noise
from xnas.samplers.ranks import rank_correlation

FOUND = {
    "cells": 200,
    "seed": 0,
    "shared": {"darts": {"seconds": 0.312, "cells": 10}, "nasbench201": {"seconds": 0.08, "cells": 10}},
    "table": {
        "table": {
            "params": {"all": 0.75269, "best tenth": 0.10835},
            "valid_12": {"all": 0.77, "best tenth": 0.5},
        }
    },
    "proxies": {
        "params": {"batch": None, "noise": {"correlation": 0.7912, "seconds": 0.0000213}},
        "naswot": {
            "batch": 128,
            "noise": {"correlation": 0.73, "seconds": 0.5},
            "images": {"correlation": 0.77, "seconds": 0.52},
        },
        "valid_12": {"batch": None, "table": {"correlation": 0.81}},
    },
    "device": "CPU",
    "torch": "2",
    "python": "3",
    "xnas": "0",
}


def test_cells_are_drawn_once_each():
    drawn = proxies.drawn_cells(30)
    assert len(set(drawn)) == 30
    assert proxies.drawn_cells(30) == drawn


def test_a_proxy_ranks_its_own_scores_perfectly():
    cells, images = proxies.drawn_cells(8), noise(ProxySettings(batch=2), 0)
    sizes = [proxy_score("params", cell, images) for cell in cells]
    assert proxies.scored("params", cells, images, sizes)["correlation"] == 1
    assert proxies.scored("params", cells, images, [-size for size in sizes])["correlation"] == -1
    assert proxies.scored("params", cells, images, sizes)["seconds"] > 0


def test_short_trainings_rank_the_whole_table_and_its_best_tenth(tmp_path):
    table = TabularBenchmark.load(write_table(tmp_path / "table.csv", rows()))
    found = proxies.whole_table(table)
    assert list(found) == ["params", "macs", "valid_12"]
    short, truth = (
        [value(entry) for entry in table.entries.values()]
        for value in (lambda entry: entry.valid_12, lambda entry: entry.test_200)
    )
    assert found["valid_12"]["all"] == pytest.approx(rank_correlation(short, truth))
    assert found["valid_12"]["best tenth"] != found["valid_12"]["all"]


def test_the_tables_have_what_was_measured(tmp_path):
    (tmp_path / sampler_tables.PROXIES).write_text(json.dumps(FOUND), encoding="utf8")
    page = sampler_tables.proxies(Results(tmp_path))
    assert "| `params` | — | 0.79 | — | 0.753 | 0.108 | 2e-05 |" in page
    assert "| `naswot` | 128 | 0.73 | 0.77 | — | — | 0.5 |" in page
    assert "| `synflow` |  | not measured yet |" in page
    assert "validation accuracy after 12 epochs | — | 0.81 | — | 0.770 | 0.500 | — |" in page
    assert "the standard error is 0.03 at a correlation of 0.8, 0.05 at 0.6" in page
    said = sampler_tables.shared(Results(tmp_path))
    assert "takes 0.3 s for `darts` and 0.08 s for `nasbench201`, of one CPU core" in said


def test_what_is_in_the_file_is_not_measured_again(tmp_path, monkeypatch):
    table = write_table(tmp_path / "table.csv", rows())
    measured = []
    monkeypatch.setattr(
        proxies, "shared_seconds", lambda space: measured.append(space) or {"seconds": 1}
    )
    monkeypatch.setattr(proxies, "proxy", lambda name, *_: measured.append(name) or {"batch": None})
    monkeypatch.setattr(proxies, "load_data", lambda *_: stripes())
    words = ["--table", str(table), "--data-dir", str(tmp_path), "--out", str(tmp_path / "out.json")]
    assert proxies.main(words) == 0
    assert measured == ["darts", "nasbench201", *proxies.PROXIES, "valid_12"]
    found = json.loads((tmp_path / "out.json").read_text(encoding="utf8"))
    del found["proxies"]["naswot"]
    (tmp_path / "out.json").write_text(json.dumps(found), encoding="utf8")
    measured.clear()
    assert proxies.main(words) == 0
    assert measured == ["naswot"]
    with pytest.raises(SystemExit, match=r"out\.json has other cells or versions; delete it"):
        proxies.main([*words, "--count", "7"])


@pytest.mark.slow
def test_an_evaluation_by_shared_weights_is_timed():
    assert 0 < proxies.shared_seconds("nasbench201")["seconds"] < 60
