"""What reads files, each with good samples, a way to spoil them, and a judgement of what is read.

`make` writes the spoiled files of one case below a folder and gives a function that reads them. What it
returns is judged: a fault in words, or nothing if it is sound. An `XnasError` is sound too.
"""

import contextlib
import gzip
import io
import json
import os
import pickle
import re
import shutil
import signal
import struct
import tarfile
import zipfile
import zlib
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from unittest import mock

import numpy as np
import torch
from datasets_made import idx, noise, unchecked, write_pickle
from nasbench201 import HEADER, rows
from PIL import Image
from safetensors.torch import load as read_tensors
from safetensors.torch import save as write_tensors
from scipy.io import savemat
from trained import saved_run

import xnas
from hostile.mutations import RAW, damaged, damaged_json
from xnas.benchmarks import tabular
from xnas.cli import main
from xnas.data import ImageData, decode_image, load_data
from xnas.data.catalogue import CATALOGUE
from xnas.data.decoding import image_header
from xnas.data.fashion import read_idx
from xnas.data.unpack import unpack
from xnas.errors import DatasetError, XnasError
from xnas.process.interrupt import Interrupted
from xnas.runs.displays import Silence
from xnas.runs.progress import SearchProgress, TrainProgress
from xnas.runs.sampling import sample_job
from xnas.runs.sampling.config import SampleConfig
from xnas.runs.sampling.evaluators import EVALUATORS, EvaluatorKind
from xnas.runs.sampling.sample import resume_sampling, sample
from xnas.runs.search import resume_search, search
from xnas.runs.train import resume_training, train
from xnas.samplers import Result
from xnas.space import Genotype, Wiring, find_architecture, zoo_cell
from xnas.space.network_size import NetworkSize

SAMPLES = Path(__file__).parent.parent / "samples"
CANARY = "canary.txt"


class Command:
    """A pickle of it, read without care, runs a command: a file in the working folder shows it."""

    def __init__(self, call, *arguments):
        self.call, self.arguments = call, arguments

    def __reduce__(self):
        return self.call, self.arguments


MALICE = (
    Command(os.system, f"touch {CANARY}"),
    Command(eval, f"open({CANARY!r}, 'w')"),
    Command(exec, f"open({CANARY!r}, 'w')"),
    Command(open, CANARY, "w"),
    Command(getattr, Command(__import__, "os"), "system"),
    Command(Path.touch, Path(CANARY)),
    Command(bytearray, 2**40),
    Command(print, "read"),
)


def laughs(depth=60):
    """A tuple of 2^60 entries, of which a pickle holds 60."""
    value = ()
    for _ in range(depth):
        value = (value, value)
    return value


@dataclass(frozen=True)
class Target:
    """One reader; `seconds` of processor time and `mebibytes` are what a case may take."""

    name: str
    samples: object
    make: object
    judge: object
    seconds: float = 2.0
    mebibytes: int = 300


def _written(place, name, content):
    path = place / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


# --- genotypes -------------------------------------------------------------------------------------


def genotype_samples(_):
    names = ("genotype-v1.json", "genotype-nasbench201-v1.json")
    found = [(SAMPLES / name).read_text(encoding="utf8") for name in names]
    return [*found, zoo_cell("darts_v2").genotype.to_json()]


def make_genotype(samples, draw, place):
    text = draw.choice(samples)
    content = damaged_json(text, draw) if draw.random() < 0.6 else damaged(text.encode(), draw)
    path = _written(place, "genotype.json", content)
    return lambda: Genotype.load(path)


def judge_genotype(genotype):
    if Genotype.from_json(genotype.to_json()) != genotype:
        return "written and read, the genotype is another"
    with torch.device("meta"):
        xnas.create_model(genotype, cells=3, channels=2)  # what was read can be built
    return ""


# --- wirings ---------------------------------------------------------------------------------------


def wiring_samples(_):
    drawn = Wiring.random("ba", 2, seed=4, nodes=(4, 5, 5, 5))
    return [(SAMPLES / "wiring-v1.json").read_text(encoding="utf8"), drawn.to_json()]


def make_wiring(samples, draw, place):
    text = draw.choice(samples)
    content = damaged_json(text, draw) if draw.random() < 0.6 else damaged(text.encode(), draw)
    path = _written(place, "wiring.json", content)
    return lambda: find_architecture(path)


