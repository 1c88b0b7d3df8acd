"""Files of an evaluation: read as they were written, or named with what is wrong."""

import errno
import os
from pathlib import Path

import pytest

from xnas.errors import ConfigError, DamagedFileError, StorageError, VersionError
from xnas.model import evaluation_files
from xnas.model.evaluation_files import read_evaluation, write_evaluation
from xnas.records import CalibrationBin, Evaluation


def perfect(classes):
    """An evaluation of one image per class, all answered rightly."""
    count = len(classes)
    return Evaluation(
        images=count,
        classes=tuple(classes),
        top1=1.0,
        top5=1.0,
        loss=0.0,
        counts=(1,) * count,
        accuracies=(1.0,) * count,
        confusion=tuple((0,) * k + (1,) + (0,) * (count - 1 - k) for k in range(count)),
        calibration_error=0.0,
        calibration=(CalibrationBin(lower=0.0, upper=1.0, images=count, confidence=1.0, accuracy=1.0),),
    )


def test_names_that_no_font_can_write_are_no_obstacle(tmp_path):
    named = perfect([f"猫{k}$" for k in range(3)])
    files = write_evaluation(tmp_path / "out", named, data="猫")
    assert [str(file.relative_to(tmp_path / "out")) for file in files] == [
        "evaluation.json",
        "evaluation.md",
        "figures/confusion.svg",
        "figures/confusion.png",
        "figures/reliability.svg",
        "figures/reliability.png",
    ]
    assert all(file.stat().st_size > 100 for file in files)
    assert read_evaluation(files[0]) == named


def test_the_confusions_of_many_classes_are_not_drawn(tmp_path):
    names = [
        path.name for path in write_evaluation(tmp_path / "out", perfect([f"{k}" for k in range(101)]))
    ]
    assert "reliability.png" in names
    assert "confusion.png" not in names


def test_a_full_disk_leaves_no_folder(tmp_path, monkeypatch):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(StorageError, match=r"cannot write to .*out: No space left on device; make room"):
        write_evaluation(tmp_path / "out", perfect("ab"))
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("text", "kind", "words"),
    [
        ("{}", DamagedFileError, r"cannot read the evaluation .*e\.json \('format'\); evaluate again"),
        ("[" * 100_000, DamagedFileError, "cannot read the evaluation"),
        ('{"format": "xnas-evaluation", "version": 2}', VersionError, "of version 2; this xnas reads"),
    ],
)
def test_a_damaged_evaluation_is_named(tmp_path, text, kind, words):
    (tmp_path / "e.json").write_text(text, encoding="utf8")
    with pytest.raises(kind, match=words) as caught:
        read_evaluation(tmp_path / "e.json")
    assert isinstance(caught.value, ConfigError)


def test_a_file_without_an_end_is_not_read_whole(tmp_path, monkeypatch):
    monkeypatch.setattr(evaluation_files, "MOST_BYTES", 100)
    (tmp_path / "e.json").write_text(" " * 101, encoding="utf8")
    with pytest.raises(DamagedFileError, match="it has more than 100 bytes"):
        read_evaluation(tmp_path / "e.json")
