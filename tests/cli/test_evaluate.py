"""`xnas evaluate`, from arguments to what is printed."""

import json
from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest
from commands import call
from PIL import Image
from trained import saved_run

from xnas.data import load_data


def test_evaluate_prints_the_table_and_says_what_was_written(capsys, run, tmp_path):
    status, out, err = call(
        capsys, "evaluate", str(run), "--device", "cpu", "--out", str(tmp_path / "o")
    )
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].startswith("digits: test error ")
    assert lines[2].startswith("class  images  accuracy")
    assert len([line for line in lines if line.endswith((")", "%"))]) >= 10
    assert lines[-2].startswith("note: scikit-learn's digits")
    assert str(tmp_path / "o" / "evaluation.json") in lines[-1]


def test_quiet_evaluation_prints_nothing(capsys, run, tmp_path):
    out = str(tmp_path / "o")
    assert call(capsys, "evaluate", str(run), "digits", "--quiet", "--out", out) == (0, "", "")
    assert (tmp_path / "o" / "evaluation-digits.json").exists()


def test_names_with_control_characters_are_escaped_everywhere(capsys, tmp_path):
    digits = load_data("digits")
    named = replace(digits, classes=("<b>zero\x1b[31m", "one\ntwo", *digits.classes[2:]))
    saved_run(tmp_path / "run", named)
    for part in ("train", "test"):
        for name in named.classes:
            folder = tmp_path / "photos" / part / name
            folder.mkdir(parents=True)
            for index in range(4):
                image = Image.fromarray(digits.images[index, 0].numpy())
                image.save(folder / f"{index}.png")
    out = tmp_path / "out"
    status, printed, err = call(
        capsys, "evaluate", str(tmp_path / "run"), str(tmp_path / "photos"), "--out", str(out)
    )
    assert (status, err) == (0, "")
    assert "\x1b" not in printed
    assert "<b>zero\\x1b[31m  " in printed
    assert "\none\\ntwo  " in printed
    ET.parse(out / "figures" / "confusion-photos.svg")  # noqa: S314 - written here
    page = (out / "evaluation-photos.md").read_text(encoding="utf8")
    assert "<b>" not in page
    assert "&lt;b&gt;zero\\\\x1b\\[31m" in page


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("evaluate", "{tmp}/none"), "no trained model in"),
        (("evaluate", "{run}", "{tmp}/none"), "no dataset or folder called"),
    ],
)
def test_errors_are_one_line(capsys, run, tmp_path, arguments, words):
    status, out, err = call(capsys, *(word.format(run=run, tmp=tmp_path) for word in arguments))
    assert (status, out) == (2, "")
    assert words in err
    assert err.count("\n") == 1


def test_help_is_complete(capsys):
    status, out, _ = call(capsys, "evaluate", "--help")
    assert status == 0
    assert all(
        flag in out
        for flag in ("--out", "--device", "--cell", "--network", "--channels", "--every-image")
    )


def test_an_evaluation_is_one_json_document(capsys, run, tmp_path):
    status, out, err = call(capsys, "evaluate", run, "--json", "--out", tmp_path / "o")
    assert (status, err) == (0, "")
    record = json.loads(out)
    written = json.loads((tmp_path / "o" / "evaluation.json").read_text())
    assert {*record} >= {"data", "images", "top1", "loss", "classes", "confusion", "notes", "files"}
    assert record["confusion"] == written["confusion"]
    assert record["data"] == "digits"
    assert str(tmp_path / "o" / "evaluation.json") in record["files"]
