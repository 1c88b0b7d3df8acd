"""Published cells by name, each a data file with its source and with what the paper prints for it.

The files are in `cells/`. A cell may be in several rows of the paper's tables, with networks of
different sizes, and in none; a row may have several cells that claim to be its.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from reprlib import repr as brief
from typing import Any

from xnas.errors import ConfigError, GenotypeError, UnknownNameError
from xnas.registry import known_names
from xnas.space.genotype import Genotype
from xnas.space.network import NETWORKS
from xnas.space.network_spec import NetworkSpec
from xnas.space.wiring import Wiring

FORMAT, VERSION = "xnas-cell", 1
GENOTYPE_FILE = "genotype.json"
OTHER_FILES = ("wiring.json", "resnet.json", "timm.json")
"""What the run folder of a training has in its place if it trained a network without cells."""
PRESETS = {"xnas_small": 36, "xnas_medium": 44, "xnas_large": 50}
"""The paper's three CIFAR networks of its cell (Sec. 4.2), by the channels of their first cell."""


@dataclass(frozen=True, slots=True)
class PaperRow:
    """One row of the paper's Tables 1 to 3, as printed, and the network its parameters belong to."""

    table: int
    line: int
    """From 1, in the order of the table."""
    row: str
    errors: dict[str, float]
    """Test error in percent, by dataset."""
    parameters: float | None
    """In millions."""
    search_cost: float | None
    """In GPU days."""
    network: NetworkSpec | None = None
    """The network that the row's parameters belong to; None if it is no cell."""
    note: str = ""
    """Why our numbers differ, or why there are none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedNetwork:
    """A network of a published cell, and its size."""

    cell: str
    spec: NetworkSpec
    parameters: int
    macs: int | None
    """Multiply-accumulates of one image; None if they were not counted."""


@dataclass(frozen=True, slots=True)
class ZooCell:
    """A published cell."""

    name: str
    title: str
    source: str
    note: str
    genotype: Genotype
    depth: float
    sizes: tuple[CountedNetwork, ...]
    """Counted by this software."""
    paper: tuple[PaperRow, ...]
    paper_depth: tuple[str, float] | None
    """Row and depth in Table 4, if the cell is the one it names."""


def list_cells() -> list[str]:
    """Return the names of the published cells.

    >>> "xnas" in list_cells(), "darts_v2" in list_cells()
    (True, True)
    """
    return sorted(file.name.removesuffix(".json") for file in _folder().iterdir())


@cache
def zoo_cell(name: str) -> ZooCell:
    """Return the published cell of that name, with its source and its numbers."""
    if name not in list_cells():
        raise UnknownNameError(f"no cell called {name!r}; {known_names(name, list_cells())}")
    value = json.loads((_folder() / f"{name}.json").read_text(encoding="utf8"))
    if (value["format"], value["version"]) != (FORMAT, VERSION):
        raise GenotypeError(f"the data file of {name} is of another version of xnas; install it again")
    depth = value["paper_depth"]
    return ZooCell(
        name=name,
        title=value["title"],
        source=value["source"],
        note=value["note"],
        genotype=Genotype.from_json(json.dumps(value["genotype"])),
        depth=value["depth"],
        sizes=tuple(
            CountedNetwork(cell=name, spec=_spec(size.pop("network")), **size) for size in value["sizes"]
        ),
        paper=tuple(PaperRow(**row | {"network": _spec(row["network"])}) for row in value["paper"]),
        paper_depth=(depth["row"], depth["depth"]) if depth else None,
    )


def other_systems() -> tuple[PaperRow, ...]:
    """Rows of the paper's tables without a cell that could be built, each with the reason."""
    text = (files("xnas.space") / "other_systems.json").read_text(encoding="utf8")
    return tuple(PaperRow(**row) for row in json.loads(text)["rows"])


def find_genotype(cell: str | Path | Genotype) -> Genotype:
    """Return the genotype of a published cell's name, a string, a file or a run folder."""
    if isinstance(cell, Genotype):
        return cell
    return named_genotype(cell) or Genotype.load(genotype_file(cell))


def named_genotype(cell: str | Path) -> Genotype | None:
    """The genotype of a published cell's name or of a string; None for what could be a file."""
    if str(cell) in PRESETS:
        return zoo_cell("xnas").genotype
    if not isinstance(cell, str | Path):
        raise ConfigError(f"a cell is a name, a Genotype or a path, got {brief(cell)}")
    if str(cell) in list_cells():
        return zoo_cell(str(cell)).genotype
    if is_arch(cell):
        return Genotype.from_arch(cell)
    return None


def is_arch(cell: str | Path) -> bool:
    """Whether a cell is given as NAS-Bench-201's string, which begins with a bar."""
    return isinstance(cell, str) and cell.startswith("|")


def genotype_file(cell: str | Path) -> Path:
    """The file that is meant: the one given, or the genotype or the like in a run folder."""
    path, names = Path(cell), (*list_cells(), *PRESETS)
    try:
        is_folder, exists = path.is_dir(), path.exists()
    except OSError as error:  # no file can have such a name, or the way to it is closed
        raise GenotypeError(
            f"cannot read {brief(str(cell))}: {error.strerror}; give another file"
        ) from error
    if not str(cell):
        raise UnknownNameError(f"no cell was named; {known_names('', names)}")
    if is_folder:
        for name in (GENOTYPE_FILE, *OTHER_FILES):
            if (path / name).exists():
                return path / name
        raise GenotypeError(
            f"no {GENOTYPE_FILE} in {path}; give a genotype, or the folder of a search that has ended"
        )
    if not exists and path.suffix != ".json" and len(path.parts) <= 1:
        form = Wiring.form_of(str(cell))
        if form is not None:
            raise UnknownNameError(
                f"no cell, file, run folder or wiring called {str(cell)!r}; a wiring is called {form}, "
                "in small letters with plain numbers, and with -regular at its end if it has four stages"
            )
        known = known_names(str(cell), names)
        raise UnknownNameError(f"no cell, file or run folder called {str(cell)!r}; {known}")
    return path


def _spec(given: dict[str, Any]) -> NetworkSpec:
    """The network that a data file describes by what differs from the paper's."""
    changes = dict(given)
    return NETWORKS[changes.pop("network")].but(**changes)


def _folder() -> Path:
    folder = files("xnas.space") / "cells"
    assert isinstance(folder, Path)  # noqa: S101 - the package is installed as files
    return folder
