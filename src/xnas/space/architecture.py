"""The seam between a description of a network and everything that trains, saves and exports networks.

A `Genotype` is one such description. Code that only builds a network of it, or keeps it in a file, takes
an `Architecture`, so that a network of another shape needs no changes there.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Protocol

from xnas.space.genotype import Genotype
from xnas.space.zoo import genotype_file, named_genotype

if TYPE_CHECKING:
    from xnas.space.network import Network
    from xnas.space.network_spec import NetworkSpec
    from xnas.space.spaces import SpaceDefaults


class Architecture(Protocol):
    """What a final network is built of, as frozen data that is valid as soon as it exists."""

    key: ClassVar[str]
    """Its entry in `model.json`, and the name of its file in a run folder, without `.json`."""

    @property
    def origin(self) -> str:
        """Where it comes from, for messages: `the space darts`."""

    @property
    def defaults(self) -> SpaceDefaults:
        """Networks that can be built of it, with the sizes that they have by default."""

    def build(self, spec: NetworkSpec) -> Network:
        """Return a network with random weights; `build_network` checks the description before."""

    def to_json(self) -> str:
        """Return JSON text that the class reads again."""


ARCHITECTURES = {Genotype.key: Genotype}
"""The classes, by key."""


def find_architecture(cell: str | Path | Genotype) -> Architecture:
    """Return what is meant by a published cell's name, a string, a file or a run folder."""
    if isinstance(cell, Genotype):
        return cell
    return named_genotype(cell) or load_architecture(genotype_file(cell))


def run_of(cell: str | Path | Genotype) -> Path | None:
    """The run folder that `find_architecture` would take this cell from, if it is one."""
    if not isinstance(cell, str | Path) or named_genotype(cell) is not None:
        return None
    path = genotype_file(cell)
    return None if path == Path(cell) else path.parent


def load_architecture(path: Path) -> Architecture:
    """Read a file of any of the formats."""
    return Genotype.load(path)
