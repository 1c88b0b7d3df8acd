"""A ledger that was lost is refused, and nothing is touched."""

import json
from contextlib import nullcontext
from types import SimpleNamespace

import pytest

from xnas.errors import DamagedFileError
from xnas.runs.sampling.lost_ledger import require_ledger

BEGIN = '{"event": "begin", "format": "xnas-trials", "version": 1}\n'


@pytest.fixture
def folder(tmp_path):
    return SimpleNamespace(path=tmp_path, storage_errors=nullcontext)


def test_a_search_that_evaluated_nothing_may_have_no_ledger(folder):
    require_ledger(folder)
    (folder.path / "ledger.jsonl").write_text(BEGIN)
    (folder.path / "trials").mkdir()
    (folder.path / "costs.jsonl").touch()
    require_ledger(folder)


@pytest.mark.parametrize("ledger", [None, "", BEGIN, BEGIN + '{"event": "ask"'])
@pytest.mark.parametrize(
    ("left", "words"),
    [
        ("costs.jsonl", "costs.jsonl of 2 evaluations; restore it"),
        ("trials", "trials of 1 evaluation; restore it"),
        ("genotype.json", "genotype.json; restore it"),
    ],
)
def test_what_is_left_of_a_search_is_named(folder, ledger, left, words):
    costs = [json.dumps({"number": number, "seconds": 1.5}) for number in range(2)]
    if left == "trials":
        (folder.path / left / "00000").mkdir(parents=True)
    else:
        (folder.path / left).write_text("\n".join(costs))
    if ledger is not None:
        (folder.path / "ledger.jsonl").write_text(ledger)
    with pytest.raises(
        DamagedFileError, match=rf"ledger.jsonl is missing or empty, though the folder has {words}"
    ):
        require_ledger(folder)
    (folder.path / "ledger.jsonl").write_text(BEGIN + '{"event": "ask"}\n')
    require_ledger(folder)
