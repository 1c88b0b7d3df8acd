"""`reproduce` writes figures, numbers and claims, whole or not at all."""

import csv
import json
import signal
import subprocess
import sys
import time
from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest

from xnas import ConfigError, toys
from xnas.paper import reproduce as module
from xnas.paper.options import LONG, ReproduceConfig
from xnas.paper.reproduce import ITEMS, reproduce
from xnas.records import Selection

SMALL = {"runs": 40, "rounds": 60}
DRAWN = ["pnas", "xnas"]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    out = tmp_path_factory.mktemp("made") / "all"
    told = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "list_cells", lambda: DRAWN)  # to draw and count all takes half a minute
        claims = reproduce((), ReproduceConfig(out=out, **SMALL), told.append)
    return out, claims, told


@pytest.mark.slow
def test_every_item_leaves_its_figures_as_svg_and_png_and_its_numbers(made):
    out, _, told = made
    names = {path.stem for path in out.glob("*.svg")}
    assert names == {path.stem for path in out.glob("*.png")}
    assert {"forecaster", "toy-3d", "toy-2d-balanced", "toy-2d-imbalanced", "toy-2d-quadratic"} <= names
    assert {"attenuation", "stochastic", "adam", "cell-pnas", "cell-xnas"} <= names
    for path in out.glob("*.svg"):
        assert ET.parse(path).getroot().tag.endswith("svg")  # noqa: S314 - our own file
    short = [item for item in ITEMS if item not in LONG]
    assert {path.stem for path in out.glob("*.json")} == set(short) - {"forecaster", "cells"}
    assert [line.split()[0] for line in told] == short


@pytest.mark.slow
def test_numbers_are_those_of_the_study(made):
    out, _, _ = made
    saved = json.loads((out / "stochastic.json").read_text(encoding="utf8"))
    study = toys.stochastic_study(**SMALL)
    assert [Selection(**s) for s in saved["selections"]] == list(study.selections)


@pytest.mark.slow
def test_the_page_lists_every_claim_with_its_verdict_and_shows_every_figure(made):
    out, claims, _ = made
    page = (out / "claims.md").read_text(encoding="utf8")
    assert len(claims) == 18 + 4 + 21  # of the optimizer, of lower bound and speed, of the tables
    for claim in claims:
        row = next(
            line for line in page.splitlines() if f"| {claim.where} |" in line and claim.measured in line
        )
        assert row.endswith(f"**{claim.verdict}** |")
    for path in out.glob("*.png"):
        assert f"({path.name})" in page
    for path in out.glob("*.csv"):
        assert f"({path.stem}.md)" in page
    assert "Errors are those that the paper prints, except in rows of our own." in page


@pytest.mark.slow
def test_every_table_is_left_as_markdown_and_csv_with_the_same_entries(made):
    out, _, told = made
    tables = {"table-1", "table-2", "table-3", "depth-table", "params-table", "params-table-xnas"}
    assert {path.stem for path in out.glob("*.csv")} == tables
    assert {path.stem for path in out.glob("*.md")} == tables | {"claims"}
    assert any(line.startswith("params-table 2 tables in") for line in told)
    for name in tables:
        page = (out / f"{name}.md").read_text(encoding="utf8").splitlines()
        lines = [line for line in page if line.startswith("| ")]
        shown = [[entry.strip() for entry in line.strip("|").split(" | ")] for line in lines]
        with (out / f"{name}.csv").open(encoding="utf8", newline="") as file:
            saved = list(csv.reader(file))
        assert len(shown) == len(saved) + 1  # the rule under the header
        assert len({len(line) for line in saved}) == 1
        for one, other in zip(shown[2:], saved[1:], strict=True):
            assert [plain(entry) for entry in one] == [plain(entry) for entry in other]


def plain(entry):
    """A number without thousands set apart and to four digits; words as they are."""
    try:
        return float(f"{float(entry.replace(',', '')):.4g}")
    except ValueError:
        return entry.replace("\\|", "|")


