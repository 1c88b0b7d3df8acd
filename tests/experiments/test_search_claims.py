"""Verdicts on the paper's search, from made-up runs: each part can hold, fail, or stay undecided."""

import json
from collections import Counter
from dataclasses import asdict

import pytest
from result_lines import as_data, search, training, write

import own_row
import searches
from compare_cells import CELLS, JOBS, found_genotypes
from result_tables import Results
from search_claims import CLAIMS, page
from xnas import Genotype
from xnas.paper.found_here import found_here
from xnas.space import cell_depth

VERDICTS = ("holds", "does not hold", "not decided")
SEARCHES = searches.declared(["full", "wipeout", "darts"])
PARTS = [(letter, number) for letter, claim in CLAIMS.items() for number in range(len(claim.parts))]


def with_truth(line, accuracy):
    """The same search, which ends at a cell of its own with this accuracy."""
    line["epochs"][-1]["truth"] |= {"test_200": accuracy, "arch": line["job"]}


def with_depth(line, depth):
    if line["space"] == "darts":
        drawn = (Genotype.random("darts", seed) for seed in range(10_000))
        line["genotype"] = as_data(next(g for g in drawn if cell_depth(g) == depth))


def with_seconds(line, seconds):
    for epoch in line["epochs"]:
        epoch["cost"]["seconds"] = seconds


def with_weights(line, count):
    for epoch in line["epochs"][1:-1]:
        epoch["weights_alive"] = count
    line["epochs"][0]["weights_alive"] = 1000


def with_entropy(line, entropy):
    line["epochs"][-2]["entropy"] = {"normal": entropy}


def measured(folder, change=lambda _: None, accuracy=lambda *_: 0.93, *, left_out=()):
    """Results of all runs but some, each search changed, trainings as `accuracy(cell, seed)` says."""
    lines = [search(job) for job in SEARCHES if job.name not in left_out]
    for line in lines:
        change(line)
    found = found_genotypes(lines)
    jobs = [j for j in JOBS if j.name not in left_out and (j.of.search is None or j.of.name in found)]
    trained = [training(j, accuracy(j.of, j.options["seed"]), found.get(j.of.name)) for j in jobs]
    write(folder, searches=lines, cells=trained)
    return Results(folder)


def outcome(results, letter, number):
    return CLAIMS[letter].parts[number].outcome(results)


def changed(setter, values):
    """What changes searches of the variants, by lists over seeds."""

    def change(line):
        by_seed = values.get(line["variant"], [])
        if line["seed"] < len(by_seed):
            setter(line, by_seed[line["seed"]])

    return change


LEVEL = [93, 93.1, 93, 93.1]
TWICE = {"relaxation-0.1": [2.0, 2.8], "relaxation-0.03": [2.0, 2.0], "default": [3.0, 3.0]}
SEARCHED = {
    # Values that let the part hold, fail, and stay undecided.
    ("a", 0): (
        with_truth,
        {"default": [94, 94.1, 94, 94.1], "no-wipeout": [93, 93.1]},
        {"default": LEVEL, "no-wipeout": [94, 94.1]},
        {"default": [93, 94, 93, 94], "no-wipeout": [93, 93.5]},
    ),
    ("a", 1): (
        with_truth,
        {"faithful": [94, 94.1], "darts": [90, 90.1]},
        {"faithful": [89, 89.1], "darts": [90, 90.1]},
        {"faithful": [94, 92], "darts": [90, 91]},
    ),
    ("b", 0): (
        with_seconds,
        {"default": [2.8, 2.0], "no-wipeout": [3.0, 3.0]},
        {"default": [2.9, 3.1], "no-wipeout": [3.0, 3.0]},
        {"default": [2.9, 2.8], "no-wipeout": [3.0, 3.0]},
    ),
    ("b", 1): (
        with_weights,
        {"default": [900, 500]},
        {"default": [990, 1000]},
        {"default": [990, 900]},
    ),
    ("b", 2): (
        with_seconds,
        TWICE,
        {name: [3.0, 3.0] for name in TWICE},
        TWICE | {"relaxation-0.03": [2.0, 3.0]},
    ),
    ("c", 0): (
        with_entropy,
        {"faithful": [0.5, 0.8]},
        {"faithful": [0.999, 0.99]},
        {"faithful": [0.5, 0.95]},
    ),
    ("c", 1): (
        with_truth,
        {"faithful": [94, 94.1], "default": LEVEL},
        {"faithful": [92, 92.1], "default": LEVEL},
        {"faithful": [92, 94], "default": LEVEL},
    ),
    ("d", 0): (
        with_depth,
        {"default": [1.0, 1.25, 1.0]},
        {"default": [0.75, 0.875, 0.75]},
        {"default": [1.0, 0.875, 1.0]},
    ),
    ("d", 1): (
        with_depth,
        {"default": [1.625, 1.75, 1.5]},
        {"default": [0.875, 0.875, 0.75]},
        {"default": [1.375, 1.375, 1.25]},
    ),
    ("f", 0): (
        with_truth,
        {"default": LEVEL},
        {"default": [90, 94, 91, 93]},
        {"default": [93.5, 94, 93.6, 94]},
    ),
}
# Accuracies of default cells 0 to 2, of random ones 1 to 4, and of DARTS_V2.
TRAINED = {
    ("e", 0): (
        ([0.94, 0.941, 0.942], [0.93, 0.931, 0.932, 0.933], 0.93),
        ([0.93, 0.931, 0.932], [0.94, 0.941, 0.942, 0.943], 0.93),
        ([0.93, 0.936, 0.942], [0.93, 0.931, 0.932, 0.943], 0.93),
    ),
    ("e", 1): (
        ([0.94, 0.941, 0.942], [0.93] * 4, 0.93),
        ([0.93, 0.931, 0.932], [0.93] * 4, 0.94),
        ([0.93, 0.931, 0.942], [0.93] * 4, 0.929),
    ),
}


