"""Options of the measurements of speed; imports nothing slow, for the help of `xnas bench`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from xnas.errors import ConfigError
from xnas.options import Options, at_least, option
from xnas.runs.options import DeviceOptions
from xnas.runs.search_config import SearchConfig

Backend = Literal["reference", "fused"]


@dataclass(frozen=True, kw_only=True)
class TimedOnDevice(DeviceOptions):
    """Where to measure; a device that is not there is refused at once."""

    GROUP: ClassVar[str] = "Measurement"

    def __post_init__(self) -> None:
        super().__post_init__()
        from xnas.process.devices import pick_device  # noqa: PLC0415 - imports torch

        pick_device(self.device)


@dataclass(frozen=True, kw_only=True)
class BenchTheoryConfig(Options):
    """How to time a step."""

    GROUP: ClassVar[str] = "Measurement"

    mixtures: tuple[int, ...] = (2, 1000)
    """Numbers of mixtures (14 x 7 each) to time; repeat the flag for several."""
    repetitions: int = option(30, at_least(3))
    """Timed steps of each optimizer; the median is reported. The plain loop gets a tenth of them."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.mixtures or min(self.mixtures) < 1:
            raise ConfigError(f"--mixtures must be positive numbers, got {self.mixtures}")


@dataclass(frozen=True, kw_only=True)
class BenchSearchConfig(TimedOnDevice):
    """Which round to time."""

    space: Literal["darts", "nasbench201"] = "darts"
    """Search space of the supernet."""
    cells: int = 5
    """Cells of the supernet, or of each stage on nasbench201; the paper has 8."""
    channels: int = 8
    """Channels of the first cell; DARTS has 16."""
    batch_size: int = 32
    """Images per batch; the paper has 96."""
    image_size: int = 16
    """Height and width; CIFAR-10 has 32."""
    rounds: int = option(10, at_least(3))
    """Timed rounds of each case, after two to warm up."""
    precision: Literal["fp32", "bf16"] | None = None
    """Precision of the computation. By default what each backend takes: bf16 for fused on a GPU, else
    fp32."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.search_config()

    def search_config(self, backend: Backend = "reference") -> SearchConfig:
        """The search whose rounds are timed."""
        return SearchConfig(
            space=self.space,
            backend=backend,
            cells=self.cells,
            channels=self.channels,
            batch_size=self.batch_size,
            epochs=1000,
            device=self.device,
            precision=self.precision,
        )


@dataclass(frozen=True, kw_only=True)
class BenchMethodsConfig(TimedOnDevice):
    """Which methods to time, on which supernet."""

    methods: tuple[str, ...] = ()
    """Methods to time besides xnas; repeat the flag for several. Default: all."""
    space: Literal["darts", "nasbench201"] = "darts"
    """Search space of the supernet."""
    cells: int = 5
    """Cells of the supernet, or of each stage on nasbench201; the paper has 8."""
    channels: int = 12
    """Channels of the first cell; DARTS has 16. Partial channels of 1/4 and 1/6 divide it."""
    batch_size: int = 32
    """Images per batch; the paper has 96."""
    image_size: int = 16
    """Height and width; CIFAR-10 has 32."""
    rounds: int = option(10, at_least(3))
    """Timed rounds of each method, after one to warm up. Methods that seldom learn play up to 30."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.search_config("xnas")

    def search_config(self, method: str) -> SearchConfig:
        """The search by `method` whose rounds are timed."""
        return SearchConfig(
            method=method,
            space=self.space,
            cells=self.cells,
            channels=self.channels,
            batch_size=self.batch_size,
            epochs=50,
            device=self.device,
        )


@dataclass(frozen=True, kw_only=True)
class BenchDataConfig(TimedOnDevice):
    """Which batches to time."""

    batch_size: int = option(1024, at_least(1))
    """Images per batch of the full training augmentation."""
    round_size: int = option(96, at_least(1))
    """Images per batch of each half in a search's round; the paper has 96."""
    image_size: int = option(32, at_least(8))
    """Height and width."""
    policy: str = "cifar10"
    """AutoAugment policy: cifar10, imagenet or svhn."""
    timings: int = option(7, at_least(5))
    """Timings of each case; the median is reported."""
    workers: int = option(0, at_least(0))
    """Worker processes of the second DataLoader; 0: one per core."""

    def __post_init__(self) -> None:
        super().__post_init__()
        from xnas.data.policies import POLICIES, policy_named  # noqa: PLC0415 - imports torch

        policy_named(self.policy, channels=3)
        if self.policy not in POLICIES:
            raise ConfigError(
                f"torchvision, which is timed too, has no policy {self.policy!r}; there are: "
                f"{', '.join(POLICIES)}"
            )


@dataclass(frozen=True, kw_only=True)
class BenchTrainConfig(TimedOnDevice):
    """Which step to time."""

    cell: str = "xnas"
    """A published cell, a file or a run folder."""
    channels: int = 8
    """Channels of the first cell; XNAS-Small has 36."""
    cells: int = 5
    """Cells of the network; XNAS-Small has 20."""
    batch_size: int = 32
    """Images per batch; the paper has 96."""
    image_size: int = 16
    """Height and width; CIFAR-10 has 32."""
    recipe: str = "xnas-1500"
    """Recipe whose augmentation, auxiliary head and drop path are part of the step."""
    steps: int = option(20, at_least(5))
    """Timed steps of each case, after three to warm up."""
