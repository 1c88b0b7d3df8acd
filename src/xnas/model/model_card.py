"""The card of a trained network, `model.json`: everything but its weights."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from pathlib import Path
from reprlib import repr as brief
from typing import Any

from xnas.data import Images
from xnas.data.consistency import is_plain_text
from xnas.data.sizes import require_resize
from xnas.errors import ConfigError, DamagedFileError, VersionError, XnasError
from xnas.files import open_plain
from xnas.space import Architecture, Genotype, Network, NetworkSpec, Wiring
from xnas.space.architecture import ARCHITECTURES
from xnas.words import short

FORMAT, VERSION = "xnas-model", 3
"""Version 1 has a genotype, version 2 a wiring, version 3 another architecture."""
VERSIONS = {Genotype.key: 1, Wiring.key: 2}
CARD_FILE = "model.json"
DAMAGE = (TypeError, ValueError, LookupError, AttributeError, ArithmeticError, RecursionError)
"""What values of the wrong kind raise."""
MOST_CARD_BYTES = 1 << 26  # of model.json; names of 20,000 classes take a million
LONGEST_SIDE = 4096  # of images that a network is given, in pixels


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelCard:
    """Everything needed to build a trained network and to prepare images for it."""

    architecture: Architecture
    """In the file under its own key."""
    network: NetworkSpec
    """How the network is built, without the parts that only training uses."""
    classes: tuple[str, ...]
    size: tuple[int, int]
    """Height and width in pixels that images are resized to."""
    resize: str = "crop"
    """How images of other proportions are resized: crop, pad or stretch."""
    centre: tuple[int, int] | None = None
    """Height and width of the centre crop after that; None crops nothing."""
    mean: tuple[float, ...]
    """Mean of each channel, in 0..1, which images are standardised with."""
    std: tuple[float, ...]
    trained_on: str
    """Name of the data."""
    recipe: str
    seed: int
    figures: Mapping[str, float] = field(default_factory=dict)
    """Numbers such as the test accuracy, by name."""
    unknown_fields: tuple[str, ...] = ()
    """Fields of the file that this version does not know and ignores."""

    def __post_init__(self) -> None:
        for name, length, wanted in (
            ("classes", len(self.classes), self.network.num_classes),
            ("mean", len(self.mean), self.network.in_chans),
            ("std", len(self.std), self.network.in_chans),
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
        """Height and width of the network's input."""
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
        architecture=model.architecture,
        network=model.spec.for_inference,
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


def card_to_json(card: ModelCard, digest: str | None = None) -> dict[str, Any]:
    """A card as `model.json` has it; `digest` is that of the weights."""
    left_out = ("architecture", "unknown_fields")
    plain = {f.name: getattr(card, f.name) for f in fields(card) if f.name not in left_out}
    return {
        "format": FORMAT,
        "version": VERSIONS.get(card.architecture.key, VERSION),
        **plain,
        "network": card.network.to_json(),
        "figures": dict(card.figures),
        card.architecture.key: json.loads(card.architecture.to_json()),
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
    known = {f.name for f in fields(ModelCard)} - {"architecture", "unknown_fields"} | {*ARCHITECTURES}
    _require_entries(path, saved)
    extra = tuple(sorted(saved.keys() - known - {"format", "version", "weights_digest"}))
    try:
        card = _card({name: saved[name] for name in known if name in saved})
    except XnasError as error:
        if isinstance(error, VersionError):
            raise VersionError(f"{path} cannot be used: {error}") from error
        raise ConfigError(f"{path} cannot be used: {error}; get it again, or train again") from error
    except DAMAGE as error:
        raise DamagedFileError(
            f"{path} is damaged ({short(error)}); get it again, or train again"
        ) from error
    digest = saved.get("weights_digest")
    return replace(card, unknown_fields=extra), digest if isinstance(digest, str) else None


def _require_entries(path: Path, saved: dict[str, Any]) -> None:
    """Raise if an entry without a default is missing."""
    for entry in fields(ModelCard):
        optional = entry.default is not MISSING or entry.default_factory is not MISSING
        names = tuple(ARCHITECTURES) if entry.name == "architecture" else (entry.name,)
        if not optional and saved.keys().isdisjoint(names):
            raise DamagedFileError(
                f"{path} is damaged: the entry {names[0]!r} is missing; get it again, or train again"
            )


def _card(saved: dict[str, Any]) -> ModelCard:
    """A card from plain values; raises if one of them is wrong."""
    (key,) = saved.keys() & ARCHITECTURES.keys()  # a ValueError is damage
    network = NetworkSpec.from_json(saved["network"])
    classes = tuple(saved["classes"])
    if not all(isinstance(name, str) and is_plain_text(name) for name in classes):
        raise TypeError(f"classes are {brief(classes)}")
    for name in ("trained_on", "recipe", "resize"):
        if not isinstance(saved.get(name, ""), str):
            raise TypeError(f"{name} is {brief(saved[name])}")
    plain = {
        "network": network,
        "classes": classes,
        "size": _size(saved["size"]),
        "centre": None if saved.get("centre") is None else _size(saved["centre"]),
        "mean": tuple(float(value) for value in saved["mean"]),
        "std": tuple(float(value) for value in saved["std"]),
        "architecture": ARCHITECTURES[key].from_json(json.dumps(saved.pop(key))),
        "figures": dict(saved.get("figures", {})),
    }
    return ModelCard(**{**saved, **plain})


def _size(saved: Any) -> tuple[int, int]:  # noqa: ANN401 - of a file
    height, width = saved
    if not all(type(side) is int and 0 < side <= LONGEST_SIDE for side in (height, width)):
        raise ConfigError(f"a size is {brief(saved)}; sides are whole numbers from 1 to {LONGEST_SIDE}")
    return height, width


def _read_json(folder: Path) -> dict[str, Any]:
    path = folder / CARD_FILE
    try:
        with open_plain(path) as file:
            content = file.read(MOST_CARD_BYTES + 1)
        saved = json.loads(content) if len(content) <= MOST_CARD_BYTES else f"{len(content):,} bytes"
    except FileNotFoundError:
        what = "no such folder" if not folder.exists() else f"{CARD_FILE} is not there"
        inner = min(folder.glob(f"*/{CARD_FILE}"), default=None)  # of a set of trainings
        such = "" if inner is None else f", such as {inner.parent}"
        raise ConfigError(
            f"no trained model in {folder}: {what}; give the run folder of a training that has "
            f"ended{such}"
        ) from None
    except OSError as error:
        raise ConfigError(
            f"cannot read {path}: {error.strerror}; give the run folder of a training"
        ) from error
    except (ValueError, RecursionError) as error:
        raise DamagedFileError(
            f"{path} is damaged: it is not JSON ({short(error)}); get it again, or train again"
        ) from error
    if not isinstance(saved, dict):
        raise DamagedFileError(
            f"{path} is damaged: it holds {brief(saved)}; get it again, or train again"
        )
    return saved
