"""Any folder of class folders becomes a dataset, or one line says why not."""

import os

import numpy as np
import pytest
import torch
from photos_written import fill, flowers, write
from PIL import Image

from xnas.data import BatchSettings, BatchSource, halves, list_folder, load_data
from xnas.data.folders import load_files
from xnas.data_options import DataOptions
from xnas.errors import ConfigError, DatasetError


def test_classes_are_the_folders_sorted_by_name(tmp_path):
    root = flowers(tmp_path / "my flowers", classes=("zinnia", "Büschelschön", "red rose", "百合"))
    data = load_data(str(root))
    assert data.classes == ("Büschelschön", "red rose", "zinnia", "百合")
    assert data.name == "my flowers"
    assert torch.bincount(data.labels).tolist() == [4] * 4
    assert torch.bincount(data.test_labels).tolist() == [1] * 4
    assert "4 images, a fifth of each class, held out as test" in data.note


def test_pixels_are_those_of_the_file(tmp_path):
    flowers(tmp_path, size=(10, 12))
    data = load_data(tmp_path)
    expected = torch.tensor(np.array(Image.open(tmp_path / "rose" / "0.png"))).movedim(-1, 0)
    assert data.images.shape[1:] == (3, 10, 12)
    assert torch.equal(data.images[0], expected)
    assert "converted" not in data.note
    assert "resized" not in data.note


def test_labels_belong_to_their_images_in_every_part(tmp_path):
    for value, name in ((10, "rose"), (200, "tulip")):
        fill(tmp_path / name, 10, mode="L", value=value)
    data = load_data(tmp_path)
    for images, labels in ((data.images, data.labels), (data.test_images, data.test_labels)):
        assert torch.equal(images[:, 0, 0, 0], torch.where(labels == 0, 10, 200).to(torch.uint8))


def test_grey_images_have_one_channel(tmp_path):
    fill(tmp_path / "a", mode="L")
    fill(tmp_path / "b", mode="1")
    fill(tmp_path / "c", mode="LA")
    data = load_data(tmp_path)
    assert data.channels == 1
    assert "grey" in data.note


def test_a_mix_of_formats_and_modes_becomes_rgb_and_says_so(tmp_path):
    flowers(tmp_path)
    for name in ("rose", "tulip"):
        write(tmp_path / name / "Füße 1.JPG", value=(200, 30, 40), quality=95)
        write(tmp_path / name / "grey one.png", mode="L", value=77)
        write(tmp_path / name / "seen through.png", mode="RGBA", value=(1, 2, 3, 40))
        write(tmp_path / name / "few colours.gif", mode="P")
        write(tmp_path / name / "print.tiff", mode="CMYK")
        write(tmp_path / name / "z.bmp")
        write(tmp_path / name / "z.webp")
    data = load_data(tmp_path)
    assert data.channels == 3
    assert "converted to RGB: 2 CMYK, 2 L, 2 P" in data.note.replace(", 2 RGBA", "")
    assert "\n" not in data.note
    colours = {tuple(image[:, 0, 0].tolist()) for image in torch.cat([data.images, data.test_images])}
    assert {(77, 77, 77), (1, 2, 3)} <= colours


def test_palettes_with_transparency_are_read_without_a_warning(tmp_path):
    flowers(tmp_path)
    palette = Image.new("P", (16, 16), 1)
    palette.putpalette([0, 0, 0, 9, 8, 7])
    palette.save(tmp_path / "rose" / "0.png", transparency=bytes([0, 128]))
    assert load_data(tmp_path).images[0, :, 0, 0].tolist() == [9, 8, 7]


@pytest.mark.parametrize("colour", [False, True])
def test_sixteen_bits_of_grey_become_eight(tmp_path, colour):
    flowers(tmp_path, mode="RGB" if colour else "L")
    deep = np.full((16, 16), 0x8040, np.uint16)
    Image.fromarray(deep).save(tmp_path / "rose" / "0.png")
    assert load_data(tmp_path).images[0].unique().tolist() == [0x80]


