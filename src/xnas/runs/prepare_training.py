"""Settings, images and a cell made into a training that is ready for its first step."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from xnas.data import Images, held_out, stream_seed, training_augmentation
from xnas.data.augment import Augmentation
from xnas.data.batches import BatchSource
from xnas.data.mixup import Mixup
from xnas.data.sizes import Size
from xnas.data.streaming import StreamSource
from xnas.engine.distributed import ALONE, Ranks
from xnas.engine.train import Training
from xnas.errors import ConfigError
from xnas.nn.operations import fuse
from xnas.process.devices import pick_device
from xnas.runs.backends import shared_by
from xnas.runs.limits import require_one_process
from xnas.runs.recipes import ImagePreparation
from xnas.runs.sources import Sources
from xnas.runs.train_config import PAPERS_SIDE, TrainConfig
from xnas.runs.train_plan import TrainPlan, held_out_share, resolve
from xnas.space import (
    Architecture,
    Network,
    NetworkSpec,
    build_network,
    count_macs,
    count_parameters,
)
from xnas.words import counted

FEWEST_KEPT = 2  # images of a class; fewer give a warning
RECOMPILES = 64  # of one cell's code, for cells of different sizes


@dataclass(frozen=True, slots=True)
class PreparedTraining:
    """A training ready to run."""

    training: Training
    plan: TrainPlan
    seen: Size
    """Height and width of what the network sees of an image."""
    parameters: int
    """Without the auxiliary tower, as in `macs`, the multiply-accumulates per image."""
    macs: int
    classes: tuple[str, ...]
    valid: BatchSource | StreamSource | None
    """Held-out images, if the options ask for some."""
    test_batches: Callable[[], Iterator[tuple[Tensor, Tensor]] | None]
    """Gives the test images, if there are any; asked for once, when the training is over."""
    cautions: list[str]
    """Warnings to print before the training starts."""

    @property
    def config(self) -> TrainConfig:
        """The options with every choice filled in, as config.json records them."""
        return self.plan.config


def prepare_training(
    options: TrainConfig,
    images: Images,
    architecture: Architecture,
    ranks: Ranks = ALONE,
    notes: Sequence[str] = (),
) -> PreparedTraining:
    """Build network and batches; every random choice from its own stream of the seed.

    `notes` are lines on choices that were made before.
    """
    device = pick_device(options.device, ranks)
    require_one_process(options, ranks)
    kept, held = torch.arange(len(images.labels)), None
    share = held_out_share(options, images.name)
    if share:
        seed = stream_seed(options.seed, "validation")
        kept, held = held_out(images.labels, share=share, seed=seed)
    plan = resolve(
        options,
        architecture,
        dataset=images.name,
        examples=len(kept),
        classes=len(images.classes),
        shape=(images.channels, *images.size),
        device=device,
    )
    batch = plan.recipe.batch_size
    ranks.require_batch(batch, parts=options.accumulate)
    plan = replace(plan, notes=(*notes, *plan.notes, *shared_by(ranks, batch, device)))
    seen = plan.recipe.images.seen(images.size)
    parameters, macs = _cost(architecture, plan.network.for_inference, (images.channels, *seen))
    model = _build(architecture, plan.network, seed=options.seed).to(device)
    if plan.backend == "fused":
        model = model.to(memory_format=torch.channels_last)
        fuse(model, on=not options.compile)  # the compiler has kernels of its own
    sources = Sources(
        images, device, batch_size=batch, seed=options.seed, count=1, size=seen, ranks=ranks
    )
    augment, finish = _augmentation(plan.recipe.images, images, seen)
    batches = sources.make("training", kept, augment=augment, finish=finish, balance=options.balance)
    mixing = None
    if alpha := plan.recipe.images.mixup:
        mixing = Mixup(alpha, batch_size=batch // ranks.size, seed=options.seed, device=device)
    training = Training(model, batches, plan.settings, ranks, mixing)
    if options.compile:
        torch._dynamo.config.recompile_limit = RECOMPILES
        for cell in model.cells:
            cell.compile(dynamic=False)
    return PreparedTraining(
        training=training,
        plan=plan,
        seen=seen,
        parameters=parameters,
        macs=macs,
        classes=images.classes,
        valid=sources.make("held back", held) if held is not None else None,  # names a stream
        test_batches=sources.test_batches,
        cautions=_cautions(share, images, kept),
    )


def hole_side(how: ImagePreparation, seen: Size) -> int:
    """Side of the hole that cutout makes in images of this size, in pixels; 0 for none.

    Departure: the paper's 16 pixels are half a side of CIFAR's images, and stay that on others.
    """
    return round(how.cutout * min(seen) / PAPERS_SIDE)


def _augmentation(
    how: ImagePreparation, images: Images, seen: Size
) -> tuple[Augmentation, Augmentation | None]:
    return training_augmentation(
        images,
        autoaugment=how.auto_augment,
        cutout=hole_side(how, seen) or None,
        resized_crop=seen if how.resized_crop else None,
    )


def _cautions(held: float, images: Images, kept: Tensor) -> list[str]:
    counts = torch.bincount(images.labels[kept].cpu(), minlength=len(images.classes)).tolist()
    if not held or min(counts) >= FEWEST_KEPT:
        return []
    left, name = counted(min(counts), "image"), images.classes[counts.index(min(counts))]
    share = f"--validation {held:g}"
    return [f"{share} leaves {left} of class {name!r} to train on; use a smaller share"]


def require_nothing_to_load(config: TrainConfig, images: Images) -> None:
    """Refuse wishes for images that were handed over: they stay as they are."""
    size = config.image_size
    if size is not None and images.size != (size, size):
        height, width = images.size
        raise ConfigError(
            f"--image-size is {size}, but the images that were given are {height} x {width}; give them "
            "in that size, or leave it out"
        )
    if config.resize is not None and images.resize != config.resize:
        raise ConfigError(
            f"resize is {config.resize}, but the images that were given came by {images.resize}; say "
            f"resize={config.resize!r} of them, or leave it out"
        )


def _cost(architecture: Architecture, spec: NetworkSpec, shape: tuple[int, int, int]) -> tuple[int, int]:
    """Parameters and multiply-accumulates; images that are too small for the network are refused."""
    with torch.device("meta"):
        model = build_network(architecture, spec)
    return count_parameters(model), count_macs(model, shape)


def _build(architecture: Architecture, spec: NetworkSpec, *, seed: int) -> Network:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(stream_seed(seed, "weights"))
        return build_network(architecture, spec)
