"""The comparison of cells: what it trains, what it waits for, and what its tables say."""

import json
from pathlib import Path

import pytest
from result_lines import as_data, search, training, write

import cell_tables
import compare_cells
import searches
from compare_cells import CELLS, FOUND, JOBS, RANDOM, found_genotypes
from jobs import ResultsFile
from result_tables import Results
from xnas import Genotype

ROOT = Path(__file__).parent.parent.parent


def words(tmp_path, *others):
    places = {"--runs": "runs", "--out": "out.jsonl", "--searches": "searches.jsonl", "--cells": "cells"}
    given = [word for flag, name in places.items() for word in (flag, str(tmp_path / name))]
    return ["--tiny", "--device", "cpu", *given, *others]


def rehearsed_search(cell):
    """The line of a rehearsed search, as far as the comparison reads it."""
    job = searches.tiny(cell.search)
    genotype = as_data(Genotype.random("darts", 7))
    return {"job": job.name, "command": job.command, "genotype": genotype}


def test_all_cells_are_trained_with_a_seed_before_the_next():
    assert [job.of.name for job in JOBS] == [cell.name for cell in CELLS] * 3
    assert [job.options["seed"] for job in JOBS] == sorted(job.options["seed"] for job in JOBS)
    assert len(CELLS) == 4 + 2 + 5


def test_trainings_differ_in_cell_and_seed_alone():
    assert len({(j.data, j.options["recipe"], j.options["epochs"], j.setting) for j in JOBS}) == 1
    assert JOBS[0].options["epochs"] == 24


def test_trainings_of_found_cells_wait_for_their_search(tmp_path, capsys):
    (tmp_path / "searches.jsonl").write_text(
        json.dumps(rehearsed_search(FOUND[1])) + "\n", encoding="utf8"
    )
    assert compare_cells.main(words(tmp_path, "--list")) == 0
    told = capsys.readouterr().out
    assert told.count("waits for the search ") == 3 * (len(FOUND) - 1)
    assert "waits for the search darts-default-1" not in told
    assert f"{3 * (len(RANDOM) + 2 + 1)} of 21 jobs left" in told
    assert [path.name for path in (tmp_path / "cells").iterdir()] == ["darts-default-1.json"]


@pytest.mark.evidence
def test_a_found_cell_is_trained_in_this_process_and_in_others(tmp_path, capsys):
    write(tmp_path, searches=[rehearsed_search(FOUND[0])])
    first, second = "cells-darts-default-0-seed-0", "cells-random_4-seed-0"
    assert compare_cells.main(words(tmp_path, "--only", first)) == 0
    assert compare_cells.main(words(tmp_path, "--only", second, "--at-once", "2")) == 0
    one, other = ResultsFile(tmp_path / "out.jsonl").lines()
    assert (one["job"], one["cell"], one["origin"], one["at_once"]) == (
        *(first, "darts-default-0", "default", 1),
    )
    assert (other["job"], other["origin"], other["at_once"]) == (second, "random", 2)
    assert one["genotype"] == as_data(Genotype.random("darts", 7))
    assert other["genotype"] == as_data(Genotype.random("darts", 4))
    assert compare_cells.main(words(tmp_path, "--only", first, second)) == 0  # nothing is left
    assert not list((tmp_path / "runs").iterdir())
    assert "0 of 2 jobs left" in capsys.readouterr().out


def test_at_least_one_at_once(tmp_path, capsys):
    with pytest.raises(SystemExit):
        compare_cells.main(words(tmp_path, "--at-once", "0"))
    assert "--at-once must be at least 1, got 0" in capsys.readouterr().err


def test_a_search_with_other_settings_gives_no_cell():
    line = search(FOUND[0].search)
    assert list(found_genotypes([line])) == ["darts-default-0"]
    assert found_genotypes([line | {"command": "xnas search cifar10 --epochs 1"}]) == {}


def filled(folder, value, *, seeds=(0, 1), cells=CELLS, without=()):
    """Results of the searches and of trainings whose accuracy is `value(cell, seed)`."""
    lines = [search(job) for job in searches.SETS["darts"]]
    found = found_genotypes(lines)
    jobs = [j for j in JOBS if j.options["seed"] in seeds and j.of in cells and j.name not in without]
    trained = [training(j, value(j.of, j.options["seed"]), found.get(j.of.name)) for j in jobs]
    write(folder, searches=lines, cells=trained)
    return Results(folder)


def test_the_tables_show_cells_and_compare_them(tmp_path):
    def value(cell, seed):  # random cells 0.930 to 0.933, all others 0.94, and seed 1 is 0.001 better
        place = RANDOM.index(cell) / 1000 if cell in RANDOM else 0.01
        return 0.93 + place + seed / 1000

    results = filled(tmp_path, value)
    made = cell_tables.cells(results)
    assert "| random_2 | random | 2 of 3 | 93.15 ± 0.07 (93.10 to 93.20) | " in made
    assert "| 1.23 M | 160 M |" in made
    told = cell_tables.comparison(results).splitlines()
    # By hand: 94 - 93.15 = 0.85 with each seed; no other choice of 3 from 7 is as far.
    assert told[0].startswith(
        "- cells of the default search: 3 of 3 against 4 of 4 random cells: +0.85 points (seed 0: "
        "+0.85, seed 1: +0.85), 95 % interval "
    )
    assert "of 35 divisions of these cells 1 differs by as much, p = 0.029" in told[0]
    assert told[0].endswith("**The difference is more than noise; these are the better ones.**")
    assert "5 of 5 against 4 of 4" in told[1]
    assert "cannot give less than p = 0.067" in told[2]
    assert told[-1].startswith(
        "Noise of a training, beyond what its cell and its seed give: 0.00 points"
    )


def test_a_cell_with_fewer_seeds_is_named_and_leaves_the_noise_to_others(tmp_path):
    results = filled(tmp_path, lambda *_: 0.93, without=["cells-random_4-seed-1"])
    told = cell_tables.comparison(results).splitlines()
    assert "random cells, seed 0 alone, as random_4 has no more: +0.00 points (seed 0:" in told[0]
    assert told[-1].endswith("0.00 points (standard deviation, 10 cells, 2 seeds).")


def test_cells_that_are_missing_are_counted(tmp_path):
    results = filled(tmp_path, lambda *_: 0.93, seeds=(0,), cells=[*RANDOM[:2], *FOUND[:2]])
    told = cell_tables.comparison(results).splitlines()
    assert "2 of 3 against 2 of 4 random cells: +0.00 points (seed 0: +0.00)" in told[0]
    assert told[2] == "- published cells: not measured yet (0 of 2 against 2 of 4 random cells)."
    assert told[-1] == "Noise of a training: not measured yet."
    assert "| darts-faithful-0 | faithful | 0 of 3 | not measured yet |" in cell_tables.cells(results)
    assert "the search comes first" not in cell_tables.cells(results)


def test_without_results_a_cell_waits_for_its_search(tmp_path):
    made = cell_tables.cells(Results(tmp_path))
    assert made.count("not measured yet: the search comes first") == len(FOUND)


def test_a_training_of_another_cell_than_was_found_is_refused(tmp_path):
    filled(tmp_path, lambda *_: 0.93)
    write(
        tmp_path,
        searches=[search(FOUND[0].search) | {"genotype": as_data(Genotype.random("darts", 99))}],
    )
    with pytest.raises(SystemExit, match="trained another cell than the search darts-default-0 gave"):
        cell_tables.cells(Results(tmp_path))
