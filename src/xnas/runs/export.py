"""Export of a trained run: ONNX and `torch.export`, each written only if it answers as PyTorch does.

Both take standardised float images (batch, channels, height, width), any number at a time, and give
logits. How an image is prepared, and what the classes are called, stands in `model.json` beside them
and in the metadata of the ONNX file.
"""

from __future__ import annotations

import json
import statistics
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from xnas.data import ImageFiles, standardize, stream
from xnas.errors import ConfigError, XnasError
from xnas.model.image_inputs import ImageReader
from xnas.model.model import WEIGHTS_FILE, load_model, save_model
from xnas.model.model_card import CARD_FILE, ModelCard, card_to_json, read_card
from xnas.process.folder import filled_folder, require_part_of, run_path, storage_errors
from xnas.records import ExportedFile, ExportResult, Latency
from xnas.runs.run_data import load_own_data

ONNX_FILE, TORCH_FILE = "model.onnx", "model.pt2"
EXPORTED = (CARD_FILE, WEIGHTS_FILE, ONNX_FILE, TORCH_FILE)
"""All that an export may write."""
ONNX_PACKAGES = ("onnx", "onnxruntime", "onnxscript")
TOLERANCE = 1e-4
"""Largest deviation of a logit from PyTorch's, as a share of the largest logit of the batch. Other
orders of summation in 32 bits deviate by some 1e-6; a wrong layer deviates by far more."""
CHECKED_BATCHES = (1, 2, 7, 32)
TIMED_BATCHES = (1, 32)
TIMED_RUNS, TIMED_SECONDS = 20, 2.0  # at most so many, in at most about that time; at least 3

Answers = Callable[[Tensor], Tensor]


@dataclass(frozen=True, kw_only=True, slots=True)
class ExportConfig:
    """One export."""

    out: Path | None = None
    """Folder for the files, new or empty. By default the run folder itself."""
    onnx: bool = True
    """Write model.onnx."""
    torch_export: bool = True
    """Write model.pt2, for torch.export.load."""
    overwrite: bool = False
    """Replace an earlier export in --out, and nothing else."""
    data_dir: Path | None = None
    """Where the run's dataset is looked for; also XNAS_DATA."""
    use_val: bool | None = None
    """As in the training, by default."""
    fold: int | None = None
    """As in the training, by default."""
    skip_bad_images: bool = False
    """Leave out image files that cannot be read."""
    quiet: bool = False
    """Print nothing but warnings and errors."""


def export_run(run: Path | str, config: ExportConfig | None = None) -> ExportResult:
    """Write a trained run in the formats asked for, beside its weights and its card.

    An export that differs from PyTorch on the images it is checked on is refused, and leaves nothing
    behind.
    """
    config = config or ExportConfig()
    run = run_path(run)
    own = config.out is None or config.out.expanduser().resolve() == run.resolve()
    out = run if config.out is None else config.out.expanduser()
    if config.onnx:
        _require_onnx()
    if not own:
        _require_export(out)
    model, card = load_model(run)
    images, checked_on = _check_images(run, card, config)
    runtimes: dict[str, Answers] = {"PyTorch": model}
    differences: dict[str, float] = {}
    with storage_errors(out), _calm(), filled_folder(out, overwrite=own or config.overwrite) as scratch:
        if not own:
            save_model(scratch, model, card)
        program = _exported(model, images[:2])
        if config.torch_export:
            buffer = BytesIO()  # torch's own writer ends the process when a disk is full
            torch.export.save(program, buffer)
            buffer.seek(0)
            reloaded = torch.export.load(buffer).module()
            differences[TORCH_FILE] = compare(TORCH_FILE, model, reloaded, images)
            (scratch / TORCH_FILE).write_bytes(buffer.getbuffer())
        if config.onnx:
            content = _onnx(program, card)
            runtimes["onnxruntime"] = onnx_answers(content)
            differences[ONNX_FILE] = compare(ONNX_FILE, model, runtimes["onnxruntime"], images)
            (scratch / ONNX_FILE).write_bytes(content)
        latencies = [
            latency(name, answers, _repeated(images, batch))
            for batch in TIMED_BATCHES
            for name, answers in runtimes.items()
        ]
        if not own:
            for name in {ONNX_FILE, TORCH_FILE} - differences.keys():  # of other weights
                (out / name).unlink(missing_ok=True)
    names = (WEIGHTS_FILE, *differences)
    return ExportResult(
        files=tuple(
            ExportedFile(
                path=str(out / name),
                bytes=(out / name).stat().st_size,
                difference=differences.get(name),
            )
            for name in names
        ),
        checked_on=f"{len(images)} {checked_on}",
        latencies=tuple(latencies),
        threads=torch.get_num_threads(),
    )


def _require_export(out: Path) -> None:
    """Raise unless a folder is empty, or holds an earlier export and nothing else."""
    if not require_part_of(out, "an export", EXPORTED.__contains__):
        return
    if out.resolve().name == "best" and (out.resolve().parent / "config.json").exists():
        fault = f"{out} holds the best weights of a training"
    else:
        try:
            read_card(out)
        except ConfigError as error:
            fault = f"{out} holds no earlier export ({error})"
        else:
            return
    raise ConfigError(
        f"{fault}; choose another folder with --out (--overwrite replaces an earlier export alone)"
    )


