"""Trainings by NAS-Bench-301's protocol: what is trained, what waits, and what the tables say."""

import shlex
import shutil

import pytest
from result_lines import training, write

import nasbench301
import nasbench301_tables
from jobs import ResultsFile
from nasbench301 import DRAWN, PUBLISHED, ROOT, all_jobs, found_cells, known_accuracies
from result_tables import Results
from xnas import Genotype, TrainConfig
from xnas.cli import app
from xnas.space import find_genotype


@pytest.fixture
def root(tmp_path, monkeypatch):
    """A checkout whose folder of cells has the drawn ones alone, so that tests may add found ones."""
    folder = tmp_path / "experiments/cells"
    folder.mkdir(parents=True)
    for path in (ROOT / "experiments/cells").glob("nasbench301*"):
        shutil.copy(path, folder)
    monkeypatch.setattr(nasbench301, "ROOT", tmp_path)
    return tmp_path


def add_found(root, count):
    for number in range(1, count + 1):
        Genotype.random("darts", number).save(root / f"experiments/cells/found_{number}.json")


def words(root, *others):
    return ["--tiny", "--device", "cpu", "--results", str(root / "nasbench301.jsonl"), *others]


def test_every_cell_is_trained_once_by_the_same_command(root):
    jobs = all_jobs()
    assert [job.of.name for job in jobs] == [
        *(f"nasbench301_{n}" for n in range(1, 9)),
        *("xnas", "darts_v2", "pc_darts_cifar"),
        *(f"found_{n}" for n in range(1, 5)),
    ]
    for job in jobs:
        _, bound, *_ = app.parse_args(shlex.split(job.command)[1:], exit_on_error=False)
        cell, data, *_ = bound.args
        assert TrainConfig(**bound.kwargs, cell=cell) == job.config()
        assert (data, job.config().recipe, job.config().seed) == ("cifar10", "nasbench301", 0)
    assert len({job.folder_name for job in jobs}) == len(jobs)
    add_found(root, 11)
    assert [cell.name for cell in found_cells()][-2:] == ["found_10", "found_11"]


def test_the_drawn_cells_and_their_accuracies_are_there():
    assert list(known_accuracies()) == [cell.name for cell in DRAWN]
    assert all(91 < accuracy < 95 for accuracy in known_accuracies().values())
    cells = {Genotype.load(cell.path) for cell in DRAWN}
    assert len(cells) == 8
    assert {cell.space for cell in cells} == {"darts"}


def test_the_draw_follows_from_the_seed_alone(root, capsys):
    """A file of 30 random cells, whose accuracy is 90 plus a hundredth of the place."""
    rows = ["normal,reduction,valid_100"]
    for number in range(1, 31):
        cell = Genotype.random("darts", number)
        text = [
            " ".join(f"{edge.operation}:{edge.source}" for node in part.nodes for edge in node)
            for part in (cell.normal, cell.reduction)
        ]
        rows.append(f"{text[0]},{text[1]},{90 + number / 100:.2f}")
    (root / "file.csv").write_text("\n".join([*rows, ""]), encoding="utf8")
    assert nasbench301.main(["--draw", str(root / "file.csv")]) == 0
    first = capsys.readouterr().out
    folder = root / "experiments/cells"
    places = [round(100 * (accuracy - 90)) for accuracy in known_accuracies().values()]
    assert len(set(places)) == 8
    for cell, place in zip(DRAWN, places, strict=True):
        assert Genotype.load(folder / f"{cell.name}.json") == Genotype.random("darts", place)
    nasbench301.main(["--draw", str(root / "file.csv")])
    assert capsys.readouterr().out == first


def test_jobs_wait_for_the_files_of_found_cells(root, capsys):
    assert nasbench301.main(words(root, "--list")) == 0
    told = capsys.readouterr().out
    assert told.count("waits for experiments/cells/found_") == 4
    assert "11 of 11 jobs left" in told
    add_found(root, 2)
    nasbench301.main(words(root, "--list"))
    told = capsys.readouterr().out
    assert told.count("waits for ") == 2
    assert "13 of 13 jobs left" in told


@pytest.mark.slow
def test_a_rehearsal_trains_collects_and_has_nothing_left(root, capsys):
    given = words(root, "--runs", str(root / "runs"), "--out", str(root / "out"), "--only")
    assert nasbench301.main([*given, "nasbench301-xnas"]) == 0
    (line,) = ResultsFile(root / "nasbench301.jsonl").lines()
    assert (line["cell"], line["origin"], line["at_once"]) == ("xnas", "published", 1)
    assert 0 <= line["valid_accuracy"] <= 1
    assert [path.name for path in (root / "out").iterdir()] == ["nasbench301.jsonl"]
    assert not list((root / "runs").iterdir())
    assert "0 of 1 jobs left" in capsys.readouterr().out
    elsewhere = ["--tiny", "--results", str(root / "there/nasbench301.jsonl"), "--list"]
    assert nasbench301.main([*elsewhere, "--resume-from", str(root / "out")]) == 0
    assert "10 of 11 jobs left" in capsys.readouterr().out