def judge_wiring(wiring):
    if type(wiring).from_json(wiring.to_json()) != wiring:
        return "written and read, the wiring is another"
    with torch.device("meta"):
        xnas.create_model(wiring, channels=2)  # what was read can be built
    return ""


# --- strings of NAS-Bench-201 ----------------------------------------------------------------------


def make_arch(_, draw, place):  # noqa: ARG001
    arch = "|nor_conv_3x3~0|+|none~0|skip_connect~1|+|avg_pool_3x3~0|nor_conv_1x1~1|none~2|"
    spoiled = damaged(arch.encode(), draw).decode("latin1")
    return lambda: Genotype.from_arch(spoiled)


def judge_arch(genotype):
    return "" if Genotype.from_arch(genotype.arch) == genotype else "the string is another"


# --- tables ----------------------------------------------------------------------------------------

FEW = 25


def table_samples(_):
    tabular.ARCHITECTURES = FEW  # a whole table takes a second to read
    lines = [HEADER, *rows()[:FEW]]
    return "\r\n".join(",".join(map(str, line)) for line in lines).encode()


def make_table(sample, draw, place):
    kind = draw.random()
    if kind < 0.6:
        content = damaged(sample, draw)
    else:
        lines = [line.split(b",") for line in sample.split(b"\r\n")]
        line = draw.choice(lines)
        evil = draw.choice(
            (*RAW, "nan", "inf", "1e400", '"', '"""', ",", "\n" * 50, "\0", "é" * 200_000)
        )
        line[draw.randrange(len(line))] = evil.encode()
        content = b"\r\n".join(b",".join(line) for line in lines)
    path = _written(place, "table.csv", content)
    return lambda: tabular.TabularBenchmark.load(path)


def judge_table(table):
    sound = len(table) == FEW and all(0 <= e.test_200 <= 100 for e in table.entries.values())
    return "" if sound and table.best().test_200 >= 0 else "a table with holes"


# --- images ----------------------------------------------------------------------------------------

KINDS = (
    "PNG",
    "JPEG",
    "BMP",
    "GIF",
    "TIFF",
    "WEBP",
    "PPM",
    "ICO",
    "TGA",
    "PCX",
    "JPEG2000",
    "SGI",
    "DDS",
    "AVIF",
)


def image_samples(_):
    photo = Image.fromarray(noise(0, 24, 32, 3))
    found = {}
    for kind in KINDS:
        with contextlib.suppress(OSError, KeyError, ValueError):  # formats that this Pillow lacks
            for mode in ("RGB", "P", "L"):
                file = io.BytesIO()
                photo.convert(mode).save(file, kind)
                found[f"{kind} {mode}"] = file.getvalue()
    found["PNG 16"] = _png(24, 32, 16, 0, zlib.compress(b"".join(b"\0" + bytes(64) for _ in range(24))))
    return found


def _png(height, width, depth, colour, data):
    def chunk(kind, content):
        return (
            struct.pack(">I", len(content))
            + kind
            + content
            + struct.pack(">I", zlib.crc32(kind + content))
        )

    head = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


def make_image(samples, draw, place):
    names = sorted(samples)
    kind = draw.random()
    if kind < 0.04:
        sides = [draw.choice((0, 1, 7, 9000, 30_000, 65_535, 2**31 - 1)) for _ in range(2)]
        content = _png(
            *sides, draw.choice((1, 8, 16)), draw.choice((0, 2, 3, 6)), zlib.compress(bytes(5000))
        )
    elif kind < 0.07:
        content = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n(%pipe%touch canary.txt) (w) file\n"
    elif kind < 0.1:
        content = damaged(samples[draw.choice(names)][:40] + samples[draw.choice(names)], draw)
    else:
        content = damaged(samples[draw.choice(names)], draw)
    path = _written(
        place, f"image{draw.choice(('.png', '.jpg', '.gif', '.bmp', '.eps', '.tif'))}", content
    )
    channels, resize = draw.choice((1, 3)), draw.choice(("crop", "pad", "stretch"))
    if draw.random() < 0.3:
        return lambda: (image_header(path), None)
    return lambda: (channels, decode_image(path, channels=channels, size=(16, 16), resize=resize))


