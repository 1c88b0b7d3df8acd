"""Fits that are measured: what is declared, what a line holds, and the tables of lines."""

import json
import shlex

import pytest
from fitting import SMALL_PLAN, answers, row
from PIL import Image

import fit_tables
import fits
from fits import SETS, record, write_folder
from result_tables import Results
from xnas import FitConfig
from xnas.cli import app
from xnas.records import FitCost, FitSummary
from xnas.runs.fit.comparing import compare, gain_of_search, lead_of_baseline
from xnas.runs.results import FitResult

ALL = [job for jobs in SETS.values() for job in jobs]
ROWS = (row("found", 0.8), row("random", 0.79), row("resnet", 0.9))
ANSWERS = answers(found=80, random=79, resnet=90)
SUMMARY = FitSummary(
    rows=ROWS,
    missing={},
    comparison=compare(ROWS, ANSWERS),
    gain=gain_of_search(ROWS, ANSWERS),
    behind=lead_of_baseline(ROWS, ANSWERS),
    images=100,
    test=None,
    files=(),
    cost=FitCost(stages={"beginning": 9.0, "search": 100.0, "found": 50.0, "resnet": 25.0, "end": 5.0}),
)
RESULT = FitResult(out="runs/x", plan=SMALL_PLAN, summary=SUMMARY, seconds=270.0)


def test_the_command_of_a_fit_gives_its_settings():
    for job in ALL:
        _, bound, *_ = app.parse_args(shlex.split(job.command)[1:], exit_on_error=False)
        assert FitConfig(**bound.kwargs) == FitConfig(**job.options)
        assert bound.args == (job.place,)
    assert len({job.folder_name for job in ALL}) == len(ALL)


def test_every_data_set_has_both_budgets_on_a_cpu_and_cifar_three_seeds_on_a_gpu():
    assert {(job.data, job.minutes) for job in SETS["cpu"]} == {
        (data, minutes) for data in ("digits", "fashion_mnist", "cifar10") for minutes in (5, 15)
    }
    assert [(job.minutes, job.seed) for job in SETS["gpu"]] == [
        *((5, 0), (5, 1), (5, 2), (10, 0), (10, 1), (10, 2), (20, 0)),
    ]


def test_a_part_of_a_data_set_is_written_as_files_once(tmp_path, monkeypatch):
    monkeypatch.setattr(fits, "IMAGES", 40)
    folder = tmp_path / "data" / "digits-40"
    write_folder(folder, "digits", None)
    files = sorted(path.relative_to(folder) for path in folder.rglob("*.png"))
    assert {path.parts[0] for path in files} == {"train", "test"}
    train = [path for path in files if path.parts[0] == "train"]
    assert (len(train), len({path.parts[1] for path in train})) == (40, 10)
    with Image.open(folder / train[0]) as image:
        assert (image.size, image.mode) == ((8, 8), "L")
    (folder / train[0]).unlink()
    write_folder(folder, "digits", None)
    assert not (folder / train[0]).exists()


def test_the_script_appends_a_line_with_what_the_fit_gave(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(fits, "run_fit", lambda _job, _folder, _arguments: RESULT)
    out = tmp_path / "fits.jsonl"
    words = ["--tiny", "--out", str(out), "--runs", str(tmp_path / "runs"), "--device", "cpu"]
    assert fits.main(words) == 0
    line = json.loads(out.read_text(encoding="utf8"))
    assert (line["winner"], line["seconds"], line["calls"]) == ("resnet", 270.0, 1)
    assert line["rows"][0]["accuracy"] == 0.8
    assert line["command"] == "xnas fit digits --minutes 1 --seed 0"
    assert fits.main([*words, "--list"]) == 0
    assert "0 of 1 jobs left" in capsys.readouterr().out


@pytest.fixture
def results(tmp_path):
    job = SETS["cpu"][0]
    line = record(job, RESULT, calls=2, device="cpu")
    (tmp_path / "fits.jsonl").write_text(json.dumps(line) + "\n", encoding="utf8")
    return Results(tmp_path)


def test_the_tables_have_every_fit_and_those_that_were_measured(results):
    text = fit_tables.accuracies(results)
    (measured,) = [line for line in text.splitlines() if line.startswith("| ")][2:]
    assert "Not measured yet: `fashion_mnist` for 5 minutes, `cifar10` for 5 minutes, `digits`" in text
    assert "`cifar10` on a GPU for 20 minutes. `python experiments/fits.py --set SET" in text
    assert measured.startswith("| digits | 5 | 0 | 80.0 (78.0 to 82.0) | — | 79.0 (77.0 to 81.0) | 90.0")
    assert "| +1.0 (1) | small ResNet | — |" in measured
    line = fit_tables.times(results).splitlines()[2]
    assert "| 270 s in 2 calls | 90% | 9 s | 100 s | 75 s | 5 s | darts | 4, 4, 4 |" in line
