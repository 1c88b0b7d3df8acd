"""Settings, images and a cell made into a training that is ready for its first step."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass

import torch
from torch import Tensor

from xnas.data import Images, held_out, stream_seed, training_augmentation
from xnas.data.batches import BatchSource
from xnas.data.sizes import Size
from xnas.data.streaming import StreamSource
from xnas.engine.distributed import ALONE, Ranks
from xnas.engine.schedules import PowerCosine
from xnas.engine.train import Training, TrainSettings
from xnas.errors import ConfigError
from xnas.nn.operations import fuse
from xnas.process.devices import pick_device
from xnas.runs.backends import shared_by
from xnas.runs.recipes import Recipe, seen_size
from xnas.runs.sources import Sources
from xnas.runs.train_config import PAPERS_SIDE, TrainConfig, resolve
from xnas.space import (
    Genotype,
    Network,
    NetworkSpec,
    build_network,
    count_macs,
    count_parameters,
    network_spec,
)
from xnas.words import counted

FEWEST_KEPT = 2  # images of a class; fewer are told
RECOMPILES = 64  # of one cell's code, for cells of different sizes


@dataclass(frozen=True, slots=True)
class PreparedTraining:
    """A training ready to run."""

    training: Training
    config: TrainConfig
    recipe: Recipe
    seen: Size
    """Height and width of what the network sees of an image."""
    parameters: int
    """The auxiliary tower left out, as in `macs`, the multiply-accumulates for an image."""
    macs: int
    classes: tuple[str, ...]
    valid: BatchSource | StreamSource | None
    """Images held back, if the settings say so."""
    test_batches: Callable[[], Iterator[tuple[Tensor, Tensor]] | None]
    """Gives the test images, if there are any; asked for once, when the training is over."""
    notes: list[str]
    cautions: list[str]
    """What to think of before it starts."""


def prepare_training(
    config: TrainConfig, images: Images, genotype: Genotype, ranks: Ranks = ALONE
) -> PreparedTraining:
    """Build network and batches; every random choice from its own stream of the seed."""
    device = pick_device(config.device, ranks)
    kept, held = torch.arange(len(images.labels)), None
    if config.validation:
        seed = stream_seed(config.seed, "validation")
        kept, held = held_out(images.labels, share=config.validation, seed=seed)
    config, recipe, notes = resolve(
        config,
        genotype,
        dataset=images.name,
        examples=len(kept),
        classes=len(images.classes),
        shape=(images.channels, *images.size),
        device=device,
    )
    ranks.require_batch(recipe.batch_size, parts=config.accumulate)
    notes += shared_by(ranks, recipe.batch_size, device)
    spec = network_spec(genotype.space, recipe.network).but(
        num_classes=len(images.classes),
        in_chans=images.channels,
        channels=recipe.channels,
        cells=recipe.cells,
        auxiliary=recipe.auxiliary_weight > 0,
        drop_path_rate=recipe.drop_path_rate,
    )
    seen = seen_size(recipe, images.size)
    parameters, macs = _cost(genotype, spec.for_inference, (images.channels, *seen))
    model = _build(genotype, spec, seed=config.seed).to(device)
    if config.backend == "fused":
        model = model.to(memory_format=torch.channels_last)
        fuse(model, on=not config.compile)  # the compiler has kernels of its own
    sources = Sources(
        images,
        device,
        batch_size=recipe.batch_size,
        seed=config.seed,
        count=1,
        size=seen,
        ranks=ranks,
    )
    hole = round(recipe.cutout * min(seen) / PAPERS_SIDE)
    augment, finish = training_augmentation(
        images,
        autoaugment=recipe.auto_augment,
        cutout=hole or None,
        resized_crop=seen if recipe.resized_crop else None,
    )
    batches = sources.make("training", kept, augment=augment, finish=finish, balance=config.balance)
    training = Training(model, batches, _settings(config, recipe, len(kept)), ranks)
    if config.compile:
        torch._dynamo.config.recompile_limit = RECOMPILES
        for cell in model.cells:
            cell.compile(dynamic=False)
    valid = sources.make("held back", held) if held is not None else None
    return PreparedTraining(
        training=training,
        config=config,
        recipe=recipe,
        seen=seen,
        parameters=parameters,
        macs=macs,
        classes=images.classes,
        valid=valid,
        test_batches=sources.test_batches,
        notes=notes,
        cautions=_cautions(config, images, kept),
    )


def _cautions(config: TrainConfig, images: Images, kept: Tensor) -> list[str]:
    counts = torch.bincount(images.labels[kept].cpu(), minlength=len(images.classes)).tolist()
    if not config.validation or min(counts) >= FEWEST_KEPT:
        return []
    left, name = counted(min(counts), "image"), images.classes[counts.index(min(counts))]
    share = f"--validation {config.validation:g}"
    return [f"{share} leaves {left} of class {name!r} to train on; use a smaller share"]


def require_nothing_to_load(config: TrainConfig, images: Images) -> None:
    """Refuse wishes for images that were handed over: they stay as they are."""
    size = config.image_size
    if size is not None and images.size != (size, size):
        height, width = images.size
        raise ConfigError(
            f"image-size is {size}, but the images that were given are {height} x {width}; give them "
            "in that size, or leave it out"
        )
    if config.resize is not None and images.resize != config.resize:
        raise ConfigError(
            f"resize is {config.resize}, but the images that were given came by {images.resize}; say "
            f"resize={config.resize!r} of them, or leave it out"
        )


def _cost(genotype: Genotype, spec: NetworkSpec, shape: tuple[int, int, int]) -> tuple[int, int]:
    """Parameters and multiply-accumulates; images that are too small for the network are refused."""
    with torch.device("meta"):
        model = build_network(genotype, spec)
    return count_parameters(model), count_macs(model, shape)


def _build(genotype: Genotype, spec: NetworkSpec, *, seed: int) -> Network:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(stream_seed(seed, "weights"))
        return build_network(genotype, spec)


def _settings(config: TrainConfig, recipe: Recipe, examples: int) -> TrainSettings:
    steps, warmup = examples // recipe.batch_size, recipe.warmup * recipe.epochs
    schedule = PowerCosine(
        top=recipe.learning_rate,
        epochs=recipe.epochs,
        cycles=min(recipe.cycles, recipe.epochs),
        decay=recipe.cycle_decay,
        power=recipe.power,
        lowest=recipe.lowest_rate,
        warmup=warmup if warmup * steps >= 1 else 0.0,  # shorter ones would only make a step of rate 0
    )
    numbers = asdict(recipe)
    names = (
        "epochs",
        "rate_by_step",
        "momentum",
        "nesterov",
        "weight_decay",
        "gradient_clip",
        "label_smoothing",
        "auxiliary_weight",
        "drop_path_rate",
        "average",
    )
    return TrainSettings(
        **{name: numbers[name] for name in names},
        steps_per_epoch=steps,
        schedule=schedule,
        accumulate=config.accumulate,
        autocast=config.precision == "bf16",
    )