def judge_image(found):
    channels, image = found
    if image is None:
        (height, width), mode = channels
        return "" if height >= 0 and width >= 0 and isinstance(mode, str) else "no header"
    return "" if image.shape == (channels, 16, 16) and image.dtype == torch.uint8 else "no image"


def folder_samples(place):
    images = image_samples(place)
    return {
        name: images[name] for name in ("PNG RGB", "JPEG RGB", "BMP RGB", "GIF P", "PNG L", "PNG 16")
    }


def make_folder(samples, draw, place):
    names = sorted(samples)
    root = place / "pictures"
    for label in ("cat", draw.choice(("dog", "d\x1bog", "dög", "d\nog"))):
        for number in range(4):
            _written(root / label, f"{number}.png", samples[draw.choice(names)])
    for _ in range(draw.randrange(1, 3)):
        spoiled = (
            root / draw.choice(("cat", "dog")) / draw.choice(("1.png", "4.jpg", "5.gif", "a\nb.png"))
        )
        spoiled.parent.mkdir(exist_ok=True)
        spoiled.unlink(missing_ok=True)
        kind = draw.random()
        if kind < 0.6:
            spoiled.write_bytes(damaged(samples[draw.choice(names)], draw))
        elif kind < 0.9:
            target = draw.choice(
                ("../..", "/dev/zero", "/etc/passwd", spoiled.name, "nowhere", "../cat")
            )
            spoiled.symlink_to(target)
        else:
            os.mkfifo(spoiled)
    options = {"skip_bad_images": draw.random() < 0.5, "stream": draw.choice((None, None, True))}
    return lambda: load_data(root, **options)


def judge_data(data):
    if isinstance(data, ImageData):
        return (
            ""
            if data.images.dtype == torch.uint8 and len(data.images) == len(data.labels)
            else "no data"
        )
    return "" if len(data.files) == len(data.labels) else "no data"


# --- dataset files ---------------------------------------------------------------------------------


class _Patches:
    """As pytest's monkeypatch, for good."""

    @staticmethod
    def setitem(mapping, key, value):
        mapping[key] = value


def cifar_samples(place):
    for name in ("cifar10", "fashion_mnist", "svhn"):
        unchecked(_Patches, name)  # checksums would refuse every case
    place.mkdir(parents=True, exist_ok=True)
    names = {"label_names": [f"class {k}" for k in range(4)]}
    batch = {
        "data": noise(1, 4, 3072),
        "labels": [0, 1, 2, 3],
        "batch_label": "x",
        "filenames": ["a"] * 4,
    }
    for name, content in (("batch", batch), ("batches.meta", names)):
        write_pickle(place / name, content)
    return (place / "batch").read_bytes(), (place / "batches.meta").read_bytes(), batch


def make_cifar(samples, draw, place):
    good, meta, content = samples
    folder = place / "cifar-10-batches-py"
    for number in range(1, 6):
        _written(folder, f"data_batch_{number}", good)
    _written(folder, "test_batch", good)
    _written(folder, "batches.meta", meta)
    spoiled = folder / draw.choice(("data_batch_1", "test_batch", "batches.meta"))
    kind = draw.random()
    if kind < 0.6:
        spoiled.write_bytes(damaged(spoiled.read_bytes(), draw))
    elif kind < 0.85:
        evil = draw.choice(
            (*MALICE, laughs(), 10**4000, -1, None, [], "x" * 100_000, float("nan"), [laughs()] * 4)
        )
        where = draw.choice(("data", "labels", "all", "in labels", "label_names"))
        changed = {
            "all": evil,
            "in labels": content | {"labels": [0, 1, evil, 3]},
            "label_names": {"label_names": draw.choice((evil, [evil] * 4))},
        }.get(where, content | {where: evil})
        with mock.patch("pickle.whichmodule", lambda found, _: found.__module__ or "os"):
            spoiled.write_bytes(pickle.dumps(changed, protocol=draw.choice((0, 2, 4, 5))))
    else:
        state = draw.choice(
            (
                (1, (4, 3072), None, False, 10**12),
                (1, (2**40, 2**40), None, False, b"x"),
                (1, laughs(), None, False, b"x"),
                (1, (-1, 3072), None, False, bytes(3072 * 4)),
                (1, (4, 3072), None, laughs(), bytes(3072 * 4)),
                (1, (4, 3072), None, False, [0] * 3072 * 4),
                (),
                laughs(),
            )
        )
        spoiled.write_bytes(_array_pickle(draw.choice(("u1", laughs(20), "O8", 3)), state))
    return lambda: load_data("cifar10", data_dir=place)


