"""Sources of streamed batches, and of the same batches in memory."""

from dataclasses import fields

import pytest
import torch
from streamed_files import COUNT, SETTINGS, SIZE, write_images

from xnas.data import BatchSettings, BatchSource, ImageFiles, Paths, StreamSource


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    return write_images(tmp_path_factory.mktemp("images"))


@pytest.fixture
def opened():
    """Sources that are closed after the test."""
    sources = []
    yield sources
    for one in sources:
        one.close()


@pytest.fixture
def streamed(written, opened):
    """Makes sources over the files; the label of an image is its index."""

    def make(files=None, indices=None, **changes):
        files = written[0] if files is None else files
        images = ImageFiles(Paths(files), 3, SIZE, "crop")
        chosen = torch.arange(len(files)) if indices is None else indices
        drawn = {field.name for field in fields(BatchSettings)}
        settings = BatchSettings(**SETTINGS | {k: v for k, v in changes.items() if k in drawn})
        reading = {"workers": 0} | {k: v for k, v in changes.items() if k not in drawn}
        opened.append(StreamSource(images, torch.arange(len(files)), chosen, settings, **reading))
        return opened[-1]

    return make


@pytest.fixture
def in_memory(written):
    def make(indices=None, **changes):
        chosen = torch.arange(COUNT) if indices is None else indices
        return BatchSource(
            written[1], torch.arange(COUNT), chosen, BatchSettings(**{**SETTINGS, **changes})
        )

    return make
