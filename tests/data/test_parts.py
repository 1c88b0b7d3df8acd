"""Parts of a batch, one for each of several processes, are together the batch of one process."""

import pytest
import torch
from PIL import Image

from xnas.data import (
    AutoAugmentTrain,
    BatchSettings,
    BatchSource,
    Chain,
    Crop,
    Cutout,
    Flip,
    ImageFiles,
    Paths,
    RandomResizedCrop,
    StreamSource,
)
from xnas.errors import ConfigError

COUNT, ROUNDS, SIZE = 30, 4, (12, 10)
SETTINGS = {"batch_size": 6, "mean": (0.5, 0.4, 0.3), "std": (0.2, 0.3, 0.4), "seed": 3, "name": "a"}
WAYS = {
    "plain": {},
    "search": {"augment": Chain((Crop(2), Flip(), AutoAugmentTrain("cifar10")))},
    "training": {"augment": Chain((Crop(2), Flip())), "finish": Cutout(4), "balance": True},
    "resized": {"augment": Chain((RandomResizedCrop((8, 8)), Flip())), "size": (8, 8)},
}


def pixels():
    generator = torch.Generator().manual_seed(7)
    return torch.randint(256, (COUNT, 3, *SIZE), dtype=torch.uint8, generator=generator)


def filled(source):
    """An epoch of batches, with a pause in the middle in which the source is saved and loaded."""
    source.begin_epoch(1, ROUNDS)
    found = []
    for number in range(ROUNDS):
        if number == 2:
            source.load_state_dict(source.state_dict())
        buffers = source.buffers()
        source.fill(*buffers)
        found.append(buffers)
    return found


def assert_parts(whole, parts):
    for number, (images, labels) in enumerate(whole):
        assert torch.equal(torch.cat([part[number][0] for part in parts]), images)
        assert torch.equal(torch.cat([part[number][1] for part in parts]), labels)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("count", [2, 3])
def test_parts_in_memory_are_together_the_whole_batch(way, count):
    def make(part):
        labels = torch.arange(COUNT) % 3
        return BatchSource(
            pixels(), labels, torch.arange(COUNT), BatchSettings(**SETTINGS, **WAYS[way], part=part)
        )

    assert_parts(filled(make((0, 1))), [filled(make((which, count))) for which in range(count)])


@pytest.mark.parametrize("way", ["plain", "training"])
def test_streamed_parts_are_together_the_whole_batch_with_bad_files_too(tmp_path, way):
    files = []
    for index, image in enumerate(pixels()):
        files.append(tmp_path / f"{index}.png")
        if index % 7 == 3:
            files[-1].write_bytes(b"no image")
        else:
            Image.fromarray(image.movedim(0, -1).numpy()).save(files[-1])

    def make(part):
        return StreamSource(
            ImageFiles(Paths(files), 3, SIZE, "crop"),
            torch.arange(COUNT) % 3,
            torch.arange(COUNT),
            BatchSettings(**SETTINGS, **WAYS[way], part=part),
            workers=0,
            skip_bad_images=True,
        )

    assert_parts(filled(make((0, 1))), [filled(make((which, 3))) for which in range(3)])


def test_a_part_decodes_its_own_images_alone(tmp_path):
    files = [tmp_path / f"{index}.png" for index in range(COUNT)]
    for path, image in zip(files, pixels(), strict=True):
        Image.fromarray(image.movedim(0, -1).numpy()).save(path)
    read = []

    class Noting(ImageFiles):
        def read(self, index):
            read.append(index)
            return super().read(index)

    images = Noting(Paths(files), 3, SIZE, "crop")
    everything = torch.arange(COUNT)
    source = StreamSource(
        images, everything, everything, BatchSettings(**SETTINGS, part=(1, 2)), workers=0
    )
    filled(source)
    assert set(read) <= set(source.order[:, 3:].flatten().tolist())


@pytest.mark.parametrize("part", [(0, 4), (2, 2), (-1, 2), (0, 0)])
def test_parts_that_are_none_are_refused(part):
    everything = torch.arange(COUNT)
    with pytest.raises(ConfigError, match="parts must be equal"):
        BatchSource(pixels(), everything, everything, BatchSettings(**SETTINGS, part=part))
