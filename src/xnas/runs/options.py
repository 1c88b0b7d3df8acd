"""Options that several commands share: output, hardware, and what every run has."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

from xnas.data_options import DataOptions
from xnas.options import NOT_NEGATIVE, POSITIVE, THE_COMMANDS, Options, at_least, at_most, option


@dataclass(frozen=True, kw_only=True)
class OutputOptions(Options):
    """What a command prints."""

    GROUP: ClassVar[str] = "Output"

    quiet: bool = option(False, on_resume="free")
    """Print warnings and errors only."""


@dataclass(frozen=True, kw_only=True)
class DeviceOptions(Options):
    """Where a command computes."""

    GROUP: ClassVar[str] = "Hardware"

    device: str = option("auto", on_resume="change")
    """auto (a GPU if there is one), cpu, cuda or cuda:NUMBER."""


@dataclass(frozen=True, kw_only=True)
class ComputeOptions(DeviceOptions):
    """Where and how a run computes."""

    backend: Literal["auto", "reference", "captured", "fused"] = option("auto", on_resume="change")
    """reference: plain PyTorch modules. captured: the same, replayed as CUDA graphs on a GPU. fused:
    fast kernels and, on a GPU, CUDA graphs. auto: on a GPU fused or, where there are no kernels,
    captured; else reference."""
    precision: Literal["fp32", "bf16"] | None = None
    """bf16 computes in bfloat16 where that is safe, fp32 in single precision throughout (no TF32 on a
    GPU). Default: bf16 on a GPU (in a search with the fused or captured backend), else fp32."""


@dataclass(frozen=True, kw_only=True)
class LimitOptions(Options):
    """The most that the network to be trained may cost."""

    GROUP: ClassVar[str] = "Limits"

    max_params: float | None = option(None, POSITIVE)
    """Maximum number of parameters of the trained network, such as 3e6. A search penalizes costly
    operations and returns a cell whose default network is within the limits. Sampling proposes only such
    cells. Training without --channels uses as many channels as fit. Default: no limit."""
    max_macs: float | None = option(None, POSITIVE)
    """Maximum multiply-accumulate operations of that network per image, such as 5e8. Default: no
    limit."""
    max_latency: float | None = option(None, POSITIVE)
    """Maximum milliseconds of that network for one batch, measured before it is trained; during a
    search, predicted from the times of single operations. Default: no limit."""
    latency_device: str | None = None
    """Where latency is measured: cpu, cuda or cuda:NUMBER. Default: where the command computes."""
    latency_batch: int = option(1, at_least(1), at_most(1 << 16))
    """Images in the batch that is timed."""

    @property
    def limited(self) -> bool:
        """Whether there is a limit."""
        return (self.max_params, self.max_macs, self.max_latency) != (None, None, None)


@dataclass(frozen=True, kw_only=True)
class RunOptions(OutputOptions):
    """What every run has: a folder, a seed, checkpoints."""

    out: Path | None = option(None, on_resume="free")
    """Run folder, new or empty. Default: runs/COMMAND-DATA-NUMBER."""
    report: bool = option(True, on_resume="free")
    """Write report.html into the run folder at the end."""
    checkpoint_minutes: float = option(10.0, NOT_NEGATIVE, on_resume="change")
    """Also save a checkpoint within an epoch if this many minutes have passed (0: after every step).
    Every epoch ends with a checkpoint."""
    seed: int = option(0, at_least(0), group=THE_COMMANDS)
    """Seed of everything random: split, initial weights, order of images, augmentation."""
    balance: bool = option(False, group="Data")
    """Draw every class equally often, however many images it has."""


@dataclass(frozen=True, kw_only=True)
class ImageRunOptions(DataOptions, ComputeOptions, LimitOptions, RunOptions):
    """What every run has that learns from images."""