def accuracies(ours, random, darts):
    def accuracy(cell, seed):
        kinds = {"default": ours, "random": random}
        group = [c for c in CELLS if c.origin == cell.origin]
        value = darts if cell.name == "darts_v2" else 0.93
        return (kinds[cell.origin][group.index(cell)] if cell.origin in kinds else value) + seed / 1000

    return accuracy


def test_every_part_is_tested_below():
    assert sorted([*SEARCHED, *TRAINED]) == PARTS


@pytest.mark.parametrize("verdict", VERDICTS)
@pytest.mark.parametrize("part", SEARCHED)
def test_searches_give_every_verdict(tmp_path, part, verdict):
    setter, *values = SEARCHED[part]
    results = measured(tmp_path, changed(setter, values[VERDICTS.index(verdict)]))
    assert outcome(results, *part)[1] == verdict


@pytest.mark.parametrize("verdict", VERDICTS)
@pytest.mark.parametrize("part", TRAINED)
def test_trainings_give_every_verdict(tmp_path, part, verdict):
    values = TRAINED[part][VERDICTS.index(verdict)]
    results = measured(tmp_path, accuracy=accuracies(*values))
    assert outcome(results, *part)[1] == verdict


@pytest.mark.parametrize("part", PARTS)
def test_nothing_is_judged_before_all_runs_are_there(tmp_path, part):
    letter, number = part
    jobs = CLAIMS[letter].parts[number].jobs
    assert outcome(Results(tmp_path), *part) == (
        f"not measured yet: 0 of {len(jobs)} runs.",
        "not measured yet",
    )
    told, verdict = outcome(measured(tmp_path, left_out=[jobs[-1].name]), *part)
    assert verdict == "not measured yet"
    assert f" of {len(jobs)} runs" in told


@pytest.mark.parametrize("part", PARTS)
def test_no_kind_of_search_is_judged_by_one_seed(part):
    letter, number = part
    jobs = [job for job in CLAIMS[letter].parts[number].jobs if isinstance(job, searches.SearchJob)]
    seeds = Counter((job.options["space"], job.variant) for job in jobs)
    assert min(seeds.values()) >= 2


def test_wipeout_that_changes_no_cell_is_no_help(tmp_path):
    def same(line):
        line["epochs"][-1]["truth"] |= {"test_200": 93 + line["seed"], "arch": str(line["seed"])}

    told, verdict = outcome(measured(tmp_path, same), "a", 0)
    assert verdict == "does not hold"
    assert "2 of 2 seeds found the same cell either way" in told


@pytest.mark.parametrize(
    "others", [{"at_once": 7}, {"at_once_by_call": [7, 3]}, {"beside": "the tests"}], ids=str
)
def test_times_with_other_work_in_parallel_decide_nothing(tmp_path, others):
    def beside(line):
        changed(with_seconds, {"default": [2.0, 2.0], "no-wipeout": [3.0, 3.0]})(line)
        if line["variant"] == "no-wipeout":
            line |= others

    told, verdict = outcome(measured(tmp_path, beside), "b", 0)
    assert verdict == "not decided"
    assert told.startswith("Times do not compare, because the searches ran under different loads. ")
    assert "time saved" not in told


