"""Models of timm as frozen data and as JSON: a name, and how its images are prepared.

    {"format": "xnas-timm", "version": 1, "model": "resnet18", "side": 96, "square": false,
     "scale": [1.1, 1.1, 1.1], "shift": [0.0, 0.1, 0.2], "weights": null}

Building one needs timm, and downloads nothing: weights to start from are in a file.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, replace
from pathlib import Path
from reprlib import repr as brief
from typing import TYPE_CHECKING, Any, ClassVar

from xnas.errors import ConfigError, GenotypeError
from xnas.model.timm_network import COLOURS, TimmNetwork
from xnas.model.timm_weights import load_body, read_weights
from xnas.space.architecture import ARCHITECTURES
from xnas.space.description_file import DescriptionFile, parse_object, require_header
from xnas.space.network_spec import NetworkSpec
from xnas.space.notations import require_keys
from xnas.space.spaces import SpaceDefaults

if TYPE_CHECKING:
    from xnas.space.network import Network

NOUN, FORMAT, VERSION = "timm", "xnas-timm", 1
NAME = re.compile(r"[a-z0-9_]{1,100}(\.[a-z0-9_]{1,100})?")
"""Of a model, with a tag that names its weights; timm reads other words as places to download from."""
SIDES = range(8, 1025)
KEYS = ("format", "version", "model", "side", "square", "scale", "shift", "weights")


@dataclass(frozen=True, slots=True)
class TimmModel(DescriptionFile):
    """A model of timm for standardised images, which it gets enlarged and standardised as it expects.

    >>> model = TimmModel("resnet18", side=96, scale=(1.0,) * 3, shift=(0.0,) * 3)
    >>> TimmModel.from_json(model.to_json()) == model
    True
    """

    key: ClassVar[str] = NOUN
    model: str
    """Its name, with or without a tag: `resnet18`, `resnet18.a1_in1k`."""
    side: int
    """The shorter side that images are enlarged to; larger ones stay as they are."""
    square: bool = False
    """Whether every image becomes `side` by `side`, for models that take no other size."""
    scale: tuple[float, ...] = (1.0,) * COLOURS
    """Factor of each channel of an image as it comes, and what is then added to it."""
    shift: tuple[float, ...] = (0.0,) * COLOURS
    weights: str | None = None
    """A .safetensors file of the model without its classifier, which `build` starts from."""

    def __post_init__(self) -> None:
        name: object = self.model
        if not isinstance(name, str) or NAME.fullmatch(name) is None:
            raise GenotypeError(f"no model of timm is called {brief(self.model)}; give a name of timm's")
        if type(self.side) is not int or self.side not in SIDES:
            raise GenotypeError(
                f"the side of images for {self.model} is {brief(self.side)}; give {SIDES[0]} to "
                f"{SIDES[-1]} pixels"
            )
        if type(self.square) is not bool:
            raise GenotypeError(f"square of {self.model} is {brief(self.square)}; give true or false")
        for name in ("scale", "shift"):
            object.__setattr__(self, name, _numbers(name, getattr(self, name)))
        if not (self.weights is None or isinstance(self.weights, str)):
            raise GenotypeError(
                f"weights of {self.model} are {brief(self.weights)}; give a file or null"
            )

    @property
    def origin(self) -> str:
        """The model, for messages."""
        return f"timm's {self.model}"

    @property
    def defaults(self) -> SpaceDefaults:
        """Its one network."""
        spec = NetworkSpec(network=NOUN, num_classes=10, channels=1, cells=1, stem_channels=1)
        return SpaceDefaults(networks={NOUN: spec}, recipe_sizes=False, least_cells=1)

    def create(self, num_classes: int) -> Any:  # noqa: ANN401 - timm's classes
        """Return the model itself with random weights."""
        try:
            import timm  # noqa: PLC0415 - optional, and slow to import
        except ImportError:
            raise ConfigError(f"{self.origin} needs timm: pip install 'xnas[timm]'") from None
        if not timm.is_model(self.model):
            raise ConfigError(
                f"timm {timm.__version__} has no model called {self.model!r}; give one of "
                "timm.list_models()"
            )
        return timm.create_model(self.model, pretrained=False, num_classes=num_classes)

    def build(self, spec: NetworkSpec) -> Network:
        """Return the network with the weights of the file, if there is one, and a random classifier."""
        network = TimmNetwork(replace(self, weights=None), spec)
        if self.weights is not None and not next(network.body.parameters()).is_meta:
            load_body(network.body, read_weights(Path(self.weights)))
        return network

    def to_json(self) -> str:
        """Return JSON text."""
        own = {name: getattr(self, name) for name in KEYS[2:]}
        return json.dumps({"format": FORMAT, "version": VERSION, **own}, indent=1) + "\n"

    @classmethod
    def from_json(cls, text: str) -> TimmModel:
        """Read what `to_json` wrote; anything else is a GenotypeError that names the fault."""
        value = parse_object(text, NOUN)
        require_header(value, NOUN, form=FORMAT, version=VERSION, again="write it again")
        require_keys(value, KEYS, "the model of timm")
        return cls(**{name: value[name] for name in KEYS[2:]})  # type: ignore[arg-type]  # checked there


def _numbers(name: str, given: object) -> tuple[float, ...]:
    numbers = tuple(given) if isinstance(given, list | tuple) else ()
    sound = all(type(one) in (int, float) and math.isfinite(one) for one in numbers)
    if len(numbers) != COLOURS or not sound:
        raise GenotypeError(f"{name} of a model of timm is {brief(given)}; give {COLOURS} numbers")
    return numbers


ARCHITECTURES[TimmModel.key] = TimmModel  # wherever `xnas.model` is imported
