"""The seam between a description of a network and everything that trains, saves and exports networks.

A `Genotype` is one such description, a `Wiring` or a `ResNet` another. Code that only builds a network
of it, or keeps it in a file, takes an `Architecture`, so that a network of another shape needs no
changes there.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Protocol, Self, runtime_checkable

from xnas.errors import GenotypeError
from xnas.space.description_file import parse_object, read_text
from xnas.space.genotype import Genotype
from xnas.space.resnet import ResNet
from xnas.space.wiring import Wiring
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


class Readable(Architecture, Protocol):
    """An architecture that is read from files."""

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read what `to_json` wrote; anything else is a GenotypeError."""

    @classmethod
    def load(cls, path: Path | str) -> Self:
        """Read a file."""


class Named(Readable, Protocol):
    """An architecture that has names of its own kind: `ws-4-0.75-0`, `resnet-20`."""

    @staticmethod
    def is_name(cell: object) -> bool:
        """Whether a cell is given by such a name."""

    @classmethod
    def named(cls, name: str) -> Self:
        """The architecture of a name."""


ARCHITECTURES: dict[str, type[Readable]] = {
    Genotype.key: Genotype,
    Wiring.key: Wiring,
    ResNet.key: ResNet,
}
"""The classes, by key. A layer below may add one, with its names to those of `NAMED`."""
NAMED: list[type[Named]] = [Wiring, ResNet]
"""Those that have names."""


@runtime_checkable
class Found(Protocol):
    """What a search returns: `xnas.runs.results` has them."""

    @property
    def genotype(self) -> Genotype:
        """The cell."""


def find_architecture(cell: str | Path | Architecture | Found) -> Architecture:
    """Return what is meant by a name, a string, a file, a run folder or what a search returned.

    Names are those of published cells, `ws-4-0.75-0` and the like of wirings, and `resnet-20` of
    residual networks.
    """
    if isinstance(cell, tuple(ARCHITECTURES.values())):
        return cell  # type: ignore[return-value]  # mypy cannot see which classes these are
    if isinstance(cell, Found) and isinstance(cell.genotype, Genotype):
        return cell.genotype
    kind = kind_of_name(cell)
    if kind is not None:
        return kind.named(str(cell))
    return named_genotype(cell) or load_architecture(genotype_file(cell))  # type: ignore[arg-type]  # refuses others


def kind_of_name(cell: object) -> type[Named] | None:
    """The kind of architecture that a name is of; None for cells, files and all else."""
    return next((kind for kind in NAMED if kind.is_name(cell)), None)


def run_of(cell: str | Path | Architecture | Found) -> Path | None:
    """The run folder that `find_architecture` would take this cell from, if it is one."""
    if not isinstance(cell, str | Path) or kind_of_name(cell) or named_genotype(cell) is not None:
        return None
    path = genotype_file(cell)
    return None if path == Path(cell) else path.parent


def load_architecture(path: Path) -> Architecture:
    """Read a file of any format; what is none of them is refused as a genotype."""
    text = read_text(path, Genotype.key)
    try:
        form = str(parse_object(text, Genotype.key).get("format"))
        return ARCHITECTURES.get(form.removeprefix("xnas-"), Genotype).from_json(text)
    except GenotypeError as error:
        raise type(error)(f"{path}: {error}") from error
