"""Export of a trained run, checked on the images of the run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

from xnas.data import ImageFiles, Images, standardize, stream
from xnas.errors import ConfigError, XnasError
from xnas.model.export import CHECKED_BATCHES, ONNX_FILE, TORCH_FILE, require_onnx, write_exports
from xnas.model.image_inputs import ImageReader
from xnas.model.model import WEIGHTS_FILE, load_model, save_model
from xnas.model.model_card import CARD_FILE, ModelCard, read_card
from xnas.process.advance import Advance, unwatched
from xnas.process.folder import filled_folder, require_part_of, run_path
from xnas.records import ExportedFile, ExportResult
from xnas.runs.model_options import ExportConfig
from xnas.runs.run_data import load_own_data, place_of
from xnas.runs.sources import require_outside

EXPORTED = (CARD_FILE, WEIGHTS_FILE, ONNX_FILE, TORCH_FILE)
"""All files that an export may write."""


def export_run(
    run: Path | str,
    config: ExportConfig | None = None,
    *,
    images: Images | None = None,
    advance: Advance = unwatched,
) -> ExportResult:
    """Write a trained run as ONNX and with `torch.export`.

    It is checked on `images`, by default those that the run says it was trained on.

    Into another folder, weights and card are written as well. An export that differs from PyTorch on
    the images that it is checked on is refused, and leaves nothing behind.
    """
    config = config or ExportConfig()
    run = run_path(run)
    own = config.out is None or config.out.expanduser().resolve() == run.resolve()
    out = run if config.out is None else config.out.expanduser()
    if config.onnx:
        require_onnx()
    if own:
        _require_format(config)
        _require_no_export(out, config)
    else:
        _require_outside_data(out, run)
        _require_export(out)
    model, card = load_model(run)
    given, checked_on = _check_images(run, card, config, images)
    with filled_folder(out, overwrite=own or config.overwrite) as scratch:
        if not own:
            save_model(scratch, model, card)
        differences, latencies = write_exports(
            scratch,
            model,
            card,
            given,
            onnx=config.onnx,
            torch_export=config.torch_export,
            advance=advance,
        )
        if not own:
            for name in {ONNX_FILE, TORCH_FILE} - differences.keys():  # of other weights
                (out / name).unlink(missing_ok=True)
    names = (*differences,) if own else (WEIGHTS_FILE, *differences)
    return ExportResult(
        files=tuple(
            ExportedFile(
                path=str(out / name),
                bytes=(out / name).stat().st_size,
                difference=differences.get(name),
            )
            for name in names
        ),
        checked_on=f"{len(given)} {checked_on}",
        latencies=latencies,
        threads=torch.get_num_threads(),
    )


def _require_format(config: ExportConfig) -> None:
    """Raise if an export into the run folder, which has the weights already, would write nothing."""
    if not config.onnx and not config.torch_export:
        raise ConfigError(
            "nothing to export: ONNX and torch.export are both off; leave out --no-onnx or "
            "--no-torch-export, or copy the weights to another folder with --out"
        )


def _require_no_export(run: Path, config: ExportConfig) -> None:
    """Raise if the run folder holds a file that the export would replace without being asked to."""
    wanted = {ONNX_FILE: config.onnx, TORCH_FILE: config.torch_export}
    there = [str(run / name) for name in wanted if wanted[name] and (run / name).exists()]
    if there and not config.overwrite:
        raise ConfigError(
            f"already exported: {' and '.join(there)}; pass --overwrite to replace "
            f"{'it' if len(there) == 1 else 'them'}, or choose another folder with --out"
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


def _require_outside_data(out: Path, run: Path) -> None:
    """Raise if a folder lies in that of the run's images, as far as the run says where they are."""
    try:
        place = place_of(run)
    except ConfigError:  # a damaged config.json; an export does not need it
        return
    if place is not None:
        require_outside(out, place)


def _check_images(
    run: Path, card: ModelCard, config: ExportConfig, images: Images | None
) -> tuple[Tensor, str]:
    """Standardised images to compare answers on, and what they are."""
    channels = card.network.in_chans
    reader = ImageReader.of(card)
    count = max(CHECKED_BATCHES)
    try:
        data = images or load_own_data(run, card, config)[0]
        test = data.images if data.test_images is None else data.test_images
        pixels, what = torch.stack(list(reader(_spread(test, count)))), f"images of {data.name}"
    except XnasError:
        shape = (count, channels, *card.input_size)
        drawn = torch.randint(256, shape, generator=stream(0, "export"), dtype=torch.int64)
        pixels = drawn.to(torch.uint8)
        what = "generated images, because those of the run are not at hand or cannot be read"
    return standardize(pixels, card.mean, card.std), what


def _spread(images: Tensor | ImageFiles, count: int) -> Sequence[Tensor] | Tensor:
    """Images at equal distances, because neighbours are often of one class."""
    places = [k * len(images) // count for k in range(count)]
    if isinstance(images, Tensor):
        return images[torch.tensor(places)].cpu()
    return [images.read(place) for place in places]
