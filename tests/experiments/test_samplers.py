"""Samplers compared: a closed formula, one search, and the tables."""

import re
from argparse import Namespace
from itertools import product

import pytest

import sampler_tables
import samplers
from jobs import ResultsFile
from result_tables import Results
from samplers import JOBS, Sampling, random_expectation, search
from xnas.benchmarks import Entry, TabularBenchmark

OPERATIONS = ("none", "skip_connect", "nor_conv_1x1", "nor_conv_3x3", "avg_pool_3x3")


def planted():
    """A table in which the share of 3x3 convolutions is the accuracy, in sixths of 60 above 30."""
    entries = []
    for first in product(OPERATIONS, repeat=6):
        a, b, c, d, e, f = first
        arch = f"|{a}~0|+|{b}~0|{c}~1|+|{d}~0|{e}~1|{f}~2|"
        worth = 30 + 10 * first.count("nor_conv_3x3")
        entries.append(
            Entry(
                arch=arch,
                valid_200=worth,
                test_200=worth,
                valid_12=worth,
                test_12=worth,
                parameters=1,
                mflops=1.0,
            )
        )
    return TabularBenchmark(entries)


@pytest.fixture(scope="module")
def table():
    return planted()


def test_the_best_of_random_cells_follows_from_the_binomial_distribution(table):
    shares = [0.0, *[0.8**6 * sum(_ways(k) * 0.25**k for k in range(n + 1)) for n in range(7)]]
    for draws in (1, 10):
        expected = sum((shares[n + 1] ** draws - shares[n] ** draws) * (30 + 10 * n) for n in range(7))
        assert random_expectation(table, draws) == pytest.approx(expected)


def _ways(count):
    return {0: 1, 1: 6, 2: 15, 3: 20, 4: 15, 5: 6, 6: 1}[count]


def test_a_search_records_the_answer_after_every_mark(table, monkeypatch, tmp_path):
    monkeypatch.setattr(samplers, "_accuracies", lambda *_: (table.accuracy, table.accuracy))
    job = Sampling(name="x", sampler="local", evaluator="table", seeds=1)
    found = search(job, 3, table=tmp_path, cells=tmp_path)
    assert len(found.found) == 4  # 10, 25, 50 and 100 of 100 evaluations
    assert list(found.found) == sorted(found.found)
    assert found.found[-1] > found.found[0]
    assert found.distinct <= 100


def test_epochs_of_a_promoted_training_count_once(table, monkeypatch, tmp_path):
    pytest.importorskip("optuna")
    asked = []

    def value(cell, epochs):
        asked.append(epochs)
        return table.accuracy(cell)

    monkeypatch.setattr(samplers, "_accuracies", lambda *_: (value, table.accuracy))
    (job,) = (job for job in JOBS if job.sampler == "halving")
    epochs = search(job, 0, table=tmp_path, cells=tmp_path).epochs
    assert set(asked) == {12, 200}
    assert epochs == 12 * asked.count(12) + 188 * asked.count(200)
    assert search(JOBS[0], 0, table=tmp_path, cells=tmp_path).epochs == 1200


def test_a_job_that_was_stopped_goes_on_with_the_next_seed(table, monkeypatch, tmp_path):
    monkeypatch.setattr(samplers, "_accuracies", lambda *_: (table.accuracy, table.accuracy))
    job = Sampling(name="x", sampler="random", evaluator="table", seeds=4)
    given = Namespace(table=tmp_path, cells=tmp_path, runs=tmp_path / "runs", processes=1)
    whole = samplers.searches(job, given)
    kept = samplers.KeptSearches(given.runs, job)
    assert kept.read() == whole
    text = kept.path.read_text(encoding="utf8").splitlines(keepends=True)
    kept.path.write_text("".join(text[:2]) + text[2][:20], encoding="utf8")  # killed while it wrote
    played = []
    monkeypatch.setattr(samplers, "search", lambda *a, **b: played.append(a[1]) or search(*a, **b))
    again = samplers.searches(job, given)
    assert played == [2, 3]
    assert [one.found for one in again] == [one.found for one in whole]
    kept.forget()
    assert kept.read() == []


def test_a_line_with_fewer_seeds_than_declared_is_not_done(tmp_path):
    job = JOBS[0]
    results = samplers.SearchesFile(tmp_path / samplers.RESULTS)
    results.append({"job": job.name, "command": job.command, "seeds": job.seeds - 1})
    assert not results.has(job)
    results.append({"job": job.name, "command": job.command, "seeds": job.seeds})
    assert results.has(job)


def test_job_names_differ_and_samplers_are_registered():
    assert len({job.name for job in JOBS}) == len(JOBS)
    assert all(job.sampler in samplers.SAMPLERS for job in JOBS)


def test_a_row_has_means_spread_and_what_was_published(tmp_path):
    job = next(job for job in JOBS if job.name == "table-random")
    ResultsFile(tmp_path / samplers.RESULTS).append(
        {
            "job": job.name,
            "command": job.command,
            "evaluator": "table",
            "seeds": 2,
            "settings": {},
            "found": [93.0, 94.0],
            "curve": {"10": 92.0, "25": 92.5, "50": 93.0, "100": 93.5},
            "distinct": 99.6,
            "search_seconds": 0.0123,
            "expected": 93.7321,
            "epochs": 1200.0,
            "device": "CPU",
            "torch": "2",
            "python": "3",
            "xnas": "0",
        }
    )
    halving = next(job for job in JOBS if job.sampler == "halving")
    other = dict(ResultsFile(tmp_path / samplers.RESULTS).lines()[0])
    other |= {"job": halving.name, "command": halving.command, "sampler": "halving"}
    other |= {"epochs": 2464.4, "settings": samplers.RUNGS}
    page = sampler_tables.benchmark(Results(tmp_path))
    assert "evaluations train" not in page
    ResultsFile(tmp_path / samplers.RESULTS).append(other)
    page = sampler_tables.benchmark(Results(tmp_path))
    assert "100 evaluations train for 2,464 epochs with `halving` on average, and for 1,200" in page
    assert "random search has 93.73 % on average" in page
    means = "| random | its own | 2 | 92.00 | 92.50 | 93.00 | 93.50 |"
    assert f"{means} ± 0.71 (93.00 to 94.00) | 100 | 0.012 | 93.70 ± 0.36 |" in page
    assert "\n| evolution |" not in page
    left = [j.sampler for j in JOBS if j.evaluator == "table" and j not in (job, halving)]
    (told,) = (line for line in page.splitlines() if line.startswith("Not measured yet: "))
    assert re.findall(r"`(\w+)`", told) == left
