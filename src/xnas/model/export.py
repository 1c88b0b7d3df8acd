"""Export of a trained network: ONNX and `torch.export`, refused unless they answer as PyTorch does.

Both take standardised float32 images (batch, channels, height, width), any number at a time, and give
logits (batch, classes). `model.json` and the metadata of the ONNX file say how an image is prepared and
what the classes are called.
"""

from __future__ import annotations

import json
import logging
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from io import BytesIO
from itertools import count
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from xnas.errors import ConfigError
from xnas.model.latency import time_passes
from xnas.model.model_card import ModelCard, card_to_json
from xnas.process.advance import Advance, unwatched
from xnas.records import Latency
from xnas.space import Network
from xnas.words import short

ONNX_FILE, TORCH_FILE = "model.onnx", "model.pt2"
ONNX_PACKAGES = ("onnx", "onnxruntime", "onnxscript")
TOLERANCE = 1e-4
"""Largest deviation of a logit from PyTorch's, as a share of the largest logit of the batch. Other
orders of summation in 32 bits deviate by some 1e-6; a wrong layer deviates by far more."""
CHECKED_BATCHES = (1, 2, 7, 32)
TIMED_BATCHES = (1, 32)
TIMED_SECONDS = 2.0  # of timed passes, for each runtime and batch

Answers = Callable[[Tensor], Tensor]
"""From standardised images (batch, channels, height, width) to logits (batch, classes)."""


def write_exports(
    folder: Path,
    model: Network,
    card: ModelCard,
    images: Tensor,
    *,
    onnx: bool,
    torch_export: bool,
    advance: Advance = unwatched,
) -> tuple[dict[str, float], tuple[Latency, ...]]:
    """Write `model.onnx` and `model.pt2`; returns the deviation of each file, and latencies on the CPU.

    `images` are standardised, (n, channels, height, width). A file that does not answer as the network
    does is not written, and raises. `advance` is called after each file and each timing.
    """
    done, parts = count(1), torch_export + onnx + len(TIMED_BATCHES) * (1 + onnx)
    runtimes: dict[str, Answers] = {"PyTorch": model}
    differences: dict[str, float] = {}
    with _quiet_exporters():
        program = _exported(model, images[:2]) if onnx or torch_export else None
        if program is not None and torch_export:
            buffer = BytesIO()  # torch's own writer ends the process when a disk is full
            torch.export.save(program, buffer)
            buffer.seek(0)
            reloaded = torch.export.load(buffer).module()
            differences[TORCH_FILE] = compare(TORCH_FILE, model, reloaded, images)
            (folder / TORCH_FILE).write_bytes(buffer.getbuffer())
            advance(next(done), parts)
        if program is not None and onnx:
            content = _onnx(program, card)
            runtimes["onnxruntime"] = onnx_answers(content)
            differences[ONNX_FILE] = compare(ONNX_FILE, model, runtimes["onnxruntime"], images)
            (folder / ONNX_FILE).write_bytes(content)
            advance(next(done), parts)
        latencies = []
        for batch in TIMED_BATCHES:
            for name, answers in runtimes.items():
                given = _repeated(images, batch)
                latencies.append(time_passes(name, answers, given, seconds=TIMED_SECONDS))
                advance(next(done), parts)
    return differences, tuple(latencies)


def require_onnx() -> None:
    """Raise unless the packages that write and check ONNX are installed."""
    for name in ONNX_PACKAGES:
        try:
            import_module(name)
        except ImportError as error:
            raise ConfigError(
                f"writing ONNX needs the package {name} ({error}); install it with pip install "
                "'xnas[onnx]', or pass --no-onnx"
            ) from error


@torch.no_grad()
def compare(name: str, model: nn.Module, exported: Answers, images: Tensor) -> float:
    """Largest relative deviation of logits over batches of several sizes; raises beyond `TOLERANCE`."""
    largest = 0.0
    for batch in CHECKED_BATCHES:
        given = _repeated(images, batch)
        expected: Tensor = model(given)
        try:
            answered = exported(given)
        except Exception as error:  # runtimes raise errors of many kinds
            raise ConfigError(
                f"{name} was not written: it cannot answer a batch of {batch} images ({short(error)}); "
                "leave this format out, or try another version of torch"
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
    """The answers of an ONNX file in onnxruntime, on the CPU with as many threads as torch has."""
    import onnxruntime  # type: ignore[import-untyped]  # noqa: PLC0415 - an extra

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])

    def answer(images: Tensor) -> Tensor:
        (logits,) = session.run(None, {"images": images.contiguous().numpy()})
        return torch.from_numpy(logits)

    return answer


@contextmanager
def _quiet_exporters() -> Iterator[None]:
    """Suppress warnings of torch's exporters about torch itself, and onnxscript's log."""
    log = logging.getLogger("onnxscript")
    before = log.level
    log.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="The given buffer is not writable")
            warnings.filterwarnings("ignore", message=".*LeafSpec", category=FutureWarning)
            yield
    finally:
        log.setLevel(before)


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
    """Metadata of the ONNX file, for programs without this package; values are JSON."""
    wanted = ("classes", "mean", "std", "size", "resize", "centre", "trained_on")
    plain = {"channels": card.network.in_chans} | {key: getattr(card, key) for key in wanted}
    return {f"xnas.{key}": json.dumps(value) for key, value in plain.items()} | {
        "xnas.card": json.dumps(card_to_json(card))
    }


def _name_batch(proto: Any) -> None:  # noqa: ANN401 - a protocol buffer
    """Rename the dynamic dimension to `batch`."""
    graph = proto.graph
    theirs = graph.input[0].type.tensor_type.shape.dim[0].dim_param
    for value in (*graph.input, *graph.output, *graph.value_info):
        for dimension in value.type.tensor_type.shape.dim:
            if theirs and dimension.dim_param == theirs:
                dimension.dim_param = "batch"


def _repeated(images: Tensor, count: int) -> Tensor:
    """A batch of `count` images, which repeat if there are fewer."""
    return images[torch.arange(count) % len(images)]
