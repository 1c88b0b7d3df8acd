"""docs/results.md is what its script writes from results/, and every line there says how it was made."""

import json
import re
from pathlib import Path

import pytest

import quick_accuracy
import searches
import write_results
from write_results import Results, document

ROOT = Path(__file__).parent.parent
LINES = [
    pytest.param(text, id=f"{path.name}:{number}")
    for path in sorted((ROOT / "results").glob("*.jsonl"))
    for number, text in enumerate(path.read_text(encoding="utf8").splitlines(), start=1)
]


def test_the_document_is_what_its_script_writes():
    told = (ROOT / "docs" / "results.md").read_text(encoding="utf8")
    assert told == document(told, Results(ROOT / "results")), "run experiments/write_results.py"


def test_the_document_has_every_table():
    told = (ROOT / "docs" / "results.md").read_text(encoding="utf8")
    assert re.findall(r"<!-- table: ([\w-]+) -->", told) == list(write_results.TABLES)


@pytest.mark.parametrize("text", LINES)
def test_a_line_has_a_command_versions_and_no_place_of_a_machine(text):
    line = json.loads(text)
    assert line["command"].startswith(("xnas train ", "xnas search "))
    assert {"job", "device", "torch", "xnas", "seed"} <= line.keys()
    assert line["data"] != "digits", "a rehearsal is no result"
    assert not re.search(r'["\s]/\w', text), "an absolute path"


def training(job, accuracy):
    return {
        "job": job.name,
        "command": job.command,
        "setting": job.setting,
        "cells": 5,
        "channels": 40,
        "parameters": 1_234_567,
        "batch_size": 256,
        "test_accuracy": accuracy,
        "train_accuracy": 0.99,
        "train_seconds": 98.5,
        "calls": 1,
        "epoch_seconds": 2.25,
        "process_seconds": None,
        "memory_bytes": 2**31,
        "device": "a GPU",
        "torch": "2.11",
        "python": "3.12",
        "xnas": "0.1",
    }


def epoch(number, epochs):
    rewards = {"skip_connect": 0.01 * number, "nor_conv_3x3": -0.01}
    return {
        "epoch": number,
        "entropy": {"normal": 0.9},
        "skip_share": {"normal": 0.5},
        "experts_alive": {"normal": 20},
        "rewards": {"normal": rewards},
        "rewards_by_stage": {"normal": dict.fromkeys("012", rewards)},
        "deleted": [{}] * 4 if number == epochs else [],
        "truth": {
            "arch": "|a~0|+|skip_connect~0|c~1|",
            "test_200": 90 + number / 100,
            "rank": 1234,
            "test_200_with_none": 80.5,
        },
        "cost": {"seconds": 3.0, "seconds_per_round": 0.0123, "memory_bytes": 2**30},
    }


def search(job):
    return {
        "job": job.name,
        "command": job.command,
        "variant": job.variant,
        "space": job.options["space"],
        "seed": job.options["seed"],
        "epochs": [epoch(e + 1, job.epochs) for e in range(job.epochs)],
        "genotype": {"normal": {"nodes": [[["skip_connect", 0], ["sep_conv_3x3", 1]]]}},
        "search_seconds": 150.0,
        "device": "a GPU",
        "torch": "2.11",
        "python": "3.12",
        "xnas": "0.1",
    }


def tables(folder, **files):
    for name, lines in files.items():
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (folder / f"{name}.jsonl").write_text(text, encoding="utf8")
    results = Results(folder)
    return {name: make(results) for name, make in write_results.TABLES.items()}


def test_without_results_every_table_says_so(tmp_path):
    made = tables(tmp_path)
    assert made.pop("earlier") == "None."
    for name, text in made.items():
        assert "not measured yet" in text.lower(), name


def test_seeds_are_summed_up_as_mean_deviation_and_range(tmp_path):
    lines = [training(job, a) for job, a in zip(quick_accuracy.JOBS, (0.93, 0.94, 0.95), strict=False)]
    made = tables(tmp_path, quick=lines)
    # By hand: mean 94, deviations 1, 0, 1 over n - 1 = 2 give 1.
    assert (
        "| 100 s | 100 s | 98.5 s | 93.00 % | 94.00 ± 1.00 (93.00 to 95.00) | 3 of 3 |" in made["goals"]
    )
    assert (
        "5 cells, 40 channels, 1.23 M, batch 256 | 93.00 % | 99.00 % | 98.5 s | 2.2 s | — | 2.0 GiB"
        in (made["quick"])
    )
    assert made["quick"].count("not measured yet") == len(quick_accuracy.JOBS) - 3


def test_searches_show_their_path_rewards_and_cost(tmp_path):
    declared = {job.name: job for jobs in searches.SETS.values() for job in jobs}.values()
    made = tables(tmp_path, searches=[search(job) for job in declared])
    for name in ("first-epochs", "rewards", "full", "wipeout", "darts"):
        assert "not measured yet" not in made[name], name
    assert "| default, seed 0 | 90.01 / 80.50 | 90.02 / 80.50 |" in made["first-epochs"]
    assert (
        "`\\|a~0\\|+\\|skip_connect~0\\|c~1\\|` | 1,234 | 0.900 | 1 of 3 | 12.3 ms | 1.0 GiB |"
        in made["first-epochs"]
    )
    assert "| default, seed 0 | 3 | -0.0100, -0.0100 | +0.0100, +0.0500 |" in made["rewards"]
    assert "| darts | 2 of 2 | 90.50 ± 0.00 (90.50 to 90.50) |" in made["full"]
    assert "| relaxation-0.1, seed 1 | 50 | 20 of 24 | 12.3 ms | 12.3 ms | 150.0 s |" in made["wipeout"]
    assert "skip_connect 0, sep_conv_3x3 1" in made["darts"]


def test_lines_of_earlier_settings_are_listed(tmp_path):
    line = training(quick_accuracy.JOBS[0], 0.5) | {"command": "xnas train xnas cifar10 --epochs 1"}
    made = tables(tmp_path, quick=[line])
    assert (
        "| 100s-xnas-0 | test accuracy 50.00 % in 98.5 s | `xnas train xnas cifar10 --epochs 1` |"
        in (made["earlier"])
    )
    assert made["goals"].count("not measured yet") == 6


def test_a_table_that_is_not_there_is_named(tmp_path):
    with pytest.raises(SystemExit, match="no table called 'other'"):
        document("<!-- table: other -->\n<!-- end of table -->", Results(tmp_path))


def test_the_check_says_whether_the_document_would_change(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "Before.\n\n<!-- table: goals -->\n<!-- end of table -->\n\nAfter.\n", encoding="utf8"
    )
    words = ["--results", str(tmp_path), "--document", str(page)]
    assert write_results.main([*words, "--check"]) == 1
    assert write_results.main(words) == 0
    assert write_results.main([*words, "--check"]) == 0
    assert page.read_text(encoding="utf8").startswith("Before.")
    assert page.read_text(encoding="utf8").endswith("After.\n")
