"""A trained network as two files: `model.safetensors`, its weights, and `model.json`, all else.

The card in `model.json` says how the network is built and how an image is prepared for it, so that the
two files alone are enough, on another device and in another version of the package. Nothing in them is
executed. Fields of the card that this version does not know are passed over, because a newer version
may add some; settings of the network that it does not know are not, because they would change it.
"""

from __future__ import annotations

import json
import math
import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from hashlib import blake2b
from pathlib import Path
from reprlib import repr as brief
from typing import Any

import torch
from torch import Tensor

from xnas.data import Images
from xnas.data.images import is_plain_text
from xnas.data.sizes import require_resize
from xnas.errors import ConfigError, VersionError, XnasError
from xnas.files import open_plain, whole_file
from xnas.nn.excitation import SqueezeExcitation
from xnas.nn.heads import ImagenetStem
from xnas.runs.folder import told_as
from xnas.space import Genotype, Network, create_model
from xnas.space.benchmark_network import BenchmarkCell, BenchmarkNetwork
from xnas.space.benchmark_supernet import STAGES
from xnas.space.network import Cell

FORMAT, VERSION = "xnas-model", 1
CARD_FILE, WEIGHTS_FILE = "model.json", "model.safetensors"
NETWORK_ARGUMENTS = {
    "network": str,
    "num_classes": int,
    "in_chans": int,
    "channels": int,
    "cells": int,
    "squeeze_excitation": bool,
    "stem_channels": int,
}
"""Arguments of `create_model` that a card has, all of them: a default may change some day."""
TRAINING_ONLY = "auxiliary_tower."
COMPILED = "_orig_mod."
"""What `torch.compile` puts into the names of the tensors of what it wraps."""
DAMAGE = (TypeError, ValueError, LookupError, AttributeError, ArithmeticError, RecursionError)
"""What values of the wrong kind raise."""
MOST_CARD_BYTES = 1 << 26  # of model.json; names of 20,000 classes take a million
MOST_HEADER_BYTES = 100_000_000  # of model.safetensors, before the numbers, as its format says
MOST_CELLS = 1000  # of a network that a card describes; published ones have 20
MOST_CHANNELS = 1 << 20  # of any kind, classes among them
SIZES = {
    "cells": MOST_CELLS,
    "channels": MOST_CHANNELS,
    "stem_channels": MOST_CHANNELS,
    "in_chans": MOST_CHANNELS,
    "num_classes": MOST_CHANNELS,
}
LONGEST_SIDE = 4096  # of images that a network is given, in pixels


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelCard:
    """What has to be known of a trained network to build it and to give it images."""

    genotype: Genotype
    network: Mapping[str, int | bool | str]
    """Arguments of `create_model`; `network_arguments` reads them off a network."""
    classes: tuple[str, ...]
    size: tuple[int, int]
    """Height and width that images are brought to."""
    resize: str = "crop"
    """The rule that brings them to this size."""
    centre: tuple[int, int] | None = None
    """Height and width that are then cut out of the middle; by default nothing is cut off."""
    mean: tuple[float, ...]
    """Of each channel, in 0..1; images are standardised with it."""
    std: tuple[float, ...]
    trained_on: str
    """Name of the data."""
    recipe: str
    seed: int
    figures: Mapping[str, float] = field(default_factory=dict)
    """Numbers such as the test accuracy, by name."""
    unknown_fields: tuple[str, ...] = ()
    """Fields of the file that this version passed over."""

    def __post_init__(self) -> None:
        if dict(self.network).keys() != NETWORK_ARGUMENTS.keys():
            raise ConfigError(
                f"the network of a model needs {', '.join(NETWORK_ARGUMENTS)}, got "
                f"{', '.join(self.network) or 'nothing'}; read them off it with network_arguments"
            )
        for name, kind in NETWORK_ARGUMENTS.items():
            if type(self.network[name]) is not kind:
                raise ConfigError(
                    f"{name} of a model's network must be a {kind.__name__}, got "
                    f"{brief(self.network[name])}; read it off with network_arguments"
                )
        for name, length, wanted in (
            ("classes", len(self.classes), self.network["num_classes"]),
            ("mean", len(self.mean), self.network["in_chans"]),
            ("std", len(self.std), self.network["in_chans"]),
        ):
            if length != wanted:
                raise ConfigError(f"{name} of a model has {length} entries, its network needs {wanted}")
        if len(set(self.classes)) < len(self.classes):
            twice = Counter(self.classes).most_common(1)[0][0]
            raise ConfigError(f"a model has two classes called {brief(twice)}; give each its own name")
        if not all(map(math.isfinite, self.mean)):
            raise ConfigError(f"mean of a model must be finite, got {self.mean}; give that of its data")
        if not all(0 < deviation < math.inf for deviation in self.std):
            raise ConfigError(
                f"std of a model must be positive and finite, got {self.std}; give that of its data"
            )
        require_resize(self.resize)
        if self.centre is not None and not all(
            0 < part <= whole for part, whole in zip(self.centre, self.size, strict=True)
        ):
            raise ConfigError(
                f"a centre of {self.centre} cannot be cut out of images of {self.size}; it may be as "
                "large as they are"
            )

    @property
    def input_size(self) -> tuple[int, int]:
        """Height and width of what the network is given."""
        return self.size if self.centre is None else self.centre