@torch.no_grad()
def compare(name: str, model: nn.Module, exported: Answers, images: Tensor) -> float:
    """Largest relative deviation over batches of several sizes; raises if it is beyond tolerance."""
    largest = 0.0
    for batch in CHECKED_BATCHES:
        given = _repeated(images, batch)
        expected: Tensor = model(given)
        try:
            answered = exported(given)
        except Exception as error:  # a runtime raises whatever it likes
            why = " ".join(str(error).split())
            raise ConfigError(
                f"{name} was not written: it cannot answer a batch of {batch} images ({why}); leave "
                "this format out, or try another version of torch"
            ) from error
        scale = float(expected.abs().max())
        deviation = float("inf")
        if answered.shape == expected.shape:
            deviation = float((answered - expected).abs().max()) / (scale or 1.0)
        if not deviation <= TOLERANCE:  # nor a NaN
            raise ConfigError(
                f"{name} was not written: for a batch of {batch} images its answers deviate from "
                f"PyTorch's by {deviation:.2g} of the largest logit, more than {TOLERANCE:g}; leave "
                "this format out, or try another version of torch"
            )
        largest = max(largest, deviation)
    return largest


def onnx_answers(content: bytes) -> Answers:
    """What onnxruntime answers on the CPU, with as many threads as torch has."""
    import onnxruntime  # type: ignore[import-untyped]  # noqa: PLC0415 - an extra

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])

    def answer(images: Tensor) -> Tensor:
        (logits,) = session.run(None, {"images": images.contiguous().numpy()})
        return torch.from_numpy(logits)

    return answer


@torch.no_grad()
def latency(runtime: str, answers: Answers, images: Tensor) -> Latency:
    """Median time of a batch, after one that does not count."""
    answers(images)
    times: list[float] = []
    began = time.perf_counter()
    while len(times) < 3 or (len(times) < TIMED_RUNS and time.perf_counter() - began < TIMED_SECONDS):
        start = time.perf_counter()
        answers(images)
        times.append(1000 * (time.perf_counter() - start))
    return Latency(
        runtime=runtime, batch=len(images), milliseconds=statistics.median(times), runs=len(times)
    )


@contextmanager
def _calm() -> Iterator[None]:
    """Keep torch's exporters from warning of what happens inside torch."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The given buffer is not writable")
        warnings.filterwarnings("ignore", message=".*LeafSpec", category=FutureWarning)
        yield


def _exported(model: nn.Module, images: Tensor) -> torch.export.ExportedProgram:
    batch = torch.export.Dim("batch", min=1)
    return torch.export.export(model, (images,), dynamic_shapes=({0: batch},))


def _onnx(program: torch.export.ExportedProgram, card: ModelCard) -> bytes:
    """The bytes of an ONNX file with the card in its metadata."""
    import onnx  # noqa: PLC0415 - an extra

    made = torch.onnx.export(
        program, dynamo=True, input_names=["images"], output_names=["logits"], verbose=False
    )
    assert made is not None  # noqa: S101 - with dynamo=True there is a program
    proto = made.model_proto
    _name_batch(proto)
    for key, value in metadata(card).items():
        entry = proto.metadata_props.add()
        entry.key, entry.value = key, value
    onnx.checker.check_model(proto)
    content: bytes = proto.SerializeToString()
    return content


def metadata(card: ModelCard) -> dict[str, str]:
    """What a program without this package needs to use the ONNX file; values are JSON."""
    wanted = ("classes", "mean", "std", "size", "resize", "centre", "trained_on")
    plain = {"channels": card.network.in_chans} | {key: getattr(card, key) for key in wanted}
    return {f"xnas.{key}": json.dumps(value) for key, value in plain.items()} | {
        "xnas.card": json.dumps(card_to_json(card))
    }


def _name_batch(proto: Any) -> None:  # noqa: ANN401 - a protocol buffer
    """Call the dynamic dimension `batch`, whatever the exporter called it."""
    graph = proto.graph
    theirs = graph.input[0].type.tensor_type.shape.dim[0].dim_param
    for value in (*graph.input, *graph.output, *graph.value_info):
        for dimension in value.type.tensor_type.shape.dim:
            if theirs and dimension.dim_param == theirs:
                dimension.dim_param = "batch"


def _require_onnx() -> None:
    for name in ONNX_PACKAGES:
        try:
            import_module(name)
        except ImportError as error:
            raise ConfigError(
                f"writing ONNX needs the package {name} ({error}); install it with pip install "
                "'xnas[onnx]', or pass --no-onnx"
            ) from error


def _check_images(run: Path, card: ModelCard, config: ExportConfig) -> tuple[Tensor, str]:
    """Standardised images to compare answers on, and what they are."""
    channels = card.network.in_chans
    reader = ImageReader.of(card)
    count = max(CHECKED_BATCHES)
    try:
        data, _ = load_own_data(run, card, config)
        test = data.images if data.test_images is None else data.test_images
        pixels, what = torch.stack(list(reader(_spread(test, count)))), f"images of {data.name}"
    except XnasError:
        shape = (count, channels, *card.input_size)
        drawn = torch.randint(256, shape, generator=stream(0, "export"), dtype=torch.int64)
        pixels = drawn.to(torch.uint8)
        what = "generated images, because those of the run are not at hand or cannot be read"
    return standardize(pixels, card.mean, card.std), what


def _spread(images: Tensor | ImageFiles, count: int) -> Sequence[Tensor] | Tensor:
    """So many images from all over, since neighbours are often of one class."""
    places = [k * len(images) // count for k in range(count)]
    if isinstance(images, Tensor):
        return images[torch.tensor(places)].cpu()
    return [images.read(place) for place in places]


def _repeated(images: Tensor, count: int) -> Tensor:
    """The first so many images, from the start again if there are fewer."""
    return images[torch.arange(count) % len(images)]
