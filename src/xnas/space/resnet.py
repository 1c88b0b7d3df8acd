"""Residual networks as frozen data and as JSON, by the names that people know: `resnet-20`.

    {"format": "xnas-resnet", "version": 1, "blocks": [3, 3, 3]}

The depth counts layers with weights: 6 n + 2 for three stages of n blocks.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from reprlib import repr as brief
from typing import TYPE_CHECKING, ClassVar

from xnas.errors import ConfigError, GenotypeError
from xnas.space.description_file import DescriptionFile, parse_object, require_header
from xnas.space.network_spec import NetworkSpec
from xnas.space.notations import require_keys
from xnas.space.resnet_network import USUAL_CHANNELS, ResidualNetwork
from xnas.space.spaces import SpaceDefaults

if TYPE_CHECKING:
    from xnas.space.network import Network

NOUN, FORMAT, VERSION = "resnet", "xnas-resnet", 1
NAME = re.compile(r"resnet-(\d{1,4})")
STAGES = 3  # of the paper's networks for CIFAR
MOST_STAGES, MOST_BLOCKS = 5, 200


@dataclass(frozen=True, slots=True)
class ResNet(DescriptionFile):
    """The stages of a residual network.

    >>> ResNet.named("resnet-20").blocks
    (3, 3, 3)
    >>> ResNet.from_json(ResNet((1, 2)).to_json())
    ResNet(blocks=(1, 2))
    """

    key: ClassVar[str] = NOUN
    blocks: tuple[int, ...]
    """Basic blocks of every stage."""

    def __post_init__(self) -> None:
        given: object = self.blocks
        blocks = tuple(given) if isinstance(given, list | tuple) else ()
        whole = all(type(count) is int and 1 <= count <= MOST_BLOCKS for count in blocks)
        if not 1 <= len(blocks) <= MOST_STAGES or not whole:
            raise GenotypeError(
                f"the blocks of the residual network are {brief(self.blocks)}; give those of 1 to "
                f"{MOST_STAGES} stages, from 1 to {MOST_BLOCKS} each"
            )
        object.__setattr__(self, "blocks", blocks)

    @staticmethod
    def is_name(cell: object) -> bool:
        """Whether a cell is given as the name of a residual network: `resnet-20`."""
        return isinstance(cell, str) and NAME.fullmatch(cell) is not None

    @classmethod
    def named(cls, name: str) -> ResNet:
        """The network of three equal stages that has so many layers, as in `resnet-20`."""
        found = NAME.fullmatch(name)
        blocks, rest = divmod(int(found[1]) - 2, 2 * STAGES) if found else (0, 0)
        if rest or not 1 <= blocks <= MOST_BLOCKS:
            raise ConfigError(
                f"no residual network is called {name!r}; the depth is 6 n + 2, as in resnet-8, "
                "resnet-14 and resnet-20"
            )
        return cls((blocks,) * STAGES)

    @property
    def origin(self) -> str:
        """The stages, for messages."""
        return f"a residual network of {' + '.join(map(str, self.blocks))} blocks"

    @property
    def defaults(self) -> SpaceDefaults:
        """Its one network, with the size that it has by default."""
        stages, channels = len(self.blocks), USUAL_CHANNELS
        spec = NetworkSpec(num_classes=10, channels=channels, cells=stages, stem_channels=channels)
        return SpaceDefaults(
            networks={"cifar": spec}, recipe_sizes=False, least_cells=stages, cells_unit="stages"
        )

    def build(self, spec: NetworkSpec) -> Network:
        """Return the network with random weights; `build_network` checks `spec` before."""
        return ResidualNetwork(self, spec)

    def to_json(self) -> str:
        """Return JSON text."""
        value = {"format": FORMAT, "version": VERSION, "blocks": self.blocks}
        return json.dumps(value, indent=1) + "\n"

    @classmethod
    def from_json(cls, text: str) -> ResNet:
        """Read what `to_json` wrote; anything else is a GenotypeError that names the fault."""
        value = parse_object(text, NOUN)
        require_header(value, NOUN, form=FORMAT, version=VERSION, again="write it again")
        require_keys(value, ("format", "version", "blocks"), "the residual network")
        return cls(value["blocks"])  # type: ignore[arg-type]  # checked there
