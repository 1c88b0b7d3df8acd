"""`reproduce` writes figures, numbers and claims, whole or not at all."""

import json
from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest

from xnas import ConfigError, toys
from xnas.records import Selection
from xnas.runs.reproduce import ITEMS, ReproduceConfig, reproduce

SMALL = {"runs": 40, "rounds": 60}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    out = tmp_path_factory.mktemp("made") / "all"
    told = []
    claims = reproduce((), ReproduceConfig(out=out, **SMALL), told.append)
    return out, claims, told


def test_every_item_leaves_its_figures_as_svg_and_png_and_its_numbers(made):
    out, _, told = made
    names = {path.stem for path in out.glob("*.svg")}
    assert names == {path.stem for path in out.glob("*.png")}
    assert {"forecaster", "toy-3d", "toy-2d-balanced", "toy-2d-imbalanced", "toy-2d-quadratic"} <= names
    assert {"attenuation", "stochastic", "adam"} <= names
    for path in out.glob("*.svg"):
        assert ET.parse(path).getroot().tag.endswith("svg")  # noqa: S314 - our own file
    assert {path.stem for path in out.glob("*.json")} == set(ITEMS) - {"forecaster"}
    assert [line.split()[0] for line in told] == list(ITEMS)


def test_numbers_are_those_of_the_study(made):
    out, _, _ = made
    saved = json.loads((out / "stochastic.json").read_text(encoding="utf8"))
    study = toys.stochastic_study(**SMALL)
    assert [Selection(**s) for s in saved["selections"]] == list(study.selections)


def test_the_page_lists_every_claim_with_its_verdict_and_shows_every_figure(made):
    out, claims, _ = made
    page = (out / "claims.md").read_text(encoding="utf8")
    assert len(claims) == 18
    for claim in claims:
        row = next(
            line for line in page.splitlines() if f"| {claim.where} |" in line and claim.measured in line
        )
        assert row.endswith(f"**{claim.verdict}** |")
    for path in out.glob("*.png"):
        assert f"({path.name})" in page


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


def test_an_error_on_the_way_leaves_nothing_behind(tmp_path, monkeypatch):
    def fail(_):
        raise ConfigError("on purpose")

    monkeypatch.setitem(ITEMS, "memory", fail)
    with pytest.raises(ConfigError, match="on purpose"):
        reproduce(("attenuation", "memory"), ReproduceConfig(out=tmp_path / "out"), lambda _: None)
    assert list(tmp_path.iterdir()) == []


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
