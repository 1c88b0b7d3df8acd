"""What a list shows of each kind of run."""

import json
from pathlib import Path

import pytest
from comparing import failed, folder, found
from comparing import run as made
from runs_written import GENOTYPE, sampling, search, training, written

from xnas import Genotype
from xnas.runs.config_file import as_json
from xnas.runs.listing.own_kinds import GENOTYPE_FORMAT, GENOTYPE_VERSION, OF_SHARES, cell_words
from xnas.runs.listing.runs_in import runs_in
from xnas.runs.sampling.evaluators import EVALUATORS
from xnas.space import genotype

SAMPLES = Path(__file__).parents[2] / "samples"


def only(place):
    (run,) = runs_in(place)
    return run


def test_a_search_shows_its_cell_and_the_accuracies_of_its_last_epoch(tmp_path):
    search(tmp_path / "run", epochs=3, seed=4)
    run = only(tmp_path)
    assert (run.method, run.seed, run.data, run.done, run.planned) == ("xnas", 4, "digits", 3, 3)
    assert run.validation == pytest.approx(0.3)
    assert run.truth == 93
    assert run.cell == "3 none, 2 nor_conv_3x3, 1 skip_connect"


def test_a_training_shows_the_accuracies_of_the_weights_that_it_ended_with(tmp_path):
    training(tmp_path / "run")  # 0.75 after its first epoch, 0.5 after its last
    run = only(tmp_path)
    assert (run.cell, run.validation, run.test) == ("darts_v2", 0.5, 0.7)


@pytest.mark.parametrize("cell", ["genotype.json", str(Genotype.random("nasbench201", 0))[:200]])
def test_a_training_of_a_cell_without_a_name_shows_its_operations(tmp_path, cell):
    folder = training(tmp_path / "run")
    config = json.loads((folder / "config.json").read_text(encoding="utf8"))
    config["config"]["cell"] = cell
    (folder / "config.json").write_text(json.dumps(config), encoding="utf8")
    assert only(tmp_path).cell == "genotype.json"
    (folder / "genotype.json").write_text(json.dumps(GENOTYPE), encoding="utf8")
    assert only(tmp_path).cell == "3 none, 2 nor_conv_3x3, 1 skip_connect"


def test_a_sampling_shows_its_best_evaluation(tmp_path):
    sampling(tmp_path / "run")
    run = only(tmp_path)
    assert (run.state, run.method, run.done, run.planned) == ("stopped", "evolution", 3, 4)
    assert run.validation == 0.625


def test_a_sampling_with_an_impossible_accuracy_is_damaged(tmp_path):
    sampling(tmp_path / "run", evaluator="train")
    ledger = tmp_path / "run" / "ledger.jsonl"
    ledger.write_text(ledger.read_text(encoding="utf8").replace("0.625", "1.2"), encoding="utf8")
    run = only(tmp_path)
    assert (run.state, run.validation) == ("damaged", None)


def test_values_are_shares_where_the_evaluator_says_so():
    assert {*OF_SHARES} == {name for name, kind in EVALUATORS.items() if kind.shares}


def test_a_sampling_shows_its_best_evaluation_of_the_highest_rung(tmp_path):
    folder = sampling(tmp_path / "run")
    asks = [{"event": "ask", "number": k, "budget": budget} for k, budget in enumerate((12, 12, 200))]
    tells = [{"event": "tell", "number": k, "value": v} for k, v in enumerate((0.5, 0.75, 0.625))]
    lines = [json.dumps(event) for event in (*asks, *tells)]
    (folder / "ledger.jsonl").write_text("\n".join(lines) + "\n")
    assert only(tmp_path).validation == 0.625


def test_cells_beyond_a_limit_were_not_evaluated(tmp_path):
    folder = sampling(tmp_path / "run")
    refused = {"event": "tell", "number": 3, "value": None, "state": "refused", "reason": "too large"}
    with (folder / "ledger.jsonl").open("a") as ledger:
        ledger.write(json.dumps(refused) + "\n")
    assert only(tmp_path).done == 3


@pytest.mark.parametrize("kept", [0, 2, 4])
def test_a_finished_sampling_that_lost_evaluations_is_damaged(tmp_path, kept):
    folder = sampling(tmp_path / "run")
    (folder / "genotype.json").write_text(json.dumps(GENOTYPE))
    curve = {"format": "xnas-curve", "evaluations": [{"number": k, "value": 0.5} for k in range(3)]}
    (folder / "curve.json").write_text(as_json(curve))
    assert only(tmp_path).state == "finished"
    ledger = folder / "ledger.jsonl"
    ledger.write_text("".join(ledger.read_text().splitlines(keepends=True)[:kept]))
    run = only(tmp_path)
    assert (run.state, run.validation, run.next_command) == ("damaged", None, None)
    told = max(0, kept - 2)
    assert f"ledger.jsonl has {told} of 3 evaluations, though the run is finished; rest" in run.fault


def test_a_fit_shows_its_winner_and_the_test_of_it(tmp_path):
    end = json.loads((SAMPLES / "fit-v1" / "fit.json").read_text(encoding="utf8"))
    best = next(row for row in end["rows"] if row["name"] == "resnet")
    written(tmp_path / "run", "fit", {"fit.json": end})
    run = only(tmp_path)
    assert (run.state, run.method, run.cell) == ("finished", "resnet", best["what"])
    assert (run.validation, run.test) == (best["accuracy"], end["test"]["top1"])
    assert run.next_command == f"xnas predict {tmp_path / 'run'} IMAGE"