def test_photographs_stand_as_the_camera_was_held(tmp_path):
    flowers(tmp_path, ending="jpg", size=(16, 16))
    sideways = Image.fromarray(np.repeat(np.uint8([[255] * 8 + [0] * 8]), 16, axis=0))  # left half white
    exif = Image.Exif()
    exif[0x0112] = 6  # turn by 90 degrees clockwise to see it upright
    sideways.convert("RGB").save(tmp_path / "rose" / "0.jpg", exif=exif)
    upright = load_data(tmp_path).images[0].float()
    assert upright[:, :7].mean() > 200  # white is above
    assert upright[:, 9:].mean() < 50


def test_large_images_become_64_and_the_note_says_from_what(tmp_path):
    flowers(tmp_path, ending="jpg", size=(80, 120))
    write(tmp_path / "rose" / "0.jpg", size=(300, 90))
    data = load_data(tmp_path)
    assert data.size == (64, 64)
    assert "resized from 80 x 120 .. 300 x 90 to 64 x 64" in data.note


def test_a_given_size_wins_and_enlarges_even_tiny_images(tmp_path):
    flowers(tmp_path, size=(5, 9))
    assert load_data(tmp_path, image_size=24).size == (24, 24)
    with pytest.raises(ConfigError, match="image-size must be at least 8, got 4"):
        load_data(tmp_path, image_size=4)


@pytest.mark.parametrize("empty_test", [False, True])
def test_parts_without_test_images_hold_out_a_fifth(tmp_path, empty_test):
    for value, part in ((10, "train"), (20, "val")):
        flowers(tmp_path / part, mode="L", value=value)
    if empty_test:
        (tmp_path / "test" / "rose").mkdir(parents=True)
    data = load_data(tmp_path)
    assert (len(data.images), len(data.test_images)) == (16, 4)


def test_test_images_decide_neither_size_nor_channels(tmp_path):
    flowers(tmp_path / "train", mode="L", size=(16, 16))
    flowers(tmp_path / "test", size=(100, 100))
    data = load_data(tmp_path)
    assert data.test_images.shape[1:] == (1, 16, 16)


def test_what_is_no_image_in_the_test_part_is_counted_too(tmp_path):
    flowers(tmp_path / "train")
    flowers(tmp_path / "test")
    (tmp_path / "test" / "rose" / "notes.txt").write_text("no image", encoding="utf8")
    told = f"1 other file or folder left out (first: '{tmp_path}/test/rose/notes.txt')"
    assert told in load_data(tmp_path).note


def numbered(root, count=12):
    """Images that can be distinguished: grey values from 0 up, without gap or repetition."""
    value = 0
    for name in ("a", "b", "c"):
        for index in range(count):
            write(root / name / f"{index}.png", mode="L", value=value)
            value += 1
    return value


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_search_sees_every_image_but_those_of_the_test_part(tmp_path, seed):
    total = numbered(tmp_path)
    data = load_data(tmp_path)
    test = set(data.test_images[:, 0, 0, 0].tolist())
    seen = []
    for name, indices in zip(("training", "validation"), halves(data.labels, seed=seed), strict=True):
        source = BatchSource(
            data.images,
            data.labels,
            indices,
            BatchSettings(batch_size=1, mean=(0.0,), std=(1 / 255,), seed=seed, name=name),
        )
        source.begin_epoch(0, source.examples)
        images, labels = source.buffers()
        for _ in range(source.examples):
            source.fill(images, labels)
            seen.append(round(float(images[0, 0, 0, 0])))
        evaluated = {round(float(batch[0, 0, 0, 0])) for batch, _ in source.whole()}
        assert not evaluated & test
    assert not set(seen) & test
    assert sorted([*seen, *test]) == list(range(total))


