"""Files of runs with values of a wrong type or size: a page is written, and the file is named."""

import json
import math
import shutil
from pathlib import Path

import comparing
import pages
import pytest

from xnas.runs.reports import write
from xnas.runs.reports.write import written_report

SAMPLES = Path(__file__).parents[1] / "samples"
HUGE = 10**200
WRONG = {
    float: ("x", [], {}, math.nan, -math.inf, HUGE),
    int: ("x", [], {}, math.nan, math.inf, HUGE),
    str: (3, math.nan, [1], {}),
    bool: ("x", [], math.nan),
    list: (3, "x", {}, HUGE),
    dict: (3, "x", [], math.inf),
}
POOR = {int: (-1, 0), float: (-1.0, 0.0, 1e99), str: ("",), list: ([],), dict: ({},), bool: (False,)}
"""What has the right type, and may fit nothing else."""
FREE = {
    "format",
    "version",
    "figures",
    "recipe",
    "trained_on",
    "seed",
    "mean",
    "std",
    "cell",
    "budget",
    "parent",
    "event",
}
"""Keys that a page does not read, or shows as they are."""

KNOWN_BY = {"format", "version", "kind"}
"""Keys of config.json: with other values a folder holds no run, or one of another version."""


@pytest.fixture(autouse=True)
def _no_script(monkeypatch):
    """The script of charts is tested elsewhere."""
    monkeypatch.setattr(write, "chart_script", lambda: None)


def fit_run(folder):
    shutil.copytree(SAMPLES / "fit-v1", folder)
    config = {"kind": "fit", "format": "xnas-run", "version": 1, "data": "digits"}
    pages.write(folder / "config.json", config | {"config": {"minutes": 2, "seed": 0}})
    times = {"format": "xnas-times", "version": 1, "cost": {"beginning": 10.0, "search": 20.0}}
    pages.write(folder / "times.json", times)
    return folder


def compare_run(folder):
    runs = [comparing.run(name, seed, 90.0 + seed) for name in ("xnas", "darts") for seed in range(2)]
    found = comparing.found(*runs, test="welch", random_means={("digits", "darts"): 80.0})
    return comparing.folder(folder, comparison=found)[0]


RUNS = {
    "search": pages.search_run,
    "training": pages.train_run,
    "sampling": pages.sample_run,
    "fit": fit_run,
    "comparison": compare_run,
}


def places(value, path=()):
    """Every key path in a value, into the first entry of lists alone."""
    if path:
        yield path
    entries = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value[:1])
        if isinstance(value, list)
        else ()
    )
    for key, one in entries:
        yield from places(one, (*path, key))


def spoiled(value, path, wrong):
    if not path:
        return wrong
    copy = value.copy()
    copy[path[0]] = spoiled(value[path[0]], path[1:], wrong)
    return copy


def at(value, path):
    return at(value[path[0]], path[1:]) if path else value


def damages(folder, values=WRONG):
    """Name, content, path and wrong value, for every file, place and value."""
    for file in sorted(folder.iterdir()):
        if file.suffix not in {".json", ".jsonl"}:
            continue
        text = file.read_text(encoding="utf8")
        lines = [json.loads(line) for line in (text.splitlines() if file.suffix == ".jsonl" else [text])]
        first = {line.get("event"): number for number, line in reversed([*enumerate(lines)])}
        for number in first.values():
            for place in places(lines[number]):
                if file.name == "config.json" and place[0] in KNOWN_BY:
                    continue
                for wrong in values.get(type(at(lines[number], place)), ()):
                    yield file, spoiled(lines, (number, *place), wrong), place, wrong


def check(folder, damage, *, named=True):
    file, content, path, wrong = damage
    before = file.read_bytes()
    file.write_text("".join(f"{json.dumps(one)}\n" for one in content), encoding="utf8")
    written = written_report(folder)
    file.write_bytes(before)
    assert "<main" in written.page.read_text(encoding="utf8")
    free = (
        not named
        or file.name == "config.json"
        or path[0] in {"config", "data", "made_with"}
        or (file.name == "comparison.json" and path[0] == "state")
        or FREE & set(path)
    )
    found = [fault for fault in written.faults if str(file) in fault]
    assert free or len(found) == 1, (file.name, path, str(wrong)[:20], written.faults)


FOUND = [
    ("training", "test.json", ("top1",), {}),
    ("training", "test.json", ("classes",), "cat"),
    ("training", "metrics.jsonl", (0, "epoch"), 10**30),
    ("search", "metrics.jsonl", (0, "cost", "seconds"), math.inf),
    ("search", "metrics.jsonl", (1, "mixtures", "normal", 3), []),
    ("search", "metrics.jsonl", (1, "mixtures"), {}),
    ("search", "ledger.json", ("normal",), 3),
    ("search", "ledger.json", ("normal", "regret"), [1.0]),
    ("sampling", "costs.jsonl", (0, "seconds"), math.nan),
    ("sampling", "ledger.jsonl", (1, "genotype"), 3),
    ("fit", "times.json", ("cost", "search"), math.inf),
    ("fit", "fit.json", ("comparison", "first"), "mine"),
    ("fit", "fit.json", ("rows", 0, "name"), 3),
    ("fit", "plan.json", ("decisions", 0, "choice"), 0.5),
    ("fit", "plan.json", ("minutes",), 0),
    ("comparison", "comparison.json", ("summaries",), []),
]


@pytest.mark.parametrize(("kind", "name", "path", "wrong"), FOUND)
def test_a_wrong_value_is_named_once(tmp_path, kind, name, path, wrong):
    file = RUNS[kind](tmp_path / "run") / name
    if file.suffix == ".jsonl":
        lines = [json.loads(line) for line in file.read_text(encoding="utf8").splitlines()]
    else:
        lines, path = [json.loads(file.read_text(encoding="utf8"))], (0, *path)
    check(file.parent, (file, spoiled(lines, path, wrong), path[1:], wrong))


def test_the_data_of_a_comparison_may_be_anything(tmp_path):
    folder = compare_run(tmp_path / "run")
    saved = json.loads((folder / "comparison.json").read_text(encoding="utf8"))
    pages.write(folder / "comparison.json", saved | {"data": 3})
    assert written_report(folder).faults == ()


@pytest.mark.parametrize("kind", RUNS)
def test_some_wrong_values_are_named_and_the_page_is_written(tmp_path, kind):
    folder = RUNS[kind](tmp_path / "run")
    found, poor = list(damages(folder)), list(damages(folder, POOR))
    for damage in found[:: 1 + len(found) // 4]:
        check(folder, damage)
    for damage in poor[:: 1 + len(poor) // 2]:
        check(folder, damage, named=False)


@pytest.mark.slow
@pytest.mark.parametrize("kind", RUNS)
def test_all_wrong_values_are_named_and_the_page_is_written(tmp_path, kind):
    folder = RUNS[kind](tmp_path / "run")
    for damage in damages(folder):
        check(folder, damage)
    for damage in damages(folder, POOR):
        check(folder, damage, named=False)