def _array_pickle(kind, state):
    """A CIFAR batch whose array is rebuilt with any dtype and state, opcode by opcode."""

    def part(value):
        return pickle.dumps(value, 2)[2:-1]

    array = b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n" + part((0,)) + part("b") + b"tR"
    dtype = b"cnumpy\ndtype\n(" + part(kind) + part(0) + b"tR" + part((3, "|", None)) + b"b"
    entries = part("data") + array + part(state) + b"b" + part("labels") + part([0, 1, 2, 3])
    return b"\x80\x02}(" + entries + part("kind") + dtype + b"u."


def make_idx(_, draw, place):
    dimensions = draw.choice((1, 3))
    good = idx(noise(2, 6, 28, 28) if dimensions == 3 else np.arange(6, dtype=np.uint8))
    packed = draw.random() < 0.5
    kind = draw.random()
    if kind < 0.5:
        content = damaged(gzip.compress(good) if packed else good, draw)
    elif kind < 0.9:
        content = damaged(good, draw)
        content = gzip.compress(content) if packed else content
    else:
        sizes = [draw.choice((0, 1, 2**16, 2**31, 2**32 - 1)) for _ in range(dimensions)]
        head = bytes((0, 0, 8, dimensions)) + b"".join(struct.pack(">I", size) for size in sizes)
        content = head + bytes(draw.choice((0, 100, 30_000_000)))
        content = gzip.compress(content, 1) if packed else content
    path = _written(place, f"file-ubyte{'.gz' if packed else ''}", content)
    return lambda: (dimensions, read_idx(path, dimensions))


def judge_idx(found):
    dimensions, tensor = found
    return "" if tensor.dim() == dimensions and tensor.dtype == torch.uint8 else "no bytes"


def svhn_samples(place):
    cifar_samples(place)
    found = []
    for packed in (False, True):
        path = place / f"{packed}.mat"
        content = {"X": noise(1, 32, 32, 3, 10), "y": (np.arange(10) + 1).astype(np.uint8)[:, None]}
        savemat(path, content, do_compression=packed)
        found.append(path.read_bytes())
    return found


def make_svhn(samples, draw, place):
    for part in ("train", "extra", "test"):
        _written(place / "svhn", f"{part}_32x32.mat", samples[1])
    spoiled = place / "svhn" / "train_32x32.mat"
    sample = draw.choice(samples)
    if draw.random() < 0.5 and sample is samples[1]:  # damage below the compression
        head, body = sample[:128], sample[128:]
        kind, length = struct.unpack("<II", body[:8])
        raw = damaged(zlib.decompress(body[8 : 8 + length]), draw)
        packed = zlib.compress(raw)
        spoiled.write_bytes(head + struct.pack("<II", kind, len(packed)) + packed)
    else:
        spoiled.write_bytes(damaged(sample, draw))
    return lambda: load_data("svhn", data_dir=place)


# --- archives --------------------------------------------------------------------------------------

ESCAPES = (
    "../bystander.txt",
    "/xnas-hostile-escape",
    "a/../../bystander.txt",
    "..\\bystander.txt",
    "C:/x",
)


def archive_samples(place):
    return cifar_samples(place)[:2]


def make_archive(samples, draw, place):
    good, meta = samples
    members = [(f"cifar-10-batches-py/data_batch_{k}", good) for k in range(1, 3)]
    members.append(("cifar-10-batches-py/batches.meta", meta))
    kind = draw.random()
    if kind < 0.3:
        members.insert(draw.randrange(3), (draw.choice(ESCAPES), b"escaped"))
    file, zipped = io.BytesIO(), draw.random() < 0.5
    if zipped:
        with zipfile.ZipFile(file, "w", draw.choice((0, 8, 12, 14))) as archive:
            for name, content in members:
                archive.writestr(name, content)
            if draw.random() < 0.2:
                link = zipfile.ZipInfo("cifar-10-batches-py/link")
                link.external_attr = 0o120777 << 16
                archive.writestr(link, "../../bystander.txt")
    else:
        with tarfile.open(fileobj=file, mode=draw.choice(("w", "w:gz", "w:bz2", "w:xz"))) as archive:
            for name, content in members:
                info = tarfile.TarInfo(name)
                info.size = len(content)
                archive.addfile(info, io.BytesIO(content))
            if draw.random() < 0.3:
                info = tarfile.TarInfo("cifar-10-batches-py/link")
                info.type = draw.choice(
                    (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE)
                )
                info.linkname = draw.choice(("../../bystander.txt", "/etc/passwd", ".."))
                archive.addfile(info)
    content = file.getvalue()
    if kind > 0.95:
        content = header_bomb(draw)
    elif kind > 0.5:
        content = damaged(content, draw)
    path = _written(place, f"archive{draw.choice(('.tar', '.zip', '.tar.gz'))}", content)
    return lambda: unpack(path, CATALOGUE["cifar10"], place / "data")