def test_what_wipeout_takes_from_an_entropy_is_distinguished(tmp_path):
    def late(line):
        for epoch in line["epochs"]:
            epoch["entropy"], epoch["deleted"] = {"normal": 0.997}, []
        line["epochs"][-2] |= {"entropy": {"normal": 0.8}, "deleted": ["normal 3 none"]}

    told, verdict = outcome(measured(tmp_path, late), "c", 0)
    assert told == (
        "entropy with the paper's rate: 0.8000, 0.8000; with all experts still there: 0.9970, 0.9970."
    )
    assert verdict == "holds"


def test_what_was_measured_is_reported(tmp_path):
    results = measured(tmp_path)
    # 37 epochs with all weights, 12 with half: 12.2 % fewer. See `epoch` of the made-up lines.
    assert (
        "seed 0: weights saved 12.2 %, memory of the last epoch 50.0 %; first, half and last expert "
        "left after epoch: 38, 38, 38; 12 of 24 experts stayed to the last"
    ) in outcome(results, "b", 1)[0]
    # 137 seconds instead of 150.
    assert outcome(results, "b", 0)[0].startswith(
        "time saved: seed 0: 8.7 %; seed 1: 8.7 %. Measured on"
    )
    assert "faithful 90.55 ± 0.07 (90.50 to 90.60) %" in outcome(results, "a", 1)[0]


def test_the_page_reports_rule_numbers_and_verdict_of_every_part(tmp_path, monkeypatch):
    monkeypatch.setattr("search_claims.ALL", CLAIMS)  # without those of small searches
    made = page(measured(tmp_path))
    assert "not measured yet" not in made
    assert made.count("\n- Rule: ") == made.count("\n- Verdict: **") == len(PARTS)
    assert made.count("\n## (") == len(CLAIMS) == 6
    empty = tmp_path / "empty"
    assert page(Results(empty)).count("- Verdict: **not measured yet**") == len(PARTS)


def test_remarks_are_on_runs_that_are_there(tmp_path):
    remarks = [part.remark for claim in CLAIMS.values() for part in claim.parts if part.remark]
    made = page(measured(tmp_path))
    assert remarks
    assert all(f"- Remark: {remark}\n" in made for remark in remarks)
    assert "- Remark: " not in page(Results(tmp_path / "empty"))


def test_our_row_has_all_cells_of_the_default_search(tmp_path):
    ours = [0.94, 0.941, 0.942]
    results = measured(tmp_path, accuracy=accuracies(ours, [0.93] * 4, 0.93))
    (row,) = own_row.found_rows(results)
    # By hand: the mean of 94.1 over cells, and 0.1 more over seeds; deviations 0.1, 0, 0.1.
    assert (row.error, row.deviation) == (5.8, 0.1)
    assert (row.searches, row.seeds, row.search_minutes) == (3, 3, 2.5)
    assert (row.recipe, row.network, row.channels) == ("quick, 24 epochs", "cifar, 5 cells", 40)
    assert row.parameters == 1_234_567
    assert json.loads(own_row.data(results))["rows"] == [asdict(row)]


def test_our_row_has_the_time_of_a_search_that_had_the_gpu_to_itself(tmp_path):
    def one_alone(line):
        if line["job"] == "darts-default-1":
            line.update(at_once=1, search_seconds=90.0)

    assert own_row.found_rows(measured(tmp_path, one_alone))[0].search_minutes == 1.5


def test_seconds_that_are_not_known_are_those_of_the_epochs(tmp_path):
    results = measured(tmp_path, lambda line: line.update(search_seconds=None))
    # 37 epochs of 3 seconds and 13 of 2 are 137.
    assert own_row.found_rows(results)[0].search_minutes == 2.28


@pytest.mark.parametrize("missing", ["darts-default-2", "cells-darts-default-1-seed-2"])
def test_without_all_of_its_runs_there_is_no_row(tmp_path, missing):
    results = measured(tmp_path, left_out=[missing])
    assert own_row.found_rows(results) == []
    assert json.loads(own_row.data(results))["rows"] == []


def test_the_package_reads_what_is_written():
    assert [asdict(row) for row in found_here()] == json.loads(own_row.PATH.read_bytes())["rows"]
