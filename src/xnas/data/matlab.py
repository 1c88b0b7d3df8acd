"""Matrices of numbers in MATLAB's files (version 5), plain or compressed; anything else is refused.

A reader of its own, because scipy's ends the whole process on some damaged files. An element of a file
is a tag (what it is, how many bytes follow) and its content; a matrix is an element of elements: flags,
dimensions, name, numbers. A matrix is as large as its dimensions say, and they are read first, so that a
file of a few bytes cannot fill memory.
"""

from __future__ import annotations

import math
import os
import struct
import zlib
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

HEADER, LITTLE, BIG = 128, b"IM", b"MI"
MATRIX, COMPRESSED, COMPLEX = 14, 15, 0x0800
STORED = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
"""How numbers are stored, by the tag."""
CLASSES = dict(enumerate(("f8", "f4", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"), start=6))
"""What they are to MATLAB, which stores them as something smaller where that is enough."""
SHORT = 1024  # bytes that flags, dimensions and a name may have
CHUNK = 1 << 20
MOST_PACKED = 64  # times the size of a file; images are packed to some tenths

Read = Callable[[int], bytes | bytearray]
"""Gives that many bytes, or raises."""
Array = np.ndarray[Any, Any]


def read_matrices(path: Path, names: Collection[str]) -> dict[str, Array]:
    """The matrices of these names; whatever is wrong with the file is a ValueError or zlib.error."""
    found: dict[str, Array] = {}
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        head = file.read(HEADER)
        if len(head) < HEADER or head[-2:] not in (LITTLE, BIG):
            raise ValueError("no header of a MATLAB file of version 5")
        order = "<" if head[-2:] == LITTLE else ">"
        while file.tell() < size:
            kind, length = struct.unpack(f"{order}II", _exactly(file)(8))
            end = file.tell() + length
            if end > size:
                raise ValueError("it ends too early")
            read = _exactly(file) if kind == MATRIX else _unpacked(file, end)
            if kind == COMPRESSED:
                kind, _ = struct.unpack(f"{order}II", read(8))
            if kind != MATRIX:
                raise ValueError(f"an element of the kind {kind}")
            found |= _read_matrix(read, order, names, most=MOST_PACKED * size + CHUNK)
            file.seek(end)
    return found


def _read_matrix(read: Read, order: str, names: Collection[str], *, most: int) -> dict[str, Array]:
    """One matrix, by its name; nothing if it was not asked for."""
    flags = _numbers(*_element(read, order, SHORT), order)
    dimensions = [int(n) for n in _numbers(*_element(read, order, SHORT), order)]
    name = _element(read, order, SHORT)[1].decode("latin1")
    if name not in names:
        return {}
    kind = int(flags[0]) & 0xFF
    if kind not in CLASSES or int(flags[0]) & COMPLEX:
        raise ValueError(f"{name} is no matrix of real numbers")
    if not 2 <= len(dimensions) <= 4 or min(dimensions) < 0 or math.prod(dimensions) > most:
        raise ValueError(f"{name} has the dimensions {dimensions[:4]}")
    values = _numbers(*_element(read, order, most, last=True), order)
    if len(values) != math.prod(dimensions):
        raise ValueError(f"{name} has {len(values)} numbers for the dimensions {dimensions}")
    return {name: values.astype(CLASSES[kind], copy=False).reshape(dimensions, order="F")}


def _element(read: Read, order: str, most: int, *, last: bool = False) -> tuple[int, bytes | bytearray]:
    """What an element is, and its content; what fills it up to 8 bytes is read but after the last."""
    (kind,) = struct.unpack(f"{order}I", read(4))
    if kind >> 16:  # a short one: kind and length share four bytes
        length = min(kind >> 16, 4)
        return kind & 0xFFFF, read(4)[:length]
    (length,) = struct.unpack(f"{order}I", read(4))
    if length > most:
        raise ValueError(f"an element of {length:,} bytes")
    content = read(length)
    if not last:
        read(-length % 8)
    return kind, content


def _numbers(kind: int, content: bytes | bytearray, order: str) -> Array:
    if kind not in STORED:
        raise ValueError(f"numbers of the kind {kind}")
    return np.frombuffer(content, dtype=np.dtype(order + STORED[kind]))


def _exactly(file: BinaryIO) -> Read:
    def read(length: int) -> bytes:
        content = file.read(length)
        if len(content) < length:
            raise ValueError("it ends too early")
        return content

    return read


def _unpacked(file: BinaryIO, end: int) -> Read:
    """Read what is compressed up to `end`, no more of it than is asked for."""
    packer, waiting = zlib.decompressobj(), b""

    def read(length: int) -> bytearray:
        nonlocal waiting
        content = bytearray()
        while len(content) < length:
            waiting = waiting or file.read(min(CHUNK, end - file.tell()))
            piece = packer.decompress(waiting, min(CHUNK, length - len(content)))
            if not piece and (packer.eof or not waiting):
                raise ValueError("it ends too early")
            content += piece
            waiting = packer.unconsumed_tail
        return content

    return read