@pytest.mark.evidence
def test_a_rehearsal_in_two_processes(root, capsys):
    """In the real checkout, as processes of their own know no other."""
    given = [*words(root), "--runs", str(root / "runs"), "--at-once", "2", "--only"]
    assert nasbench301.main([*given, "nasbench301-nasbench301_1", "nasbench301-darts_v2"]) == 0
    lines = ResultsFile(root / "nasbench301.jsonl").lines()
    assert {(line["cell"], line["at_once"]) for line in lines} == {("nasbench301_1", 2), ("darts_v2", 2)}
    assert "0 of 2 jobs left" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["--at-once", "0"], "--at-once must be at least 1, got 0"),
        (["--resume-from", "/nowhere"], "--resume-from /nowhere is no folder; give one that"),
    ],
)
def test_bad_options_are_named(root, capsys, given, told):
    with pytest.raises(SystemExit):
        nasbench301.main(words(root, *given))
    assert told in capsys.readouterr().err


def filled(root, value, only=lambda _: True):
    """Results of trainings whose accuracy in percent is `value(cell)`."""
    lines = [
        training(job, 0.9, Genotype.load(job.of.path) if job.of.path else find_genotype(job.of.name))
        | {"valid_accuracy": value(job.of) / 100, "origin": job.of.origin}
        for job in all_jobs()
        if only(job.of) and (job.of.path is None or job.of.path.exists())
    ]
    write(root, nasbench301=lines)
    return Results(root)


def near_the_file(cell):
    return known_accuracies().get(cell.name, 94) + 0.25


def tables(results):
    made = (nasbench301_tables.cells, nasbench301_tables.check, nasbench301_tables.comparison)
    return tuple(table(results) for table in made)


def test_without_results_the_tables_say_that_nothing_was_trained(root):
    assert tables(Results(root)) == ("Not measured yet: nothing has been trained.",) * 3


def test_a_few_results_give_rows_and_no_answer(root):
    results = filled(root, near_the_file, lambda cell: cell in (DRAWN[0], PUBLISHED[0]))
    cells, check, comparison = tables(results)
    known = known_accuracies()["nasbench301_1"]
    row = f"| nasbench301_1 | drawn | {known:.2f} % | {known + 0.25:.2f} % | +0.25 | 90.00 % | 1.23 M |"
    assert row in cells
    assert "| xnas | published | — | 94.25 % | — | 90.00 % |" in cells
    assert "| darts_v2 | published | — | not measured yet |" in cells
    assert cells.count("not measured yet: its file comes first") == 4
    assert check == "No answer yet: 1 of 8 drawn cells are trained."
    assert comparison == ("No answer yet: 0 of 4 found cells and 1 of 8 drawn ones are trained.")


def test_the_trainer_is_sound_if_it_is_near_and_in_order(root):
    _, check, _ = tables(filled(root, near_the_file))
    assert check.startswith(
        "Mean absolute difference 0.25 points (at most 0.4 wanted; on average +0.25)"
    )
    assert "Kendall's correlation 1.00 (at least 0.4 wanted), 8 cells." in check
    assert check.endswith("**The trainer is sound by the rule.**")


@pytest.mark.parametrize(
    "value",
    [
        lambda cell: known_accuracies().get(cell.name, 94) + 0.45,  # in order, but too far
        lambda cell: 93 - 0.01 * known_accuracies().get(cell.name, 94),  # in the opposite order
    ],
)
def test_the_trainer_is_not_sound_otherwise(root, value):
    _, check, _ = tables(filled(root, value))
    assert check.endswith("**The trainer is not sound by the rule.**")


@pytest.mark.parametrize(
    ("lead", "verdict"),
    [
        (1.5, "**Found cells are better than drawn ones.**"),
        (0.1, "**A difference is not shown.**"),
        (-1.5, "**Found cells are worse than drawn ones.**"),
    ],
)
def test_found_cells_are_better_only_if_the_interval_excludes_zero(root, lead, verdict):
    add_found(root, 4)

    def value(cell):  # drawn 93 and 93.2 in turn, found ones in turn `lead` more
        number = int(cell.name[-1]) if cell.name[-1].isdigit() else 0
        return 93 + 0.2 * (number % 2) + lead * (cell.origin == "found")

    *_, comparison = tables(filled(root, value))
    assert comparison.startswith("4 of 4 found cells and 8 of 8 drawn ones: ")
    assert f"{lead:+.2f} points, 95 % interval " in comparison
    assert comparison.endswith(verdict)


def test_a_fifth_found_cell_that_is_not_trained_leaves_no_answer(root):
    add_found(root, 5)
    *_, comparison = tables(filled(root, near_the_file, lambda cell: cell.name != "found_5"))
    assert comparison.startswith("No answer yet: 4 of 5 found cells and 8 of 8 drawn ones")


def test_a_line_of_another_cell_is_refused(root):
    add_found(root, 1)
    results = filled(root, near_the_file)
    Genotype.random("darts", 99).save(root / "experiments/cells/found_1.json")
    with pytest.raises(SystemExit, match=r"trained another cell than .*found_1\.json has; delete its"):
        nasbench301_tables.cells(results)
