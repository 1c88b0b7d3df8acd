"""Single files that a random damage would not find: bombs, endless files, links that lead out."""

import gzip
import io
import os
import tarfile
import zlib

import pytest
from trained import edited, saved_run

import xnas
from xnas.benchmarks import TabularBenchmark
from xnas.data import decode_image, load_data
from xnas.data.catalogue import CATALOGUE
from xnas.data.fashion import read_idx
from xnas.data.unpack import unpack
from xnas.errors import ConfigError, DatasetError, GenotypeError
from xnas.space import Genotype


def sparse(path, size):
    """A file of so many zeros that takes no room."""
    with path.open("wb") as file:
        file.truncate(size)
    return path


def test_an_endless_genotype_is_refused_after_a_mebibyte(tmp_path):
    with pytest.raises(GenotypeError, match="more than 1,048,576 bytes"):
        Genotype.load(sparse(tmp_path / "x.json", 2**36))


def test_a_cell_of_thousands_of_nodes_is_refused():
    nodes = ", ".join(['[["skip_connect", 0], ["skip_connect", 1]]'] * 5000)
    cell = f'{{"nodes": [{nodes}], "concat": [2]}}'
    head = '"format": "xnas-genotype", "version": 1, "space": "darts"'
    with pytest.raises(GenotypeError, match="5,000 nodes; a cell has at most 100"):
        Genotype.from_json(f'{{{head}, "normal": {cell}, "reduction": {cell}}}')


def test_an_endless_table_is_refused(tmp_path):
    with pytest.raises(DatasetError, match="more than 67,108,864 bytes"):
        TabularBenchmark.load(sparse(tmp_path / "table.csv", 2**36))


def test_postscript_is_not_read_whatever_its_name(tmp_path):
    program = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n%%EndComments\nquit\n"
    for name in ("a.eps", "a.png"):
        path = tmp_path / name
        path.write_bytes(program)
        with pytest.raises(DatasetError, match="cannot identify"):
            decode_image(path, channels=3, size=(8, 8), resize="crop")


def test_an_idx_file_that_promises_more_than_it_may_hold_is_not_unpacked(tmp_path):
    path = tmp_path / "images.gz"
    path.write_bytes(gzip.compress(bytes((0, 0, 8, 3)) + b"\xff" * 12 + bytes(10**6)))
    with pytest.raises(DatasetError, match="a shape of"):
        read_idx(path, 3)


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME])
def test_headers_of_a_tar_that_would_fill_memory_are_not_read(tmp_path, kind):
    info = tarfile.TarInfo("x")
    info.type, info.size = kind, 2**32
    path = tmp_path / "bomb.tar.gz"
    path.write_bytes(gzip.compress(info.tobuf(tarfile.USTAR_FORMAT) + bytes(10**6)))
    with pytest.raises(DatasetError, match="nothing was unpacked"):
        unpack(path, CATALOGUE["cifar10"], tmp_path / "data")


def test_a_tar_of_negative_size_does_not_go_round_in_a_circle(tmp_path):
    info = tarfile.TarInfo("x")
    head = bytearray(info.tobuf(tarfile.USTAR_FORMAT))
    head[124:136] = b"\xff" * 10 + b"\xfc\x00"  # -1024, in base 256
    head[148:156] = b"%06o\0 " % (sum(head) - sum(head[148:156]) + 8 * 32)
    path = tmp_path / "circle.tar"
    path.write_bytes(bytes(head) * 3 + bytes(1024))
    with pytest.raises(DatasetError, match="nothing was unpacked"):
        unpack(path, CATALOGUE["cifar10"], tmp_path / "data")


@pytest.mark.parametrize(
    ("changes", "telling"),
    [
        ({"size": [10**9, 10**9]}, "sides are whole numbers from 1 to 4096"),
        ({"size": [float("inf"), 8]}, "sides are whole numbers"),
        ({"mean": [float("nan")]}, "mean of a model must be finite"),
        ({"mean": ["x" * 10**5]}, "is damaged"),
        ({"std": [10**400]}, "is damaged"),
        ({"classes": ["\ud800"] * 10}, "classes are"),
        ({"trained_on": {"a": 1}}, "trained_on is"),
    ],
)
def test_a_card_with_absurd_values_is_refused(tmp_path, changes, telling):
    saved_run(tmp_path)
    edited(tmp_path, **changes)
    with pytest.raises(ConfigError, match=telling) as caught:
        xnas.load(tmp_path, "cpu")
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize(
    ("name", "value"), [("cells", 10**9), ("channels", 10**9), ("channels", 10**6), ("in_chans", 2**60)]
)
def test_a_card_of_a_network_that_no_memory_holds_is_refused_before_it_is_built(tmp_path, name, value):
    saved_run(tmp_path)
    card = xnas.load(tmp_path, "cpu").card
    edited(tmp_path, network=card.network.to_json() | {name: value})
    with pytest.raises(ConfigError):
        xnas.load(tmp_path, "cpu")


def test_weights_far_larger_than_their_network_are_not_read(tmp_path):
    saved_run(tmp_path)
    sparse(tmp_path / "model.safetensors", 2**36)
    with pytest.raises(ConfigError, match="far larger than the network"):
        xnas.load(tmp_path, "cpu")


def test_a_gif_of_a_huge_frame_on_a_small_screen_is_refused(tmp_path):
    frame = b"\x2c" + b"\0" * 4 + b"\xff\xff" * 2 + b"\0\x08\x01\0\0"
    path = tmp_path / "a.gif"
    path.write_bytes(b"GIF89a\x08\0\x08\0\x80\0\0" + bytes(6) + frame + b";")
    with pytest.raises(DatasetError):
        decode_image(path, channels=3, size=(8, 8), resize="crop")


def test_a_png_whose_text_unpacks_without_end_is_refused_or_passed_over(tmp_path):
    from PIL import Image, PngImagePlugin  # noqa: PLC0415

    info = PngImagePlugin.PngInfo()
    info.add_text("x", "\0" * 10, zip=True)
    file = io.BytesIO()
    Image.new("L", (8, 8)).save(file, "PNG", pnginfo=info)
    bomb = b"x\0\0" + zlib.compress(bytes(10**8), 9)
    content = file.getvalue()
    chunk = len(bomb).to_bytes(4, "big") + b"zTXt" + bomb
    chunk += zlib.crc32(b"zTXt" + bomb).to_bytes(4, "big")
    path = tmp_path / "a.png"
    path.write_bytes(content[:33] + chunk + content[33:])
    with pytest.raises(DatasetError):
        decode_image(path, channels=1, size=(8, 8), resize="crop")


def test_pipes_devices_and_circles_in_a_folder_end_in_one_error_or_are_left_out(tmp_path):
    from PIL import Image  # noqa: PLC0415

    for label in ("cat", "dog"):
        (tmp_path / label).mkdir()
        for number in range(4):
            Image.new("L", (8, 8), number).save(tmp_path / label / f"{number}.png")
    os.mkfifo(tmp_path / "cat" / "pipe.png")
    (tmp_path / "cat" / "zero.png").symlink_to("/dev/zero")
    assert len(load_data(tmp_path).labels) > 0
    (tmp_path / "dog" / "circle.png").symlink_to("circle.png")
    with pytest.raises(DatasetError, match="circle"):
        load_data(tmp_path)