def header_bomb(draw):
    """A tar whose header of a header says that it is a gigabyte long, most of it zeros."""
    size = 2**30
    info = tarfile.TarInfo("././@PaxHeader")
    info.type = draw.choice((tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME))
    info.size = size
    head = info.tobuf(tarfile.USTAR_FORMAT)
    packer = zlib.compressobj(1, wbits=31)
    blank = bytes(2**20)
    parts = [packer.compress(head), *(packer.compress(blank) for _ in range(400))]
    return b"".join((*parts, packer.flush()))


def judge_archive(place):
    inside = place.resolve()
    strange = [p for p in place.rglob("*") if p.is_symlink() or not p.resolve().is_relative_to(inside)]
    return f"unpacked {strange[0]}" if strange else ""


# --- trained models --------------------------------------------------------------------------------


def model_samples(place):
    saved_run(place)
    return {
        name: (place / name).read_bytes() for name in ("model.json", "model.safetensors", "config.json")
    }


def make_card(samples, draw, place):
    for name, content in samples.items():
        _written(place / "run", name, content)
    card = samples["model.json"].decode()
    spoiled = damaged_json(card, draw) if draw.random() < 0.8 else damaged(card.encode(), draw)
    _written(place / "run", "model.json", spoiled)
    return lambda: xnas.load(place / "run", "cpu")


def make_weights(samples, draw, place):
    spoiled = samples["model.safetensors"]
    if draw.random() < 0.4:  # the header alone
        length = int.from_bytes(spoiled[:8], "little")
        head = damaged_json(spoiled[8 : 8 + length].decode(), draw)
        spoiled = len(head).to_bytes(8, "little") + head + spoiled[8 + length :]
    elif draw.random() < 0.3:
        tensors = read_tensors(spoiled)
        name = draw.choice(sorted(tensors))
        one = tensors[name].float()
        tensors[name] = draw.choice(
            (one * float("nan"), one.double(), one.flatten(), one[None], one.half())
        )
        spoiled = write_tensors({key: value.contiguous() for key, value in tensors.items()})
    else:
        spoiled = damaged(spoiled, draw)
    card = json.loads(samples["model.json"])
    if draw.random() < 0.9:
        card["weights_digest"] = blake2b(spoiled, digest_size=16).hexdigest()  # as a forger would
    _written(place / "run", "model.safetensors", spoiled)
    _written(place / "run", "model.json", json.dumps(card).encode())
    return lambda: xnas.load(place / "run", "cpu")


def judge_model(classifier):
    image = torch.zeros(1, 8, 8, dtype=torch.uint8)
    channels = classifier.card.network.in_chans
    with contextlib.suppress(XnasError):  # weights that are no numbers are reported when used
        answer = classifier.predict(image.expand(channels, -1, -1))[0]
        if not (0 <= answer.probability <= 1 and answer.label in classifier.classes):
            return f"an answer that is none: {answer}"
    return ""


# --- runs ------------------------------------------------------------------------------------------


class PlaysOn(Exception):  # noqa: N818 - it is good news
    """The run resumes: its files were found to be sound."""


class Impatient(Silence):
    """Ends a run at its first round or step."""

    def after_round(self, _):
        raise PlaysOn

    def after_step(self, _):
        raise PlaysOn


_RUNS = []  # they take seconds, and three targets need them


