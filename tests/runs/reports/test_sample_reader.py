"""A search by sampling as its folder tells it."""

import pages
import pytest

from xnas.runs.reports.run_files import ReadRun
from xnas.runs.reports.sample_reader import sample_story
from xnas.space import Genotype


def story(folder):
    return sample_story(ReadRun.open(folder))


def test_every_evaluation_is_read_in_its_order(tmp_path):
    found = story(pages.sample_run(tmp_path / "run"))
    assert found.head.faults == ()
    assert [one.number for one in found.evaluations] == [0, 1, 2, 3]  # the refused one is left out
    assert [one.value for one in found.evaluations] == [0.5, None, 0.75, 0.5]
    assert [one.best for one in found.evaluations] == [0.5, 0.5, 0.75, 0.75]
    assert [one.same_as for one in found.evaluations] == [None, None, 1, 0]
    assert [one.seconds for one in found.evaluations] == [2.0, 4.0, 6.0, 8.0]
    assert found.evaluations[2].parameters == 3_000_000
    assert found.cells[0] == Genotype.random("nasbench201", 0).arch
    assert (found.sampler, found.evaluator, found.planned) == ("evolution", "table", 4)
    assert found.graph.inputs == 1


def test_a_stopped_sampling_is_shown_as_far_as_it_came(tmp_path):
    found = story(pages.sample_run(tmp_path / "run", finished=False))
    assert found.head.state == "stopped"
    assert found.graph is None
    assert len(found.evaluations) == 4


def test_evaluations_before_a_damaged_line_are_kept(tmp_path):
    folder = pages.sample_run(tmp_path / "run")
    lines = (folder / "ledger.jsonl").read_text(encoding="utf8").splitlines()
    text = "\n".join([*lines[:5], "{", *lines[5:]]) + "\n"
    (folder / "ledger.jsonl").write_text(text, encoding="utf8")
    found = story(folder)
    assert len(found.evaluations) == 2
    assert any("damaged in line 6" in fault for fault in found.head.faults)


@pytest.mark.parametrize("value", [1e308, "0.5", True, 1.2, -0.1])
def test_a_value_that_is_no_accuracy_is_damage(tmp_path, value):
    folder = pages.sample_run(tmp_path / "run")
    lines = (folder / "ledger.jsonl").read_text(encoding="utf8").splitlines()
    lines[6] = pages.json.dumps(pages.json.loads(lines[6]) | {"value": value})
    (folder / "ledger.jsonl").write_text("\n".join(lines) + "\n", encoding="utf8")
    found = story(folder)
    assert len(found.evaluations) == 2
    (fault,) = found.head.faults
    assert f"damaged in line 7: its value is {value!r}, which is no accuracy; restore" in fault


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"number": 500}, "it tells trial 500 before it was asked"),
        ({"number": 0}, "it tells trial 0 again"),
        ({"value": None}, "its state is 'done' with the value None"),
    ],
)
def test_a_line_that_does_not_fit_is_named(tmp_path, changes, words):
    folder = pages.sample_run(tmp_path / "run")
    lines = (folder / "ledger.jsonl").read_text(encoding="utf8").splitlines()
    lines[6] = pages.json.dumps(pages.json.loads(lines[6]) | changes)
    (folder / "ledger.jsonl").write_text("\n".join(lines) + "\n", encoding="utf8")
    found = story(folder)
    assert len(found.evaluations) == 2
    assert f"damaged in line 7: {words}; restore" in found.head.faults[0]


def test_the_best_so_far_is_of_the_highest_rung(tmp_path):
    folder = pages.sample_run(tmp_path / "run")
    text = (folder / "ledger.jsonl").read_text(encoding="utf8")
    for budget in (200, 12, 12, 12):
        text = text.replace('"budget": null', f'"budget": {budget}', 1)
    (folder / "ledger.jsonl").write_text(text, encoding="utf8")
    found = story(folder)
    assert [one.budget for one in found.evaluations] == [200, 12, 12, 12]
    assert [one.best for one in found.evaluations] == [0.5] * 4


def test_lost_evaluations_are_a_fault(tmp_path):
    folder = pages.sample_run(tmp_path / "run")
    curve = {"evaluations": [{"number": number} for number in range(4)]}
    (folder / "curve.json").write_text(pages.json.dumps(curve, indent=1), encoding="utf8")
    assert story(folder).head.faults == ()
    lines = (folder / "ledger.jsonl").read_text(encoding="utf8").splitlines(keepends=True)
    (folder / "ledger.jsonl").write_text("".join(lines[:5]), encoding="utf8")
    found = story(folder)
    assert len(found.evaluations) == 2
    assert "has 2 of 4 evaluations, though the run is finished" in found.head.faults[0]


def test_lost_costs_cost_nothing_but_themselves(tmp_path):
    folder = pages.sample_run(tmp_path / "run")
    (folder / "costs.jsonl").write_text('{\n{"number": 2, "parameters": 5}\n3\n', encoding="utf8")
    found = story(folder)
    assert [one.parameters for one in found.evaluations] == [0, 0, 5, 0]
    assert found.evaluations[0].seconds is None


def test_cells_of_two_inputs_are_written_by_their_nodes(tmp_path):
    folder = pages.sample_run(tmp_path / "run", finished=False)
    ask = {"event": "ask", "number": 0, "genotype": pages.json.loads(pages.CELL.to_json())}
    tell = {"event": "tell", "number": 0, "value": 0.5, "state": "done"}
    text = f"{pages.json.dumps(ask)}\n{pages.json.dumps(tell)}\n"
    (folder / "ledger.jsonl").write_text(text, encoding="utf8")
    assert story(folder).cells[0].count("|") == 3  # of four nodes
