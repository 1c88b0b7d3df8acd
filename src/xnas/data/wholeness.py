"""Whether the files of a dataset are those that its authors published.

Sizes and checksums are of decompressed bytes. No more of a file is decompressed than it may hold.
"""

from __future__ import annotations

import gzip
import hashlib
import zlib
from collections.abc import Iterator
from pathlib import Path

from xnas.data.catalogue import Known, KnownFile
from xnas.data.places import file_at
from xnas.errors import DatasetError

CHUNK = 1 << 20


def faults(known: Known, place: Path) -> Iterator[str]:
    """What is wrong with the dataset's files at `place`, one line per fault."""
    for file in known.files:
        path = file_at(place, file)
        if path is None:
            yield f"{file.name} is missing"
        else:
            fault = _fault(file, path)
            if fault:
                yield f"{path.name} {fault}"


def require_whole(known: Known, place: Path) -> None:
    """Refuse files that are missing, of the wrong size, or not the published ones."""
    wrong = list(faults(known, place))
    if not wrong:
        return
    more = f" (and {len(wrong) - 1} more of its files)" if len(wrong) > 1 else ""
    remedy = f'remove it and get it again; "xnas data {known.name}" says how'
    raise DatasetError(f"{known.title} in {place} is not whole: {wrong[0]}{more}; {remedy}")


def checksum(
    path: Path, algorithm: str, *, most: int | None = None, decompress: bool = True
) -> tuple[str, int]:
    """Checksum and size of a file's bytes, decompressed if it ends in .gz; at most just over `most`."""
    digest = hashlib.new(algorithm, usedforsecurity=False)
    size = 0
    with gzip.open(path) if decompress and path.suffix == ".gz" else path.open("rb") as file:
        while chunk := file.read(CHUNK):
            size += len(chunk)
            digest.update(chunk)
            if most is not None and size > most:
                break
    return digest.hexdigest(), size


def _fault(file: KnownFile, path: Path) -> str:
    """What is wrong with one file, as the rest of a sentence; empty if nothing is."""
    if not file.checksum:
        return ""
    algorithm, expected = file.checksum.split(":")
    if file.size is not None and path.suffix != ".gz" and path.stat().st_size != file.size:
        return f"has {path.stat().st_size:,} bytes instead of {file.size:,}"
    try:
        found, size = checksum(path, algorithm, most=file.size)
    except (OSError, EOFError, zlib.error) as error:
        return f"cannot be read to its end ({error})"
    if file.size is not None and size != file.size:
        return f"has {'more than' if size > file.size else f'{size:,} bytes instead of'} {file.size:,}"
    return "" if found == expected else f"has the {algorithm} {found} instead of {expected}"