def model_card(
    model: Network,
    data: Images,
    *,
    recipe: str,
    seed: int,
    centre: tuple[int, int] | None = None,
    figures: Mapping[str, float] | None = None,
) -> ModelCard:
    """The card of a network that was trained on `data`, or on crops of the size of `centre`."""
    return ModelCard(
        genotype=model.genotype,
        network=network_arguments(model),
        classes=data.classes,
        size=data.size,
        resize=data.resize,
        centre=None if centre == data.size else centre,
        mean=data.mean,
        std=data.std,
        trained_on=data.name,
        recipe=recipe,
        seed=seed,
        figures=figures or {},
    )


def network_arguments(model: Network) -> dict[str, int | bool | str]:
    """Arguments of `create_model` that build the network again, read off its layers."""
    bare = [getattr(cell, "_orig_mod", cell) for cell in model.cells]  # some may be compiled
    if isinstance(model, BenchmarkNetwork):
        staged = [cell for cell in bare if isinstance(cell, BenchmarkCell)]
        return {
            "network": "cifar",
            "num_classes": model.num_classes,
            "in_chans": model.in_chans,
            "channels": staged[0].channels,
            "cells": len(staged) // STAGES,
            "squeeze_excitation": False,
            "stem_channels": staged[0].channels,
        }
    cells = [cell for cell in bare if isinstance(cell, Cell)]
    imagenet = isinstance(model.stem, ImagenetStem)
    convolution = model.stem.get_submodule("quarter.3" if imagenet else "layers.0")
    assert isinstance(convolution, torch.nn.Conv2d)  # noqa: S101 - a submodule tells no type
    return {
        "network": "imagenet" if imagenet else "cifar",
        "num_classes": model.num_classes,
        "in_chans": model.in_chans,
        "channels": cells[0].channels,
        "cells": len(cells),
        "squeeze_excitation": any(isinstance(c.excitation, SqueezeExcitation) for c in cells),
        "stem_channels": convolution.out_channels,
    }


def save_model(folder: Path, model: Network, card: ModelCard) -> None:
    """Write `model.safetensors` and, last, `model.json`, each whole or not at all.

    The model may be on any device and in any memory format, and stays as it is; the file has 32-bit
    weights, without those of an auxiliary tower.
    """
    from safetensors.torch import save  # noqa: PLC0415 - needed for files alone

    weights = _plain_weights(model)
    _require_same_network(weights, card)
    content = save(weights, metadata={"format": "pt"})
    text = json.dumps(card_to_json(card, _digest(content)), indent=1, ensure_ascii=False)
    with told_as(folder):
        folder.mkdir(parents=True, exist_ok=True)
        with whole_file(folder / WEIGHTS_FILE) as file:
            file.write(content)
        with whole_file(folder / CARD_FILE) as file:
            file.write(f"{text}\n".encode())