class Stopping(Silence):
    """Asks a run to stop in the middle of its first epoch."""

    def after_round(self, engine):
        if engine.rounds == 2:
            os.kill(os.getpid(), signal.SIGINT)

    def after_step(self, engine):
        if engine.steps == 2:
            os.kill(os.getpid(), signal.SIGINT)


SMALL = {"cells": 3, "channels": 2, "epochs": 1, "batch_size": 200, "device": "cpu"}
VARIANTS = {
    "search": ("search", "search stopped", "search of darts stopped"),
    "train": ("train", "train stopped"),
}


def run_samples(place):
    """Searches and trainings that can be resumed: over but for their last files, or in an epoch."""
    made = next(iter(_RUNS), None)
    if made is not None:
        return made
    _RUNS.append(place)
    place.mkdir(parents=True, exist_ok=True)
    search(xnas.SearchConfig(**SMALL, out=place / "search"), "digits")
    train(xnas.TrainConfig(**SMALL, out=place / "train"), "digits")
    (place / "search" / "genotype.json").rename(place / "genotype.json")
    (place / "train" / "model.json").unlink()
    bench = SMALL | {"cells": 1, "space": "nasbench201", "method": "darts"}
    everything = {"validation": 0.2, "average": 0.9, "drop_path_rate": 0.2}
    with contextlib.suppress(Interrupted):
        out = place / "search stopped"
        search(xnas.SearchConfig(**SMALL, out=out), "digits", display=Stopping())
    with contextlib.suppress(Interrupted):
        out = place / "search of darts stopped"
        search(xnas.SearchConfig(**bench, out=out), "digits", display=Stopping())
    with contextlib.suppress(Interrupted):
        out = place / "train stopped"
        train(xnas.TrainConfig(**SMALL, **everything, out=out), "digits", display=Stopping())
    return place


def _spoil_run(place, kind, draw, run):
    shutil.copytree(place / draw.choice(VARIANTS[kind]), run)
    names = ["config.json", "checkpoints"]
    names += ["metrics.jsonl"] if (run / "metrics.jsonl").exists() else []
    names += ["genotype.json"] if kind == "train" else []
    name = draw.choice(names)
    if draw.random() < 0.1:
        _link(run, draw)
        return
    if name == "checkpoints":
        for path in sorted((run / name).iterdir()):
            if draw.random() < 0.5:
                path.write_bytes(damaged(path.read_bytes(), draw))
            else:
                _spoil_state(path, draw)
        return
    path = run / name
    content = path.read_bytes()
    if name == "metrics.jsonl" or draw.random() < 0.3:
        content = damaged_json(content.decode(), draw) if draw.random() < 0.5 else damaged(content, draw)
    else:
        content = damaged_json(content.decode(), draw, most=1)
    path.write_bytes(content)


PARTS = ("metrics.jsonl", "checkpoints", "best", "tensorboard", "genotype.json", "model.json")


def _link(run, draw, parts=(*PARTS, "a checkpoint")):
    """Something of a run leads to what is not of it: a file or folder next to it, a device, a pipe."""
    path = run / draw.choice(parts)
    if path.name == "a checkpoint":
        path = min((run / "checkpoints").iterdir())
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    yard = run.parent.parent
    targets = (yard / "bystander.txt", yard, yard / "not there", "/dev/zero", path.name, None)
    target = draw.choice(targets)
    if target is None:
        os.mkfifo(path)
    else:
        path.symlink_to(target)


def _spoil_state(path, draw):
    """A checkpoint of other values, written by torch as a forger would."""
    try:
        state = torch.load(path, weights_only=True)
    except Exception:  # noqa: BLE001 - of a format that torch alone does not read
        path.write_bytes(damaged(path.read_bytes(), draw))
        return
    evil = draw.choice(
        (
            None,
            -1,
            10**9,
            10**4000,
            float("nan"),
            "x",
            [],
            {},
            (),
            True,
            torch.zeros(0),
            torch.zeros(3, 3) * float("nan"),
            [["normal", 99, 99]],
            [["x", 0, 0]],
            [[0]],
            torch.zeros(5000, dtype=torch.uint8),
            *MALICE[:4],
        )
    )
    named = re.fullmatch(r"(\d+)-[0-9a-f]{32}\.pt", path.name)
    holder, key = state, draw.choice(sorted(state))
    while isinstance(holder[key], dict) and holder[key] and draw.random() < 0.6:
        holder = holder[key]
        key = draw.choice(list(holder))
    if draw.random() < 0.15:
        del holder[key]
    else:
        holder[key] = evil
    torch.save(state, path)
    if named:
        digest = blake2b(path.read_bytes(), digest_size=16).hexdigest()
        path.rename(path.with_name(f"{named[1]}-{digest}.pt"))


