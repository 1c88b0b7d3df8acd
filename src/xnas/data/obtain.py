"""Datasets fetched through torchvision, whole or not at all."""

from __future__ import annotations

import socket
from pathlib import Path

from xnas.data.catalogue import Known
from xnas.data.unpack import move_into, scratch_folder, unpack
from xnas.errors import DatasetError

PATIENCE = 30.0  # seconds without an answer


def download(known: Known, data_folder: Path) -> Path:
    """Fetch a dataset into a data folder, where it is found again; returns its folder there.

    Files arrive in a scratch folder, their checksums are verified, and only then are they moved.
    """
    if not known.torchvision:
        raise DatasetError(f"torchvision offers no download of {known.title}; {known.obtain}")
    with scratch_folder(data_folder) as scratch:
        for source in known.sources:
            _fetch(known, source.url, scratch, source.md5)
        if known.sources[0].name.endswith(".tar.gz"):
            return unpack(scratch / known.sources[0].name, known, data_folder)
        place = data_folder / known.folders[0]
        move_into(scratch, place)
    return place


def _fetch(known: Known, url: str, folder: Path, md5: str) -> None:
    from torchvision.datasets.utils import (  # type: ignore[import-untyped]  # noqa: PLC0415
        download_url,
    )

    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(PATIENCE)
    try:
        download_url(url, folder, md5=md5)
    except Exception as error:  # torchvision lets through whatever its parts raise
        why = " ".join(str(error).split()) or type(error).__name__
        raise DatasetError(
            f"cannot download {known.title} from {url} ({why}); nothing was kept: fetch it "
            f'elsewhere, and see "xnas data {known.name}"'
        ) from error
    finally:
        socket.setdefaulttimeout(before)