@pytest.mark.parametrize("end", [{}, {"rows": 3, "test": None}])
def test_a_fit_with_a_damaged_end_is_not_called_finished(tmp_path, end):
    written(tmp_path / "run", "fit", {"fit.json": end})
    run = only(tmp_path)
    assert (run.state, run.next_command) == ("damaged", None)
    assert "fit.json is damaged: it is no xnas-fit" in run.fault


def test_a_fit_that_has_no_end_yet_is_stopped(tmp_path):
    written(tmp_path / "run", "fit")
    run = only(tmp_path)
    assert (run.state, run.method, run.data) == ("stopped", None, "digits")


@pytest.mark.parametrize("make", [search, sampling])
@pytest.mark.parametrize(
    ("saved", "state", "words"),
    [
        ({"a": 1}, "damaged", "genotype.json is damaged: it holds no cell; restore it from a copy"),
        ({}, "damaged", "it holds no cell"),
        (GENOTYPE | {"arch": 3}, "damaged", "it holds no cell"),
        (GENOTYPE | {"version": 2}, "unreadable", "genotype.json has version 2, this xnas reads 1"),
    ],
)
def test_a_run_whose_cell_cannot_be_read_has_no_next_command(tmp_path, make, saved, state, words):
    folder = make(tmp_path / "run")
    (folder / "genotype.json").write_text(json.dumps(saved))
    run = only(tmp_path)
    assert (run.state, run.next_command) == (state, None)
    assert words in run.fault


@pytest.mark.parametrize("saved", [{"top1": "x"}, {"top1": 3}, {"top1": None}, {}])
@pytest.mark.parametrize("name", ["test.json", "evaluation.json"])
def test_an_accuracy_that_is_none_is_damage(tmp_path, name, saved):
    if name == "test.json":
        training(tmp_path / "run")
    else:
        (tmp_path / "run").mkdir()
    (tmp_path / "run" / name).write_text(json.dumps(saved))
    run = only(tmp_path)
    assert (run.state, run.next_command) == ("damaged", None)
    assert f"{name} is damaged: it holds no accuracy" in run.fault


def test_a_training_without_test_images_has_no_test(tmp_path):
    (training(tmp_path / "run") / "test.json").unlink()
    run = only(tmp_path)
    assert (run.state, run.test) == ("finished", None)


def test_cells_are_known_by_the_format_that_the_space_writes():
    assert (GENOTYPE_FORMAT, GENOTYPE_VERSION) == (genotype.FORMAT, genotype.VERSION)


def test_evaluations_and_exports_are_known_by_their_files(tmp_path):
    for name, file, content in (
        ("measured", "evaluation.json", {"data": "pets", "top1": 0.9}),
        ("exported", "model.json", {"trained_on": "pets", "seed": 2, "genotype": GENOTYPE}),
        ("wired", "model.json", {"wiring": {}}),
    ):
        (tmp_path / name).mkdir()
        (tmp_path / name / file).write_text(json.dumps(content))
    found = {run.path.rpartition("/")[2]: run for run in runs_in(tmp_path)}
    assert {run.state for run in found.values()} == {"finished"}
    assert (found["measured"].kind, found["measured"].test) == ("evaluation", 0.9)
    assert (found["exported"].kind, found["exported"].seed) == ("export", 2)
    assert found["exported"].next_command == f"xnas predict {tmp_path / 'exported'} IMAGE"
    assert found["wired"].cell == "a wiring"


def test_a_comparison_shows_its_entries_and_how_many_runs_have_ended(tmp_path):
    waiting = made("b", seed=0, accuracy=None, state="waiting")
    runs = found(made("a", seed=0), failed("a", seed=1), waiting)
    data = (("digits", "digits"), ("pets", "pets"))
    folder(tmp_path / "compared", data=data, comparison=runs, finished=False)
    run = only(tmp_path)
    assert (run.kind, run.state, run.data, run.method) == (
        "comparison",
        "stopped",
        "digits, pets",
        "a, b",
    )
    assert (run.done, run.planned) == (2, 3)
    assert run.next_command == f"xnas compare --resume {tmp_path / 'compared'}"
    (tmp_path / "compared" / "comparison.md").touch()
    assert only(tmp_path).state == "finished"


@pytest.mark.parametrize("saved", [{}, {"runs": 3}])
def test_a_comparison_that_cannot_be_read_is_not_called_finished(tmp_path, saved):
    compared, _ = folder(tmp_path / "compared")
    (compared / "comparison.json").write_text(json.dumps(saved))
    run = only(tmp_path)
    assert (run.state, run.next_command) == ("damaged", None)
    assert "comparison.json is damaged: the key" in run.fault


def test_the_words_of_a_cell_count_its_operations():
    cell = json.loads(Genotype.random("darts", 0).to_json())
    words = cell_words(cell)
    assert sum(int(part.split()[0]) for part in words.split(", ")) == 8
    assert words.startswith(str(max(int(part.split()[0]) for part in words.split(", "))))
    assert cell_words({"normal": {"nodes": [3, [[], ["x"]]]}}) == "1 x"
    assert cell_words({}) is None


def test_the_command_of_a_run_with_an_odd_name_can_be_pasted(tmp_path):
    training(tmp_path / "a\nb")
    assert only(tmp_path).next_command == f"xnas export $'{tmp_path}/a\\nb'"
    search(tmp_path / "a\nb" / "c", finished=False)
    stopped = runs_in(tmp_path / "a\nb")[1]
    assert stopped.next_command == f"xnas search --resume $'{tmp_path}/a\\nb/c'"
