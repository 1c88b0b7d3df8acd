"""Small files in the exact layouts of the published datasets, and facts to go with them.

Published checksums and sizes belong to the published files alone, so tests that load made ones put a
description without them in the catalogue.
"""

import gzip
import pickle
import struct
from dataclasses import replace
from typing import ClassVar

import numpy as np
from PIL import Image
from scipy.io import savemat

from xnas.data.catalogue import CATALOGUE


def unchecked(monkeypatch, name):
    """Let files of any size and checksum pass for those of a dataset."""
    known = CATALOGUE[name]
    files = tuple(replace(file, checksum="", size=None) for file in known.files)
    monkeypatch.setitem(CATALOGUE, name, replace(known, files=files, systems_folder=""))


class Python2Pickler(pickle._Pickler):
    """Writes strings and bytes as Python 2 did, which wrote the original files."""

    dispatch: ClassVar = dict(pickle._Pickler.dispatch)

    def save_string(self, value):
        raw = value.encode("latin1") if isinstance(value, str) else value
        self.write(pickle.BINSTRING + struct.pack("<i", len(raw)) + raw)
        self.memoize(value)

    dispatch[str] = save_string
    dispatch[bytes] = save_string


def write_pickle(path, content):
    with path.open("wb") as file:
        Python2Pickler(file, protocol=2).dump(content)
    old = path.read_bytes().replace(b"cnumpy._core.multiarray\n", b"cnumpy.core.multiarray\n")
    path.write_bytes(old)


def noise(number, *shape):
    return np.random.default_rng(number).integers(256, size=shape, dtype=np.uint8)


def make_cifar100(folder):
    """`train`, `test` and `meta`, each image with a coarse and a fine label; 200 and 100 images."""
    folder.mkdir(parents=True)
    for number, (name, count) in enumerate((("train", 200), ("test", 100))):
        fine = [index % 100 for index in range(count)]
        content = {
            "filenames": [f"image_{index}.png" for index in range(count)],
            "batch_label": f"{name}ing batch 1 of 1",
            "fine_labels": fine,
            "coarse_labels": [label // 5 for label in fine],
            "data": noise(number, count, 3072),
        }
        write_pickle(folder / name, content)
    names = {
        "fine_label_names": [f"fine {label}" for label in range(100)],
        "coarse_label_names": [f"coarse {label}" for label in range(20)],
    }
    write_pickle(folder / "meta", names)
    return folder


def idx(array):
    """An IDX file's bytes."""
    head = bytes((0, 0, 8, array.ndim)) + b"".join(struct.pack(">I", size) for size in array.shape)
    return head + array.tobytes()


def make_fashion(folder, *, compressed, train=40, test=20):
    """The four IDX files, plain or compressed."""
    folder.mkdir(parents=True)
    for number, (part, count) in enumerate((("train", train), ("t10k", test))):
        labels = (np.arange(count) % 10).astype(np.uint8)
        contents = {"images-idx3": noise(number, count, 28, 28), "labels-idx1": labels}
        for name, array in contents.items():
            path = folder / f"{part}-{name}-ubyte"
            raw = idx(array)
            if compressed:
                path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(raw, 1))
            else:
                path.write_bytes(raw)
    return folder


def make_svhn(folder, *, train=20, extra=30, test=20):
    """Three .mat files with X (32, 32, 3, n) and y (n, 1), in which 10 stands for the digit 0."""
    folder.mkdir(parents=True)
    for number, (part, count) in enumerate((("train", train), ("extra", extra), ("test", test))):
        labels = (np.arange(count) % 10 + 1).astype(np.uint8)[:, None]
        content = {"X": noise(number, 32, 32, 3, count), "y": labels}
        savemat(folder / f"{part}_32x32.mat", content, do_compression=True)
    return folder


CINIC_CLASSES = (
    "airplane",
    "automobile",
    "bird",
    "cat",
    "deer",
    "dog",
    "frog",
    "horse",
    "ship",
    "truck",
)


def make_image(path, value, *, size=(32, 32), mode="RGB"):
    """One colour; `size` is height and width."""
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new(mode, (size[1], size[0]), value).save(path)


def make_cinic10(root, *, each=4):
    """train, valid and test, with PNGs in ten class folders; the red value says which part."""
    for red, part in ((10, "train"), (20, "valid"), (30, "test")):
        for label, name in enumerate(CINIC_CLASSES):
            for index in range(each):
                make_image(root / part / name / f"cifar10-{part}-{index}.png", (red, label, index))
    return root


GROCERIES = ("BEANS", "CAKE", "CANDY")


def make_freiburg(root, *, each=10):
    """images/CLASS/CLASS0000.png and splits of five folds, whose class numbers are not alphabetical."""
    numbers = {"BEANS": 15, "CAKE": 19, "CANDY": 0}
    names = [f"{name}/{name}{index:04}.png" for name in GROCERIES for index in range(each)]
    for label, name in enumerate(names):
        make_image(root / "images" / name, (label, 200, 200), size=(128, 256))
    (root / "splits").mkdir()
    for fold in range(5):
        lines = {
            "test": [name for index, name in enumerate(names) if index % 5 == fold],
            "train": [name for index, name in enumerate(names) if index % 5 != fold],
        }
        for part, listed in lines.items():
            text = "".join(f"{name} {numbers[name.split('/')[0]]}\n" for name in listed)
            (root / "splits" / f"{part}{fold}.txt").write_text(text, encoding="utf8")
    return root


def make_imagenet(root, *, each=4):
    """train/WNID/WNID_1.JPEG and val/WNID/ILSVRC2012_val_00000001.JPEG, of differing sizes."""
    number = 0
    for label, name in enumerate(("n01440764", "n01443537", "n01484850")):
        for index in range(each):
            size = (70 + index, 90)
            make_image(root / "train" / name / f"{name}_{index}.JPEG", (80 * label, 0, 0), size=size)
            number += 1
            path = root / "val" / name / f"ILSVRC2012_val_{number:08}.JPEG"
            make_image(path, (80 * label, 0, 0), size=(80, 60))
    return root
