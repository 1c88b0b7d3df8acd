"""One file becomes bytes of the wanted shape, or one line names it."""

import struct
import zlib

import numpy as np
import PIL
import pytest
import torch
from PIL import Image

from xnas.data import decode_image
from xnas.data.decoding import eight_bit_pixels, image_header
from xnas.errors import ConfigError, DatasetError


def picture(path, height=20, width=40, mode="RGB"):
    pixels = np.random.default_rng(0).integers(256, size=(height, width, 3), dtype=np.uint8)
    Image.fromarray(pixels).convert(mode).save(path)
    return path


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("resize", ["crop", "pad", "stretch"])
@pytest.mark.parametrize("mode", ["RGB", "L", "RGBA", "P", "1"])
def test_every_mode_becomes_the_wanted_shape(tmp_path, channels, resize, mode):
    path = picture(tmp_path / "a picture ä.png", mode=mode)
    image = decode_image(path, channels=channels, size=(16, 24), resize=resize)
    assert image.dtype == torch.uint8
    assert image.shape == (channels, 16, 24)


def test_pixels_of_the_right_size_stay_as_they_are(tmp_path):
    path = picture(tmp_path / "a.png")
    image = decode_image(path, channels=3, size=(20, 40), resize="pad")
    assert torch.equal(image.movedim(0, -1), torch.tensor(np.array(Image.open(path))))


def test_a_header_gives_height_width_and_mode(tmp_path):
    assert image_header(picture(tmp_path / "a.png", mode="L")) == ((20, 40), "L")


def test_an_unknown_rule_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="no rule for resizing called 'squeeze'; there are: crop, pad"):
        decode_image(picture(tmp_path / "a.png"), channels=3, size=(8, 8), resize="squeeze")


def bomb(path, side):
    """A PNG of some hundred bytes that says it has side x side pixels."""

    def chunk(kind, content):
        return (
            struct.pack(">I", len(content))
            + kind
            + content
            + struct.pack(">I", zlib.crc32(kind + content))
        )

    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    body = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(bytes(1000))) + chunk(b"IEND", b"")
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + body)
    return path


@pytest.mark.parametrize("side", [10_000, 50_000])  # Pillow warns of the first and refuses the second
def test_an_image_made_to_fill_the_memory_is_refused_before_it_is_unpacked(tmp_path, side):
    path = bomb(tmp_path / "bomb.png", side)
    for read in (image_header, lambda p: decode_image(p, channels=3, size=(8, 8), resize="crop")):
        with pytest.raises(DatasetError, match=r"bomb.png would unpack to more than [\d,]+ pixels"):
            read(path)


@pytest.mark.parametrize("content", [b"", b"no image", b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff\xe0"])
def test_what_is_no_image_is_named_in_one_line(tmp_path, content):
    path = tmp_path / "a.png"
    path.write_bytes(content)
    with pytest.raises(DatasetError, match=r"cannot read the image .*a.png \(.*\); fix") as caught:
        decode_image(path, channels=3, size=(8, 8), resize="crop")
    assert "\n" not in str(caught.value)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(DatasetError, match=r"cannot read the image .*nowhere.png"):
        image_header(tmp_path / "nowhere.png")


def test_damaged_camera_data_are_no_reason_to_refuse_a_photograph(tmp_path):
    path = tmp_path / "a.jpg"
    Image.new("RGB", (16, 16), (9, 9, 9)).save(path, exif=b"Exif\x00\x00MM\x00*\x00\x00\x00\x08\x00\x05")
    assert decode_image(path, channels=1, size=(16, 16), resize="crop").shape == (1, 16, 16)


@pytest.mark.parametrize("largest", [255, 65535, 70_000])  # what 8, 16 and more bits hold
def test_grey_of_32_bits_is_refused_by_its_header_whatever_it_holds(tmp_path, largest):
    pixels = np.tile(np.array([0, largest // 2, largest], dtype=np.int32), (8, 1))
    Image.fromarray(pixels).save(tmp_path / "a.tiff")
    for read in (image_header, lambda p: decode_image(p, channels=1, size=(8, 3), resize="crop")):
        with pytest.raises(DatasetError, match="grey values have 32 bits of unknown range; save it"):
            read(tmp_path / "a.tiff")


@pytest.mark.parametrize("ending", ["png", "tiff"])
def test_grey_of_16_bits_keeps_its_upper_8(tmp_path, ending):
    pixels = np.tile(np.array([0, 256, 65535], dtype=np.uint16), (8, 1))
    Image.fromarray(pixels).save(tmp_path / f"a.{ending}")
    assert image_header(tmp_path / f"a.{ending}")[0] == (8, 3)
    image = decode_image(tmp_path / f"a.{ending}", channels=1, size=(8, 3), resize="crop")
    assert image[0, 0].tolist() == [0, 1, 255]


@pytest.mark.parametrize("orientation", range(1, 9))
def test_a_photograph_is_measured_as_it_is_decoded_upright(tmp_path, orientation):
    exif = Image.Exif()
    exif[0x0112] = orientation
    Image.new("RGB", (40, 20)).save(tmp_path / "a.jpg", exif=exif)
    with Image.open(tmp_path / "a.jpg") as image:
        height, width = eight_bit_pixels(image, 3).shape[:2]
    assert image_header(tmp_path / "a.jpg")[0] == (height, width)


def test_dark_grey_of_16_bits_stays_dark(tmp_path):
    Image.fromarray(np.full((8, 8), 255, dtype=np.uint16)).save(tmp_path / "a.png")
    assert int(decode_image(tmp_path / "a.png", channels=1, size=(8, 8), resize="crop").max()) == 0


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("mode", ["LAB", "CMYK", "YCbCr"])
def test_other_spaces_of_colour_are_converted(tmp_path, mode, channels):
    if mode == "YCbCr" and int(PIL.__version__.split(".")[0]) < 13:
        pytest.skip("Pillow before 13 cannot read the YCbCr file that it writes")
    Image.new(mode, (8, 8)).save(tmp_path / "a.tiff")
    image = decode_image(tmp_path / "a.tiff", channels=channels, size=(8, 8), resize="crop")
    assert image.shape == (channels, 8, 8)


def test_floats_are_refused_by_their_header_already(tmp_path):
    Image.new("F", (8, 8)).save(tmp_path / "a.tiff")
    with pytest.raises(
        DatasetError, match="its grey values are floats of unknown range; save it with 8"
    ):
        image_header(tmp_path / "a.tiff")


@pytest.mark.parametrize("mode", ["RGBA", "LA", "P", "CMYK"])
def test_without_a_camera_entry_pixels_are_those_of_torchvisions_and_timms_loaders(tmp_path, mode):
    from torchvision.datasets.folder import default_loader  # noqa: PLC0415

    path = tmp_path / ("image.tif" if mode == "CMYK" else "image.png")
    image = Image.fromarray(
        np.random.default_rng(0).integers(256, size=(20, 40, 4), dtype=np.uint8), "RGBA"
    )
    if mode == "P":
        image.convert("P", palette=Image.Palette.ADAPTIVE, colors=16).save(path, transparency=3)
    else:
        image.convert(mode).save(path)
    expected = torch.from_numpy(np.array(default_loader(path))).movedim(-1, 0)
    assert torch.equal(decode_image(path, channels=3, size=(20, 40), resize="crop"), expected)
