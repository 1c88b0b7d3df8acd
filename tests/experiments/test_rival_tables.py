"""Tables of searches with other methods, and of those that were stopped."""

import json

import pytest

import rival_tables
from result_tables import Results


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