def load_model(folder: Path | str, device: torch.device | str = "cpu") -> tuple[Network, ModelCard]:
    """The network of a folder, ready to answer, and its card."""
    folder = Path(folder)
    card, digest = read_card(folder)
    path = folder / WEIGHTS_FILE
    try:
        described = _described(card)
    except (XnasError, RuntimeError, OverflowError) as error:  # torch cannot count that far
        raise ConfigError(f"{folder / CARD_FILE} does not describe a network: {_told(error)}") from error
    weights = _read_weights(path, digest, sum(t.nbytes for t in described.values()))
    fault = _difference(weights, described)
    if fault:
        raise ConfigError(f"{path} does not fit {CARD_FILE}: {fault}; get both files of one training")
    model = _network(card)  # not before it is known to be as large as its file
    model.load_state_dict(weights)
    return model.to(device).eval(), card


def card_to_json(card: ModelCard, digest: str | None = None) -> dict[str, Any]:
    """A card as `model.json` has it; `digest` is that of the weights."""
    left_out = ("genotype", "unknown_fields")
    plain = {f.name: getattr(card, f.name) for f in fields(card) if f.name not in left_out}
    return {
        "format": FORMAT,
        "version": VERSION,
        **plain,
        "network": dict(card.network),
        "figures": dict(card.figures),
        "genotype": json.loads(card.genotype.to_json()),
        **({"weights_digest": digest} if digest else {}),
    }


def read_card(folder: Path) -> tuple[ModelCard, str | None]:
    """The card of a folder, and the digest that its weights should have."""
    path = folder / CARD_FILE
    saved = _read_json(folder)
    if saved.get("format") != FORMAT:
        raise ConfigError(f"{path} is not a trained model: its format is {brief(saved.get('format'))}")
    version = saved.get("version")
    if type(version) is not int or not 1 <= version <= VERSION:
        kind = VersionError if type(version) is int else ConfigError
        raise kind(
            f"{path} has version {brief(version)}, and this xnas reads version {VERSION}; install a "
            "newer xnas, or train again with this one"
        )
    known = {f.name for f in fields(ModelCard)} - {"unknown_fields"}
    extra = tuple(sorted(saved.keys() - known - {"format", "version", "weights_digest"}))
    try:
        card = _card({name: saved[name] for name in known if name in saved})
    except XnasError as error:
        kind = VersionError if isinstance(error, VersionError) else ConfigError
        raise kind(f"{path} cannot be used: {error}") from error
    except DAMAGE as error:
        raise ConfigError(f"{path} is damaged ({_told(error)}); get it again, or train again") from error
    digest = saved.get("weights_digest")
    return replace(card, unknown_fields=extra), digest if isinstance(digest, str) else None


def _card(saved: dict[str, Any]) -> ModelCard:
    """A card from plain values; whatever is wrong with them raises."""
    network = saved["network"]
    new = [name for name in network if name not in NETWORK_ARGUMENTS]
    if new:
        raise VersionError(
            f"its network has the setting {brief(new[0])}, which this xnas does not know; install a "
            "newer one"
        )
    for name, most in SIZES.items():
        if isinstance(network.get(name), int) and network[name] > most:
            raise ConfigError(f"its network has {name} {network[name]:.4g}; at most {most:,} are read")
    classes = tuple(saved["classes"])
    if not all(isinstance(name, str) and is_plain_text(name) for name in classes):
        raise TypeError(f"classes are {brief(classes)}")
    for name in ("trained_on", "recipe", "resize"):
        if not isinstance(saved.get(name, ""), str):
            raise TypeError(f"{name} is {brief(saved[name])}")
    plain = {
        "classes": classes,
        "size": _size(saved["size"]),
        "centre": None if saved.get("centre") is None else _size(saved["centre"]),
        "mean": tuple(float(value) for value in saved["mean"]),
        "std": tuple(float(value) for value in saved["std"]),
        "genotype": Genotype.from_json(json.dumps(saved["genotype"])),
        "figures": dict(saved.get("figures", {})),
    }
    return ModelCard(**{**saved, **plain})


def _size(saved: Any) -> tuple[int, int]:  # noqa: ANN401 - of a file
    height, width = saved
    if not all(type(side) is int and 0 < side <= LONGEST_SIDE for side in (height, width)):
        raise ConfigError(f"a size is {brief(saved)}; sides are whole numbers from 1 to {LONGEST_SIDE}")
    return height, width


