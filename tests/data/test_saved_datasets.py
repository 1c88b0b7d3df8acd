"""Datasets as `save_to_disk` writes them."""

import builtins
import io
import json

import numpy as np
import pytest
from PIL import Image

from xnas.data import load_data
from xnas.errors import DatasetError

FEATURES = {"image": {"_type": "Image"}, "label": {"names": ["cat", "dog"], "_type": "ClassLabel"}}


def described(folder, features=FEATURES):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "dataset_info.json").write_text(json.dumps({"features": features}), encoding="utf8")
    files = [{"filename": "data-00000-of-00001.arrow"}]
    (folder / "state.json").write_text(json.dumps({"_data_files": files}), encoding="utf8")


def saved(folder, count):
    pyarrow = pytest.importorskip("pyarrow")
    described(folder)
    rows = []
    for index in range(count):
        buffer = io.BytesIO()
        Image.fromarray(np.full((16, 16, 3), 10 * index, np.uint8)).save(buffer, "PNG")
        rows.append({"bytes": buffer.getvalue(), "path": f"{index}.png"})
    table = pyarrow.table({"image": rows, "label": [index % 2 for index in range(count)]})
    path = str(folder / "data-00000-of-00001.arrow")
    with pyarrow.OSFile(path, "wb") as sink, pyarrow.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)


def test_a_saved_dataset_and_its_parts_are_read(tmp_path):
    saved(tmp_path / "one", 10)
    data = load_data(tmp_path / "one")
    assert (data.name, data.classes) == ("one", ("cat", "dog"))
    assert (len(data.images), len(data.test_images)) == (8, 2)
    saved(tmp_path / "two" / "train", 10)
    saved(tmp_path / "two" / "test", 6)
    splits = json.dumps({"splits": ["train", "test"]})
    (tmp_path / "two" / "dataset_dict.json").write_text(splits, encoding="utf8")
    data = load_data(tmp_path / "two")
    assert data.images[:, 0, 0, 0].tolist() == [10 * index for index in range(10)]
    assert len(data.test_images) == 6
    streamed = load_data(tmp_path / "two", stream=True)
    assert streamed.images.read(3).unique().tolist() == [30]


def test_without_pyarrow_a_line_says_what_to_install(tmp_path, monkeypatch):
    real = builtins.__import__

    def without(name, *rest):
        if name == "pyarrow":
            raise ImportError(name)
        return real(name, *rest)

    described(tmp_path)
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(DatasetError, match=r"save_to_disk, which pyarrow reads; install xnas\[arrow\]"):
        load_data(tmp_path)


@pytest.mark.parametrize(
    ("features", "words"),
    [
        (
            FEATURES | {"mask": {"_type": "Image"}},
            "the images image, mask in each row, as data for segm",
        ),
        (
            FEATURES | {"label": {"_type": "Sequence"}},
            "label in .* is a list of labels: multi-label data",
        ),
        ({"text": {"_type": "Value"}}, "has the columns text; an image and a label are wanted"),
    ],
)
def test_saved_data_of_another_task_are_refused(tmp_path, features, words):
    described(tmp_path, features)
    with pytest.raises(DatasetError, match=words):
        load_data(tmp_path)


def test_a_damaged_description_is_one_line(tmp_path):
    described(tmp_path)
    (tmp_path / "dataset_info.json").write_text("[", encoding="utf8")
    with pytest.raises(
        DatasetError, match=r"cannot read .*dataset_info.json .*; save the dataset again"
    ):
        load_data(tmp_path)