def test_the_test_part_is_the_same_each_time(tmp_path):
    numbered(tmp_path)
    first, second = load_data(tmp_path), load_data(tmp_path)
    assert torch.equal(first.test_images, second.test_images)
    assert torch.equal(first.images, second.images)


def one_class(root):
    fill(root / "rose")


def empty_class(root):
    flowers(root)
    (root / "lily").mkdir()
    (root / "lily" / "readme.txt").write_text("soon", encoding="utf8")


def few_images(root):
    flowers(root)
    fill(root / "lily", 3)


def tiny(root):
    flowers(root)
    write(root / "rose" / "1.png", size=(7, 30))


def broken(root):
    flowers(root)
    (root / "rose" / "1.png").write_bytes(b"no image at all")


def empty_file(root):
    flowers(root)
    (root / "rose" / "1.png").write_bytes(b"")


def truncated(root):
    flowers(root)
    for index in range(5):
        path = root / "rose" / f"{index}.png"
        path.write_bytes(path.read_bytes()[:-300])


def floats(root):
    flowers(root, ending="tiff")
    for index in range(5):
        write(root / "rose" / f"{index}.tiff", mode="F", value=0.5)


def deep(root):
    flowers(root, ending="tiff", mode="L")
    for index in range(5):
        write(root / "rose" / f"{index}.tiff", mode="I", value=70_000)


def other_classes(root):
    flowers(root / "train")
    flowers(root / "test", classes=("rose", "lily"))


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda _: None, "has no class folders; put the images of each class into a folder there"),
        (one_class, "has one class, 'rose'; a classifier needs at least 2"),
        (
            empty_class,
            "class folder 'lily' in .* holds no image that Pillow reads; add some or remove it",
        ),
        (few_images, "class 'lily' in .* has too few images to split: 3; every class needs at least 4"),
        (tiny, "rose/1.png is 7 x 30 pixels; images need at least 8 per side: remove it, or enlarge"),
        (broken, r"cannot read the image .*rose/1.png \(.*\); fix or remove it"),
        (empty_file, r"cannot read the image .*rose/1.png"),
        (truncated, r"cannot read the image .*rose/\d.png \(.*\); fix or remove it"),
        (floats, r"cannot read the image .*rose/\d.tiff \(its grey values are floats"),
        (deep, r"cannot read the image .*rose/\d.tiff \(its grey values have 32 bits"),
        (other_classes, "test has a class 'lily' that the training images lack; class folders .* agree"),
    ],
)
def test_folders_that_cannot_be_used_are_refused_in_one_line(build, words, tmp_path):
    build(tmp_path)
    with pytest.raises(DatasetError, match=words) as caught:
        load_data(tmp_path)
    assert "\n" not in str(caught.value)


def test_the_rule_for_resizing_can_be_set_and_is_reported(tmp_path):
    flowers(tmp_path, mode="L", size=(50, 100), value=200)
    cropped = load_data(tmp_path)
    padded = load_data(tmp_path, resize="pad")
    assert cropped.images.unique().tolist() == [200]
    assert padded.images[0, 0, :, 32].tolist() == [0] * 16 + [200] * 32 + [0] * 16
    assert "(cover, then crop the centre)" in cropped.note
    assert "(fit inside, then pad with black)" in padded.note
    with pytest.raises(ConfigError, match="resize must be crop, pad, stretch or None, got 'bend'"):
        load_data(tmp_path, resize="bend")