def _told(error: Exception) -> str:
    """What an error says, or the beginning of it, in one line: it may quote the file."""
    words = " ".join(str(error).split())
    return f"{words[:200]}..." if len(words) > 200 else words or type(error).__name__


def _read_json(folder: Path) -> dict[str, Any]:
    path = folder / CARD_FILE
    try:
        with open_plain(path) as file:
            content = file.read(MOST_CARD_BYTES + 1)
        saved = json.loads(content) if len(content) <= MOST_CARD_BYTES else f"{len(content):,} bytes"
    except FileNotFoundError:
        what = "no such folder" if not folder.exists() else f"{CARD_FILE} is not there"
        raise ConfigError(
            f"no trained model in {folder}: {what}; give the run folder of a training that has ended"
        ) from None
    except OSError as error:
        raise ConfigError(
            f"cannot read {path}: {error.strerror}; give the run folder of a training"
        ) from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(
            f"{path} is damaged: it is not JSON ({_told(error)}); get it again, or train again"
        ) from error
    if not isinstance(saved, dict):
        raise ConfigError(f"{path} is damaged: it holds {brief(saved)}; get it again, or train again")
    return saved


def _read_weights(path: Path, digest: str | None, size: int) -> dict[str, Tensor]:
    """Tensors of a file, which may hold `size` bytes of numbers and their names."""
    from safetensors import SafetensorError  # noqa: PLC0415 - needed for files alone
    from safetensors.torch import load  # noqa: PLC0415

    most = size + MOST_HEADER_BYTES
    try:
        with open_plain(path) as file:
            length = os.fstat(file.fileno()).st_size
            content = b"" if length > most else file.read(length)
    except OSError as error:
        raise ConfigError(
            f"cannot read the weights {path}: {error.strerror}; get the file again, or train again"
        ) from error
    if not content:
        raise ConfigError(
            f"{path} is damaged: it is empty, or far larger than the network that {CARD_FILE} "
            "describes; get both files of one training"
        )
    if digest is not None and _digest(content) != digest:
        raise ConfigError(
            f"{path} is damaged, or not the file that {CARD_FILE} was written with; get both files of "
            "one training"
        )
    try:
        weights: dict[str, Tensor] = load(content)
    except (SafetensorError, RuntimeError, TypeError, ValueError, LookupError) as error:
        raise ConfigError(f"{path} is damaged ({_told(error)}); get it again, or train again") from error
    return weights


def _plain_weights(model: Network) -> dict[str, Tensor]:
    """The state dict, on the CPU, as contiguous 32-bit floats where it has floats."""
    weights = {}
    for name, tensor in model.state_dict().items():
        plain = name.replace(COMPILED, "")
        if plain.startswith(TRAINING_ONLY):
            continue
        kept = tensor.detach().to("cpu", torch.float32 if tensor.is_floating_point() else None)
        weights[plain] = kept.contiguous()
    return weights


def _require_same_network(weights: Mapping[str, Tensor], card: ModelCard) -> None:
    fault = _difference(weights, _described(card))
    if fault:
        raise ConfigError(f"the card does not describe the network: {fault}; use model_card")


def _described(card: ModelCard) -> dict[str, Tensor]:
    """The tensors of a card's network without their numbers."""
    with torch.device("meta"):
        return _network(card).state_dict()


def _network(card: ModelCard) -> Network:
    return create_model(card.genotype, **card.network)  # type: ignore[arg-type]


def _difference(given: Mapping[str, Tensor], wanted: Mapping[str, Tensor]) -> str:
    """The first tensor that is missing, superfluous, or of another shape or kind; empty if all fit."""
    for name, tensor in wanted.items():
        if name not in given:
            return f"{name} is missing"
        found = given[name]
        if found.shape != tensor.shape or found.dtype != tensor.dtype:
            kinds = [f"{tuple(t.shape)} {t.dtype}" for t in (found, tensor)]
            return f"{name} is {kinds[0]} instead of {kinds[1]}"
    extra = [name for name in given if name not in wanted]
    return f"there is no place for {brief(extra[0])}" if extra else ""


def _digest(content: bytes) -> str:
    return blake2b(content, digest_size=16).hexdigest()
