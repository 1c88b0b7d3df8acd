"""Archives, unpacked whole or not at all, and never outside the folder meant for them.

Files and folders are all that an archive of a dataset needs: links, devices and paths that lead out are
refused. Everything is unpacked into a scratch folder next to its place and moved there at the end.
"""

from __future__ import annotations

import shutil
import stat
import sys
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from lzma import LZMAError
from pathlib import Path, PurePosixPath
from reprlib import repr as brief
from tempfile import TemporaryDirectory
from typing import Self

from xnas.data.catalogue import Known
from xnas.data.places import is_there
from xnas.data.wholeness import checksum
from xnas.errors import DatasetError

ENDINGS = (".tar", ".tar.gz", ".zip")
DAMAGE = (
    tarfile.TarError,
    zipfile.BadZipFile,
    EOFError,
    zlib.error,
    LZMAError,
    NotImplementedError,
    ValueError,  # names that are no text, or numbers that are none
    OverflowError,
    RuntimeError,
)
PLAIN_TYPES = (tarfile.REGTYPE, tarfile.AREGTYPE, tarfile.CONTTYPE, tarfile.DIRTYPE)
LONGEST_HEADER = 1 << 20  # bytes; tarfile reads headers, of names and the like, into memory


def unpack(archive: Path, known: Known, data_folder: Path) -> Path:
    """Unpack an archive of a dataset below a data folder; returns where its files are.

    An archive of the published name must have the published checksum.
    """
    if not any(source.name.endswith(ENDINGS) for source in known.sources):
        raise DatasetError(f"{known.title} comes in no archive to unpack: {known.obtain}")
    if not archive.is_file():
        raise DatasetError(f"no archive {archive} to unpack; give a .tar, .tar.gz or .zip file")
    _require_published(archive, known)
    place = data_folder / known.folders[0]
    with scratch_folder(data_folder) as scratch:
        _extract(archive, scratch)
        contents = _contents(scratch, place.name)
        if not is_there(known, contents):
            marks = known.marks or [file.name for file in known.files]
            raise DatasetError(
                f"{archive} holds nothing of {known.title}: none of {', '.join(marks)} is in it; "
                f"nothing was unpacked"
            )
        move_into(contents, place)
    return place


@contextmanager
def scratch_folder(parent: Path) -> Iterator[Path]:
    """An empty folder in `parent`, gone at the end, whatever happens.

    `parent` is made if it is not there, and goes as well if nothing came into it.
    """
    new = not parent.exists()
    try:
        parent.mkdir(parents=True, exist_ok=True)
        scratch = TemporaryDirectory(prefix=".xnas-", dir=parent)
    except OSError as error:
        raise DatasetError(
            f"cannot write to {parent} ({error.strerror}); choose another --data-dir"
        ) from error
    try:
        with scratch as path:
            yield Path(path)
    finally:
        if new and not any(parent.iterdir()):
            parent.rmdir()


def move_into(contents: Path, place: Path) -> None:
    """Move what a folder contains to a place; refused before anything moves if something is there."""
    entries = sorted(contents.iterdir())
    taken = [entry.name for entry in entries if (place / entry.name).exists()]
    if taken:
        raise DatasetError(
            f"{place / taken[0]} is there already; remove it, and what belongs to it, first"
        )
    place.mkdir(parents=True, exist_ok=True)
    for entry in entries:
        entry.rename(place / entry.name)


def _require_published(archive: Path, known: Known) -> None:
    for source in known.sources:
        if source.name == archive.name:
            size = archive.stat().st_size
            found, _ = checksum(archive, "md5", decompress=False)
            if found != source.md5:
                raise DatasetError(
                    f"{archive} ({size:,} bytes) has the md5 {found} instead of {source.md5}: it is "
                    f"truncated or another file; get {source.url} again"
                )


def _extract(archive: Path, folder: Path) -> None:
    try:
        if zipfile.is_zipfile(archive):
            _extract_zip(archive, folder)
        else:
            _extract_tar(archive, folder)
    except DAMAGE as error:
        lines = str(error).splitlines()  # tarfile reports each of its attempts on a line of its own
        why = lines[0][:200].rstrip(": ") if lines else type(error).__name__
        raise DatasetError(
            f"{archive} is truncated, damaged or no archive ({why}); nothing was unpacked: get it again"
        ) from error
    except OSError as error:
        raise DatasetError(
            f"cannot unpack {archive} ({error.strerror or error}); nothing was unpacked"
        ) from error


class _StrictHeader(tarfile.TarInfo):
    """Takes an archive that ends without its end mark for truncated, which tarfile takes for whole."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        """A header of 512 bytes; its absence is damage, and zeros are the end."""
        try:
            header = super().frombuf(buf, encoding, errors)
        except tarfile.EOFHeaderError:  # type: ignore[attr-defined]
            raise
        except tarfile.HeaderError as error:
            raise tarfile.ReadError(f"no end mark: {error}") from error
        most = sys.maxsize if header.type in PLAIN_TYPES else LONGEST_HEADER
        if not 0 <= header.size <= most:  # a negative size would lead tarfile round in a circle
            raise tarfile.ReadError(f"an entry of {header.size:,} bytes")
        return header


def _extract_tar(archive: Path, folder: Path) -> None:
    room = shutil.disk_usage(folder).free
    with tarfile.open(archive, tarinfo=_StrictHeader) as tar:
        for member in tar:
            _require_inside(archive, member.name)
            if not (member.isfile() or member.isdir()) or member.issparse():
                raise _unwanted(archive, member.name, "a link or a device")
            room -= member.size
            _require_room(archive, room)
            tar.extract(member, folder, filter="data")


def _extract_zip(archive: Path, folder: Path) -> None:
    with zipfile.ZipFile(archive) as content:
        room = shutil.disk_usage(folder).free - sum(member.file_size for member in content.infolist())
        _require_room(archive, room)
        for member in content.infolist():
            _require_inside(archive, member.filename)
            kind = stat.S_IFMT(member.external_attr >> 16)
            if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
                raise _unwanted(archive, member.filename, "a link or a device")
            if member.flag_bits & 1:
                raise _unwanted(archive, member.filename, "encrypted")
            content.extract(member, folder)


def _require_inside(archive: Path, name: str) -> None:
    path = PurePosixPath(name.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts or ":" in name.split("/", maxsplit=1)[0]:
        raise _unwanted(archive, name, "a path that leads out of its folder")


def _require_room(archive: Path, room: int) -> None:
    if room < 0:
        raise DatasetError(
            f"{archive} unpacks to {-room:,} bytes more than the disk has; nothing was unpacked"
        )


def _unwanted(archive: Path, name: str, what: str) -> DatasetError:
    return DatasetError(
        f"{archive} holds {brief(name)}, {what}, which no dataset needs; nothing was unpacked: get it "
        "again"
    )


def _contents(scratch: Path, name: str) -> Path:
    """What belongs into the dataset's folder: all, or what is in a folder that is called like it."""
    entries = list(scratch.iterdir())
    if len(entries) == 1 and entries[0].is_dir() and entries[0].name.startswith(name):
        return entries[0]
    return scratch
