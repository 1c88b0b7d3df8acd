"""Options of the commands that take a trained run: `evaluate` and `export`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

from xnas.data_options import SourceOptions
from xnas.options import at_least, option
from xnas.runs.options import DeviceOptions, OutputOptions


@dataclass(frozen=True, kw_only=True)
class EvaluateConfig(SourceOptions, DeviceOptions, OutputOptions):
    """One evaluation. What is left open follows from the run."""

    GROUP: ClassVar[str] = "Released weights"

    out: Path | None = option(None, group="Output")
    """Folder for evaluation.json and figures, new or empty. Default: the run folder itself."""
    batch_size: int = option(250, at_least(1), group="Hardware")
    """Images per batch; it affects only memory and speed."""
    every_image: bool = option(False, group="Data")
    """Also test on the training images of DATA, if the run has not seen these data."""
    cell: str | None = None
    """For a file of weights that the paper's authors released: its cell, such as xnas."""
    network: Literal["cifar", "imagenet"] = "cifar"
    """For a file of weights: the kind of network."""
    channels: int | None = None
    """For a file of weights: channels of the first cell. Default: those of the small network."""
    cells: int | None = None
    """For a file of weights: number of cells. Default: the paper's."""


@dataclass(frozen=True, kw_only=True)
class ExportConfig(SourceOptions, OutputOptions):
    """One export. The data options say where the images are that the exports are checked on."""

    GROUP: ClassVar[str] = "Export"

    out: Path | None = option(None, group="Output")
    """Folder for the files, new or empty. Default: the run folder itself."""
    onnx: bool = True
    """Write model.onnx."""
    torch_export: bool = True
    """Write model.pt2, for torch.export.load."""
    overwrite: bool = option(False, group="Output")
    """Replace an earlier export, and nothing else."""
