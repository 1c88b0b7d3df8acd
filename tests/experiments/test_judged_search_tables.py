"""Tables of recorded searches, from made-up judgements."""

import json

import pytest

import judged_search_tables as tables
from judged_searches import DRAWN, INPUTS
from result_tables import Results

GUARDS = {
    "skip_dropout": 0.5,
    "expert_dropout": 0.5,
    "best_temperature": True,
    "warmup_epochs": 4,
    "edges": "absence",
    "auto_augment": "no",
    "wipeout": False,
}
CELL = "sep_conv_3x3:0 sep_conv_3x3:1 " * 3 + "sep_conv_3x3:2 skip_connect:4"


def darts(variant, seed, found=94.5, **guards):
    return {
        "search": f"short-{variant}-{seed}",
        "size": "short",
        "variant": variant,
        "seed": seed,
        "space": "darts",
        "guards": GUARDS | guards,
        "rewards": {"normal": [0.0] * 4 + [0.001] * 16, "reduction": [0.0] * 4 + [0.0005] * 16},
        "judged": {"5": 93.0, "20": found},
        "error": 0.25,
        "taken_apart": {
            "found": found,
            "shuffled": 94.0,
            "drawn": 93.5,
            "better_than_shuffled": 61.0,
            "better_than_drawn": 99.0,
        },
        "by_edge_rule": {DRAWN: 93.8, INPUTS: 94.4, "share": 94.2},
        "normal": CELL,
        "reduction": CELL,
    }


def known(size, variant, **guards):
    return {
        "search": f"{size}-{variant}-1",
        "size": size,
        "variant": variant,
        "seed": 1,
        "space": "nasbench201",
        "guards": GUARDS | guards,
        "true": {"5": 93.0, "20": 94.36, "100": 87.47},
        "arch": "|nor_conv_3x3~0|",
        "skips": 4,
        "least": {"epoch": 92, "true": 87.46},
    }


SEARCHES = [
    darts("absent", 0, edges="share", auto_augment="always", warmup_epochs=0),
    darts("candidate", 1, 94.6, wipeout=True),
    darts("candidate", 0, 94.4),
    known("benchmark", "eighth", expert_dropout=0.125),
    known("few", "eighth", best_temperature=False, auto_augment="balance"),
    {"search": "short-begun-0", "size": "short", "variant": "begun", "seed": 0, "played": 0},
]


@pytest.fixture
def results(tmp_path):
    (tmp_path / "judged_searches.json").write_text(json.dumps(SEARCHES), encoding="utf8")
    return Results(tmp_path)


def rows(text):
    return [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in text.splitlines()]


def test_searches_with_all_guards_come_first_and_are_one_kind(results):
    _, _, _, _, *made = rows(tables.darts(results))
    assert [row[:2] for row in made] == [["candidate", "0"], ["candidate", "1"], ["absent", "0"]]
    assert made[0][2:7] == ["0.5", "yes", "4 epochs", "—", "absence"]
    assert made[0][7:] == ["93.00", "—", "—", "94.40", "—", "0.25"]
    assert made[2][4:7] == ["—", "yes", "share"]


def test_what_the_judge_says_of_other_cells_comes_from_its_own_file(results):
    assert tables.darts(results).startswith("Other cells: not measured yet.")
    row = {"cell": "xnas", "judged": 94.02}
    drawn = {"cells": "any operation", "mean": 93.11}
    others = {
        "random": [drawn],
        "published": [row],
        "trained": [{"cell": "darts-default-0", "judged": 93.9}],
    }
    (results.folder / "judged_cells.json").write_text(json.dumps(others), encoding="utf8")
    told = tables.darts(results).splitlines()[0]
    assert "any operation 93.11" in told
    assert told.endswith("`xnas` 94.02, `darts-default-0` 93.90.")


def test_cells_taken_apart_have_gains_with_their_standard_error(results):
    by_search, by_kind = map(rows, tables.taken_apart(results).split("\n\n"))
    assert by_search[2] == ["candidate", "0", "94.40", "94.00", "93.50", "61 %", "99 %", "6, 6"]
    # Gains of 0.4 and 0.6: their deviation is 0.2 / sqrt(2), the error of their mean 0.1.
    assert by_kind[2][-2:] == ["+0.500 ± 0.100 (2)", "+1.000 ± 0.100 (2)"]
    assert by_kind[3][-2] == "+0.500 (1)"


def test_rules_for_edges_are_means_over_searches_of_a_kind(results):
    header, _, both, _ = rows(tables.edge_rules(results))
    told = dict(zip(header, both, strict=True))
    assert (told["searches"], told[DRAWN], told["share"], told["lead"]) == ("2", "93.80", "94.20", "—")


def test_epochs_without_rewards_have_a_dash(results):
    made = rows(tables.rewards(results))
    assert made[2][-8:] == ["—", "—", "—", *["0.00100"] * 4, "—"]


def test_known_accuracies_have_a_dash_where_there_was_no_cell(results):
    benchmark, few = rows(tables.benchmark(results))[2], rows(tables.few(results))[2]
    assert benchmark[2:] == [
        "0.125",
        "yes",
        "4 epochs",
        "—",
        "93.00",
        "—",
        "—",
        "94.36",
        "`\\|nor_conv_3x3~0\\|`",
    ]
    assert few[3:6] == ["—", "4 epochs", "in balance"]
    assert few[6:] == ["94.36", "—", "—", "—", "—", "87.47", "87.46 (epoch 92)", "4 of 6"]


def test_without_judgements_every_table_says_so(tmp_path):
    empty = Results(tmp_path)
    for make in (
        tables.darts,
        tables.taken_apart,
        tables.edge_rules,
        tables.rewards,
        tables.benchmark,
        tables.few,
    ):
        assert make(empty) == tables.UNJUDGED