def make_search(place, draw, room):
    _spoil_run(place, "search", draw, room / "run")
    return lambda: _resumed(lambda: resume_search(room / "run", display=Impatient()))


def make_train(place, draw, room):
    _spoil_run(place, "train", draw, room / "run")
    return lambda: _resumed(lambda: resume_training(room / "run", display=Impatient()))


class AsksOn:
    """An evaluator that ends a search by sampling at its first evaluation, or knows the answer."""

    line = "evaluated by nothing"

    def __init__(self, known=False):
        self.known = known

    def evaluate(self, trial, folder):  # noqa: ARG002
        if not self.known:
            raise PlaysOn
        return Result(number=trial.number, value=trial.number / 10, state="done", at=1)

    def size(self, genotype):  # noqa: ARG002
        return NetworkSize(1, 1)


def sampling_samples(place):
    """Searches by sampling that can be resumed: all told, one open, none yet told."""
    evaluator = EvaluatorKind(lambda *_: AsksOn(known=True), "knows", needs_images=False)
    with mock.patch.dict(EVALUATORS._entries, asks=evaluator), mock.patch.object(sample_job, "_draw"):
        config = {"space": "nasbench201", "evaluator": "asks", "settings": "population=3,sample=2"}
        place.mkdir(parents=True)
        sample(SampleConfig(**config, evaluations=8, at_once=2, out=place / "whole"))
    (place / "whole" / "genotype.json").unlink()
    lines = (place / "whole" / "ledger.jsonl").read_bytes().splitlines(keepends=True)
    for name, kept in (("open", 12), ("begun", 3)):
        shutil.copytree(place / "whole", place / name)
        (place / name / "ledger.jsonl").write_bytes(b"".join(lines[:kept]))
    return place


def make_sampling(place, draw, room):
    run = room / "run"
    shutil.copytree(place / draw.choice(("whole", "open", "open", "begun")), run)
    name = draw.choice(("ledger.jsonl", "ledger.jsonl", "ledger.jsonl", "costs.jsonl", "config.json"))
    path = run / name
    if draw.random() < 0.1:
        _link(run, draw, ("ledger.jsonl", "costs.jsonl", "genotype.json", "curve.json", "figures"))
    elif name == "config.json":
        path.write_bytes(damaged_json(path.read_text(encoding="utf8"), draw, most=1))
    elif draw.random() < 0.5:
        path.write_bytes(damaged(path.read_bytes(), draw))
    else:
        lines = path.read_text(encoding="utf8").splitlines()
        at = draw.randrange(len(lines))
        spoiled = damaged_json(lines[at], draw).replace(b"\n", b" ")
        path.write_bytes(
            b"\n".join([*map(str.encode, lines[:at]), spoiled, *map(str.encode, lines[at + 1 :])])
            + b"\n"
        )

    def read():
        evaluator = EvaluatorKind(lambda *_: AsksOn(), "asks", needs_images=False)
        with (
            mock.patch.dict(EVALUATORS._entries, asks=evaluator),
            mock.patch.object(sample_job, "_draw"),
        ):
            return _resumed(lambda: resume_sampling(run))

    return read


def judge_sampling(result):
    """Whatever values a spoiled ledger has, the best cell is one of the largest."""
    if result is None:
        return ""
    values = [record.value for record in result.evaluations if record.value is not None]
    return "" if values and result.value == max(values) else "an answer that is not the best"


def _resumed(resume):
    try:
        return resume()
    except PlaysOn:
        return None


def judge_run(result):
    return "" if result is None or len(result.epochs) >= 1 else "a run without epochs"


# --- the command line ------------------------------------------------------------------------------


def command_samples(place):
    SearchProgress.after_round = TrainProgress.after_step = Impatient.after_round
    tabular_kept = tabular.ARCHITECTURES
    found = {
        "model": model_samples(place / "model"),
        "runs": run_samples(place / "runs"),
        "genotypes": genotype_samples(None),
        "images": folder_samples(None),
    }
    tabular.ARCHITECTURES = tabular_kept
    return found