def spoiled(root):
    """Ten images of each of two classes, of which three cannot be read, each in a way of its own."""
    flowers(root, count=10)
    (root / "rose" / "3.png").write_bytes(b"")
    (root / "tulip" / "0.png").write_bytes(b"no image")
    whole = (root / "tulip" / "5.png").read_bytes()
    (root / "tulip" / "5.png").write_bytes(whole[: len(whole) // 2])
    return root


def test_all_bad_images_are_counted_and_the_first_is_named(tmp_path):
    words = r"3 of 20 images cannot be used; the first: cannot read the image .*rose/3.png \(.*skip-bad"
    with pytest.raises(DatasetError, match=words):
        load_data(spoiled(tmp_path))


def test_bad_images_can_be_left_out(tmp_path):
    data = load_data(spoiled(tmp_path), skip_bad_images=True)
    assert len(data.images) + len(data.test_images) == 17
    total = torch.bincount(data.labels) + torch.bincount(data.test_labels)
    assert total.tolist() == [9, 8]
    assert "3 bad images left out (first: cannot read the image" in data.note
    assert "\n" not in data.note


@pytest.mark.parametrize("stream", [False, True])
def test_images_that_are_left_out_are_not_counted_in_the_note(tmp_path, stream):
    flowers(tmp_path, count=10, mode="RGBA")
    first = [load_data(tmp_path, stream=True).files[0], load_data(tmp_path, stream=True).test_files[0]]
    for path in first:  # whose headers are sound
        path.write_bytes(path.read_bytes()[:-300])
    data = load_data(tmp_path, skip_bad_images=True, stream=stream)
    assert (len(data.labels), len(data.test_labels)) == (15, 3)
    assert "3 images, a fifth of each class, held out as test" in data.note
    assert "converted to RGB: 15 RGBA of 15" in data.note


@pytest.mark.parametrize("stream", [False, True])
def test_an_image_that_is_too_small_is_left_out_as_a_bad_one(tmp_path, stream):
    flowers(tmp_path, count=10)
    write(tmp_path / "rose" / "1.png", size=(7, 30))
    data = load_data(tmp_path, skip_bad_images=True, stream=stream)
    assert len(data.labels) + len(data.test_labels) == 19
    assert data.size == (16, 16)  # it does not decide the size
    assert "1 bad image left out (first: " in data.note
    assert "1.png is 7 x 30 pixels" in data.note


def test_an_image_that_is_too_small_is_kept_where_a_size_enlarges_it(tmp_path):
    flowers(tmp_path, count=10)
    write(tmp_path / "rose" / "1.png", size=(7, 30))
    data = load_data(tmp_path, skip_bad_images=True, image_size=16)
    assert len(data.labels) + len(data.test_labels) == 20


def test_leaving_images_out_keeps_test_images_where_they_are(tmp_path):
    whole, fewer = tmp_path / "whole", tmp_path / "fewer"
    numbered(whole)
    numbered(fewer)
    for name in ("0", "1", "2"):
        (fewer / "a" / f"{name}.png").write_bytes(b"")
    before, after = load_data(whole), load_data(fewer, skip_bad_images=True)
    assert set(after.test_images[:, 0, 0, 0].tolist()) <= set(before.test_images[:, 0, 0, 0].tolist())
    assert set(after.images[:, 0, 0, 0].tolist()) <= set(before.images[:, 0, 0, 0].tolist())


def test_a_class_of_bad_images_is_reported_even_if_they_are_left_out(tmp_path):
    flowers(tmp_path)
    for path in list((tmp_path / "rose").iterdir())[:4]:
        path.write_bytes(b"")
    with pytest.raises(DatasetError, match=r"class 'rose' of .* has [01] training images left"):
        load_data(tmp_path, skip_bad_images=True)


def test_a_folder_of_bad_images_alone_is_refused(tmp_path):
    flowers(tmp_path)
    for path in tmp_path.glob("*/*.png"):
        path.write_bytes(b"")
    with pytest.raises(DatasetError, match="10 of 10 images cannot be used"):
        load_data(tmp_path, skip_bad_images=True)


def test_a_folder_that_is_a_link_in_a_circle_is_named(tmp_path):
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    with pytest.raises(DatasetError, match="a is a link that leads nowhere or in a circle; give"):
        load_data(tmp_path / "a")


def test_the_name_of_what_is_left_out_cannot_command_the_terminal(tmp_path):
    flowers(tmp_path)
    (tmp_path / "rose" / "\x1b[2Jdrawing.svg").touch()
    assert r"rose/\x1b[2Jdrawing.svg')" in load_data(tmp_path).note


def test_a_dataset_whose_own_folder_is_not_utf8_is_refused(tmp_path):
    root = os.fsdecode(os.fsencode(tmp_path) + b"/\xff")
    flowers(tmp_path / root)
    with pytest.raises(
        DatasetError, match=r"the name of the data, '\\udcff', is not UTF-8 text; rename"
    ):
        load_data(root)


def headless(root):
    """Images of which two show in their headers that they are bad: an empty file, and no file at all."""
    numbered(root)
    (root / "a" / "0.png").write_bytes(b"")
    (root / "b" / "3.png").unlink()
    (root / "b" / "3.png").symlink_to(root / "gone.png")
    return root


@pytest.mark.parametrize("size", [None, 16])
def test_streamed_images_lack_the_bad_ones_that_images_in_memory_lack(tmp_path, size):
    root = headless(tmp_path / "data")
    held, streamed = (
        load_data(root, image_size=size, skip_bad_images=True, stream=stream) for stream in (False, True)
    )
    assert len(held.images) + len(held.test_images) == 34
    assert torch.equal(held.labels, streamed.labels)
    assert torch.equal(held.test_labels, streamed.test_labels)
    for images, files in ((held.images, streamed.images), (held.test_images, streamed.test_images)):
        assert torch.equal(images, torch.stack([files.read(index) for index in range(len(files))]))
    assert len(streamed.fingerprint()) == 32
    assert "2 bad images left out" in streamed.note


def test_a_shape_that_is_known_does_not_keep_bad_images_in_a_stream(tmp_path):
    index = list_folder(headless(tmp_path / "data"))
    options = DataOptions(skip_bad_images=True, stream=True)
    data = load_files(index, options, size=(16, 16), channels=3)
    assert len(data.files) + len(data.test_files) == 34


def test_a_class_of_bad_images_is_reported_when_they_are_streamed(tmp_path):
    flowers(tmp_path)
    for path in (tmp_path / "rose").iterdir():
        path.write_bytes(b"")
    with pytest.raises(DatasetError, match=r"class 'rose' of .* has 0 training images left"):
        load_data(tmp_path, skip_bad_images=True, stream=True)


@pytest.mark.parametrize("skip", [False, True])
@pytest.mark.parametrize("known", [False, True])
def test_a_class_that_cannot_be_decoded_is_reported_before_a_stream_begins(tmp_path, skip, known):
    """Headers are whole; nothing else of the files is. Other classes are enough for the statistics."""
    numbered(tmp_path)
    for path in (tmp_path / "a").iterdir():
        path.write_bytes(path.read_bytes()[:40])
    options = DataOptions(skip_bad_images=skip, stream=True)
    shape = {"size": (16, 16), "channels": 3} if known else {}
    words = "class 'a' of .* has 0 training images left" if skip else "images cannot be used; the first"
    with pytest.raises(DatasetError, match=words):
        load_files(list_folder(tmp_path), options, **shape)


def test_a_stream_leaves_out_what_cannot_be_decoded_at_the_beginning_of_a_class(tmp_path):
    numbered(tmp_path)
    first = list_folder(tmp_path).train.files[0]
    first.write_bytes(first.read_bytes()[:40])
    data = load_data(tmp_path, skip_bad_images=True, stream=True)
    assert first not in list(data.files)
    assert "1 bad image left out" in data.note


def test_a_dataset_without_files_cannot_be_streamed():
    with pytest.raises(ConfigError, match="digits has no image files to stream; leave stream out"):
        load_data("digits", stream=True)
    assert len(load_data("digits", stream=False).images)


def test_a_file_is_no_folder_for_datasets(tmp_path):
    (tmp_path / "file.txt").touch()
    with pytest.raises(ConfigError, match=r"data-dir must be a folder, got the file .*file.txt"):
        load_data("digits", data_dir=tmp_path / "file.txt")