def test_chosen_items_alone_are_made(tmp_path):
    out = tmp_path / "some"
    reproduce(("attenuation", "attenuation"), ReproduceConfig(out=out), lambda _: None)
    assert sorted(path.name for path in out.iterdir()) == [
        "attenuation.json",
        "attenuation.png",
        "attenuation.svg",
        "claims.md",
    ]


def test_a_folder_that_is_not_empty_is_left_alone(tmp_path):
    (tmp_path / "mine.txt").write_text("precious", encoding="utf8")
    config = ReproduceConfig(out=tmp_path)
    with pytest.raises(ConfigError, match=r"is not empty; choose another folder with --out, or pass"):
        reproduce(("attenuation",), config)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
    reproduce(("attenuation",), replace(config, overwrite=True), lambda _: None)
    assert (tmp_path / "mine.txt").read_text(encoding="utf8") == "precious"
    assert (tmp_path / "claims.md").exists()


@pytest.mark.parametrize("name", ["config.json", "genotype.json", "model.json"])
def test_a_run_is_not_overwritten(tmp_path, name):
    (tmp_path / name).write_text("mine", encoding="utf8")
    with pytest.raises(ConfigError, match=f"holds {name}, which is no part of a reproduction"):
        reproduce(("attenuation",), ReproduceConfig(out=tmp_path, overwrite=True))
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_an_error_on_the_way_leaves_nothing_behind(tmp_path, monkeypatch):
    def fail(_):
        raise ConfigError("on purpose")

    monkeypatch.setitem(ITEMS, "memory", fail)
    with pytest.raises(ConfigError, match="on purpose"):
        reproduce(("attenuation", "memory"), ReproduceConfig(out=tmp_path / "out"), lambda _: None)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_the_same_settings_make_the_same_bytes(made, tmp_path):
    out, _, _ = made
    again = tmp_path / "again"
    reproduce(("toy-2d", "toy-3d", "forecaster"), ReproduceConfig(out=again), lambda _: None)
    names = [path.name for path in again.iterdir() if path.name != "claims.md"]
    assert len(names) == 14
    for name in names:
        assert (again / name).read_bytes() == (out / name).read_bytes(), name


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda _: ReproduceConfig(runs=1), "runs must be at least 2, got 1"),
        (lambda _: ReproduceConfig(rounds=0), "rounds must be at least 2, got 0"),
        (lambda _: ReproduceConfig(seed=-1), "seed must be at least 0, got -1"),
        (
            lambda p: reproduce(("toy-4d",), ReproduceConfig(out=p / "x")),
            "nothing called 'toy-4d' .* there are: forecaster",
        ),
        (
            lambda p: reproduce((), ReproduceConfig(out=p / "file")),
            "is a file; choose a folder with --out",
        ),
        (
            lambda p: reproduce((), ReproduceConfig(out=p / "file" / "x")),
            "cannot write to .* choose another folder",
        ),
    ],
)
def test_bad_input_is_named(call, words, tmp_path):
    (tmp_path / "file").write_text("", encoding="utf8")
    with pytest.raises(ConfigError, match=words):
        call(tmp_path)


@pytest.mark.parametrize("there", [pytest.param(False, marks=pytest.mark.slow), True])
def test_sigterm_leaves_nothing_behind(tmp_path, there):
    script = "import sys; from xnas.cli import main; main(sys.argv[1:])"
    out = tmp_path / "out"
    if there:
        out.mkdir()
    words = ["reproduce", "stochastic", "--runs", "1000", "--rounds", "1000000", "--out", str(out)]
    with subprocess.Popen(
        [sys.executable, "-c", script, *words], stderr=subprocess.PIPE, text=True
    ) as process:
        deadline = time.monotonic() + 60
        while not (out.is_dir() and list(out.glob(".scratch-*"))) and time.monotonic() < deadline:
            time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        try:
            _, told = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == 130, told
    assert told == "xnas: interrupted\n"
    assert not list(tmp_path.rglob(".scratch-*"))
    assert list(tmp_path.iterdir()) == ([out] if there else [])
    assert not there or list(out.iterdir()) == []
