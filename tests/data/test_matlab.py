"""Matrices of MATLAB's files: those that scipy writes, and files that lie about themselves."""

import struct
import zlib

import numpy as np
import pytest
from datasets_made import noise
from scipy.io import savemat

from xnas.data.matlab import read_matrices

KINDS = ("u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f4", "f8")


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_numbers_of_all_kinds_are_those_that_were_written(tmp_path, kind, packed):
    matrix = np.arange(60).reshape(3, 4, 5).astype(kind)
    short = np.array([[1, 2]], dtype=kind)
    content = {"X": matrix, "other": "text", "y": short}
    savemat(tmp_path / "a.mat", content, do_compression=packed)
    found = read_matrices(tmp_path / "a.mat", ("X", "y"))
    assert found.keys() == {"X", "y"}
    for name in found:
        assert found[name].dtype == content[name].dtype
        assert np.array_equal(found[name], content[name])


def test_what_is_larger_than_a_chunk_is_read_whole(tmp_path):
    pixels = noise(0, 32, 32, 3, 900)
    savemat(tmp_path / "a.mat", {"X": pixels}, do_compression=True)
    assert np.array_equal(read_matrices(tmp_path / "a.mat", ("X",))["X"], pixels)


def element(kind, content, length=None):
    head = struct.pack("<II", kind, len(content) if length is None else length)
    return head + content + bytes(-len(content) % 8)


def matrix(*, dimensions=(2, 2), kind=9, stored=2, numbers=bytes(4), length=None, name=b"X"):
    return element(
        14,
        element(6, struct.pack("<II", kind, 0))
        + element(5, struct.pack(f"<{len(dimensions)}i", *dimensions))
        + element(1, name)
        + element(stored, numbers, length),
    )


def written(path, *parts, packed=False):
    head = bytes(124) + struct.pack("<H", 0x0100) + b"IM"
    if packed:
        parts = [struct.pack("<II", 15, len(p)) + p for p in map(zlib.compress, parts)]
    path.write_bytes(head + b"".join(parts))
    return path


@pytest.mark.parametrize("packed", [False, True])
def test_a_matrix_by_hand_is_read(tmp_path, packed):
    path = written(tmp_path / "a.mat", matrix(numbers=b"\1\2\3\4"), packed=packed)
    assert read_matrices(path, ("X",))["X"].tolist() == [[1, 3], [2, 4]]


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(
    ("part", "words"),
    [
        (matrix(dimensions=(2**31 - 1,) * 4), "has the dimensions"),
        (matrix(dimensions=(-1, 4)), "has the dimensions"),
        (matrix(dimensions=(4,)), "has the dimensions"),
        (matrix(dimensions=(2, 3)), "has 4 numbers for the dimensions"),
        (matrix(length=2**32 - 1), "an element of 4,294,967,295 bytes"),
        (matrix(length=1000), "ends too early"),
        (matrix(kind=1), "no matrix of real numbers"),
        (matrix(kind=9 | 0x0800), "no matrix of real numbers"),
        (matrix(stored=99), "numbers of the kind 99"),
        (matrix(stored=9, numbers=bytes(4)), "buffer size must be a multiple"),
        (element(1, bytes(8)), "an element of the kind 1|incorrect header check"),
    ],
)
def test_files_that_lie_are_refused(tmp_path, part, words, packed):
    with pytest.raises((ValueError, zlib.error), match=words):
        read_matrices(written(tmp_path / "a.mat", part, packed=packed), ("X",))


def test_a_bomb_is_not_unpacked(tmp_path):
    path = written(
        tmp_path / "a.mat", matrix(dimensions=(32, 32, 3, 100_000), numbers=bytes(10**8)), packed=True
    )
    assert path.stat().st_size < 10**6
    with pytest.raises(ValueError, match="has the dimensions"):
        read_matrices(path, ("X",))


@pytest.mark.parametrize("length", [0, 100, 128, 132, 136, 140, 150, 160])
def test_truncated_files_are_refused(tmp_path, length):
    path = written(tmp_path / "a.mat", matrix(numbers=b"\1\2\3\4"), packed=True)
    whole = path.read_bytes()
    path.write_bytes(whole[:length])
    if length == 128:
        assert read_matrices(path, ("X",)) == {}
        return
    with pytest.raises((ValueError, zlib.error)):
        read_matrices(path, ("X",))
