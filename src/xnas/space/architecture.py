"""The seam between a description of a network and everything that trains, saves and exports networks.

A `Genotype` is one such description, a `Wiring` another. Code that only builds a network of it, or keeps
it in a file, takes an `Architecture`, so that a network of another shape needs no changes there.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Protocol, runtime_checkable

from xnas.errors import GenotypeError
from xnas.space.description_file import parse_object, read_text
from xnas.space.genotype import Genotype
from xnas.space.wiring import FORMAT as WIRING_FORMAT
from xnas.space.wiring import Wiring, is_wiring_name
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


ARCHITECTURES: dict[str, type[Genotype | Wiring]] = {
    Genotype.key: Genotype,
    Wiring.key: Wiring,
}
"""The classes, by key."""


@runtime_checkable
class Found(Protocol):
    """What a search returns: `xnas.runs.results` has them."""

    @property
    def genotype(self) -> Genotype:
        """The cell."""


def find_architecture(cell: str | Path | Genotype | Wiring | Found) -> Genotype | Wiring:
    """Return what is meant by a name, a string, a file, a run folder or what a search returned.

    Names are those of published cells, and `ws-4-0.75-0` and the like of wirings.
    """
    if isinstance(cell, Genotype | Wiring):
        return cell
    if isinstance(cell, Found) and isinstance(cell.genotype, Genotype):
        return cell.genotype
    if is_wiring_name(cell):
        return Wiring.named(str(cell))
    return named_genotype(cell) or load_architecture(genotype_file(cell))


def run_of(cell: str | Path | Genotype | Wiring | Found) -> Path | None:
    """The run folder that `find_architecture` would take this cell from, if it is one."""
    if not isinstance(cell, str | Path) or is_wiring_name(cell) or named_genotype(cell) is not None:
        return None
    path = genotype_file(cell)
    return None if path == Path(cell) else path.parent


def load_architecture(path: Path) -> Genotype | Wiring:
    """Read a file of either format; what is neither is refused as a genotype."""
    text = read_text(path, Genotype.key)
    try:
        wired = parse_object(text, Genotype.key).get("format") == WIRING_FORMAT
        return (Wiring if wired else Genotype).from_json(text)
    except GenotypeError as error:
        raise type(error)(f"{path}: {error}") from error