def make_command(samples, draw, place):
    kind = draw.choice(
        (
            "show",
            "predict",
            "predict card",
            "evaluate",
            "export",
            "train",
            "search",
            "search table",
            "data",
        )
    )
    if kind == "show":
        make_genotype(samples["genotypes"], draw, place)
        words = ["show", str(place / "genotype.json")]
    elif kind == "predict":
        for name, content in samples["model"].items():
            _written(place / "run", name, content)
        images = samples["images"]
        path = _written(place, "image.png", damaged(images[draw.choice(sorted(images))], draw))
        words = ["predict", str(place / "run"), str(path)]
    elif kind in ("predict card", "evaluate", "export"):
        draw.choice((make_card, make_weights))(samples["model"], draw, place)
        if kind == "evaluate" and draw.random() < 0.5:
            config = damaged_json(samples["model"]["config.json"].decode(), draw)
            _written(place / "run", "config.json", config)
            _written(place / "run", "model.json", samples["model"]["model.json"])
            _written(place / "run", "model.safetensors", samples["model"]["model.safetensors"])
        if kind == "export":  # a sound one would take a minute
            _written(
                place / "run",
                "model.safetensors",
                samples["model"]["model.safetensors"][: draw.randrange(5000)],
            )
        image = _written(place, "image.png", samples["images"]["PNG L"])
        words = [kind.split()[0], str(place / "run"), *([str(image)] if kind == "predict card" else [])]
        words += ["--quiet"] if kind == "evaluate" else []
    elif kind in ("train", "search"):
        _spoil_run(samples["runs"], kind, draw, place / "run")
        words = [kind, "--resume", str(place / "run")]
    elif kind == "search table":
        table = _written(place, "table.csv", damaged(b"arch,c10_valid_200\r\n|none~0|,1", draw))
        search = ["search", "digits", "--space", "nasbench201", "--out", str(place / "out")]
        words = [*draw.choice((search, ["show", "xnas"])), "--truth", str(table)]
    else:
        make_folder(samples["images"], draw, place)
        words = ["data", str(place / "pictures")]
    return lambda: _command(words)


def _command(words):
    """Exit status, and what was written to stderr."""
    errors, output = io.StringIO(), io.StringIO()
    with contextlib.redirect_stderr(errors), contextlib.redirect_stdout(output):
        try:
            main(words)
        except SystemExit as end:
            return end.code, errors.getvalue()
        except PlaysOn:
            return 0, ""
    return 0, ""


def judge_command(found):
    status, errors = found
    if status == 0:
        return ""
    if status != 2:
        return f"exit status {status}"
    lines = errors.splitlines()
    if len(lines) != 1 or not errors.endswith("\n"):
        return f"{len(lines)} lines of error: {errors[:300]!r}"
    if not errors[:-1].isprintable():
        return f"an error that a terminal should not get: {errors[:300]!r}"
    raise DatasetError(errors.strip())  # a sound refusal


TARGETS = {
    target.name: target
    for target in (
        Target("genotypes", genotype_samples, make_genotype, judge_genotype),
        Target("wirings", wiring_samples, make_wiring, judge_wiring),
        Target("architecture strings", lambda _: None, make_arch, judge_arch),
        Target("benchmark tables", table_samples, make_table, judge_table),
        Target("images", image_samples, make_image, judge_image, mebibytes=1100),
        Target("image folders", folder_samples, make_folder, judge_data, mebibytes=1100),
        Target("CIFAR pickles", cifar_samples, make_cifar, judge_data),
        Target("IDX files", lambda _: None, make_idx, judge_idx),
        Target("SVHN files", svhn_samples, make_svhn, judge_data),
        Target("archives", archive_samples, make_archive, judge_archive),
        Target("model cards", model_samples, make_card, judge_model),
        Target("model weights", model_samples, make_weights, judge_model),
        Target("searches", run_samples, make_search, judge_run, seconds=10.0, mebibytes=500),
        Target("trainings", run_samples, make_train, judge_run, seconds=10.0, mebibytes=500),
        Target(
            "samplings", sampling_samples, make_sampling, judge_sampling, seconds=10.0, mebibytes=500
        ),
        Target("commands", command_samples, make_command, judge_command, seconds=20.0, mebibytes=1100),
    )
}
