"""Sets of folds among the runs: how far they are, their mean, and how to go on."""

import json

import pytest

from xnas.runs.listing.runs_in import runs_in


@pytest.fixture
def begun(tmp_path):
    """A set of five folds, of which two have been tested."""
    groc = tmp_path / "runs" / "groc"
    saved = {"format": "xnas-folds", "version": 1, "data": "freiburg", "folds": 5}
    for fold in range(2):
        place = groc / f"fold-{fold}"
        place.mkdir(parents=True)
        (place / "test.json").write_text('{"top1": 0.8}', encoding="utf8")
        config = {"format": "xnas-run", "version": 1, "kind": "train", "config": {"seed": 3}}
        (place / "config.json").write_text(json.dumps(config), encoding="utf8")
    write(groc, saved | {"settings": {"seed": 3}})
    return groc


def write(groc, saved):
    (groc / "folds.json").write_text(json.dumps(saved), encoding="utf8")


def test_a_set_that_was_stopped_is_resumed_by_train(begun):
    (listed,) = runs_in(begun.parent)
    assert (listed.kind, listed.state) == ("set of folds", "stopped")
    assert (listed.data, listed.seed, listed.done, listed.planned) == ("freiburg", 3, 2, 5)
    assert listed.test is None
    assert listed.next_command == f"xnas train --resume {begun}"


def test_a_set_that_has_ended_has_the_mean_accuracy_of_its_folds(begun):
    saved = json.loads((begun / "folds.json").read_text(encoding="utf8"))
    write(begun, saved | {"test_errors": [0.2, 0.3], "mean": 0.25, "deviation": 0.07})
    (listed,) = runs_in(begun.parent)
    assert (listed.state, listed.test) == ("finished", 0.75)
    assert listed.next_command == f"xnas export {begun / 'fold-0'}"


def test_the_folds_follow_their_set_in_its_own_folder(begun):
    assert [run.kind for run in runs_in(begun)] == ["set of folds", "training", "training"]


def test_a_damaged_file_is_a_line_that_says_so(begun):
    (begun / "folds.json").write_text("{", encoding="utf8")
    (listed,) = runs_in(begun.parent)
    assert listed.state == "damaged"
    assert "folds.json" in listed.fault
