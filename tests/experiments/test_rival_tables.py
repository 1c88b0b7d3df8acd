"""Tables of searches with other methods, and of those that were stopped."""

import json

import pytest

import rival_tables
from result_tables import Results
from searches import SETS


@pytest.mark.parametrize(
    ("space", "truth", "shown"),
    [
        ("darts", {"accuracy": 94.123, "error": 0.2}, "94.12"),
        ("nasbench201", {"test_200": 93.456, "test_12": 88.0}, "93.46"),
    ],
)
def test_a_stopped_search_has_the_accuracy_of_its_last_epoch(tmp_path, space, truth, shown):
    line = {
        "job": "lost-0",
        "command": f"xnas search cifar10 --space {space}",
        "space": space,
        "stopped_after": 2,
        "settings": {"epochs": 5},
        "epochs": [{"truth": None}, {"truth": truth}],
        **dict.fromkeys(("device", "torch", "python", "xnas"), "some"),
    }
    (tmp_path / rival_tables.STOPPED).write_text(json.dumps(line) + "\n", encoding="utf8")
    made = rival_tables.stopped(Results(tmp_path))
    assert made.splitlines()[-1] == f"| `{line['command']}` | 2 of 5 | {shown} |"


def test_a_default_has_the_accuracies_of_every_seed_on_its_way(tmp_path):
    job = SETS["temperature"][1]
    truths = [{"test_200": 90.0 + e, "rank": 100 - e} for e in range(1, 8)]
    cost = {"seconds_per_round": 0.01, "memory_bytes": 2**30}
    line = {
        "job": job.name,
        "command": job.command,
        "space": "nasbench201",
        "seed": 1,
        "search_seconds": 12.0,
        "epochs": [{"epoch": e, "truth": t, "cost": cost} for e, t in enumerate(truths, 1)],
        **dict.fromkeys(("device", "torch", "python", "xnas"), "some"),
    }
    (tmp_path / "searches.jsonl").write_text(json.dumps(line) + "\n", encoding="utf8")
    made = rival_tables.defaults(Results(tmp_path))
    assert "| temperature | 1 of 4 | 97.00 (one) |" in made
    assert "| temperature | 1 | 95.00 | — | — | — | — | — | 97.00 | rank 93 |" in made


def test_a_default_is_taken_apart(tmp_path):
    rows = [
        {
            "seed": seed,
            "judged": judged,
            "shuffled": 94.0,
            "drawn": 93.0,
            "better than shuffled": 60.0,
            "better than drawn": 99.5,
            "from the inputs": 15,
        }
        for seed, judged in enumerate([94.1, 94.3])
    ]
    assert rival_tables.default_apart(Results(tmp_path)).startswith("Not measured yet")
    (tmp_path / "judged_cells.json").write_text(json.dumps({"default": rows}), encoding="utf8")
    made = rival_tables.default_apart(Results(tmp_path))
    assert "| 0 | 94.10 | 94.00 | 93.00 | 60 % | 100 % | 15 of 16 |" in made
    assert "same shape, operations shuffled: +0.200 ± 0.100; same operations, shape drawn" in made
