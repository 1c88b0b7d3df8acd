"""What was measured here of the systems in the paper's tables: their searches, and trainings of cells.

The numbers stand in `found_here.json` with the row of our own searches. A row of a table shows them next
to what the paper prints, with their recipe; trainings are far shorter than the paper's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xnas.paper.compared_rows import ComparedRow
from xnas.words import counted

NOT_MEASURED = "not measured"
NO_SEARCH = "none"
COMMANDS = {
    "Amoeba-A": "xnas sample --sampler evolution",
    "Amoeba-B": "xnas sample --sampler evolution",
    "ASAP": "xnas search --method asap",
    "DARTS(1nd)": "xnas search --method darts",
    "DARTS": "xnas search --method darts2",
    "DSO-NAS": "xnas search --method dso",
    "ENAS": "xnas search --method enas",
    "NAONet": "xnas sample --sampler latent",
    "NAONet-WS": "xnas sample --evaluator shared --sampler latent",
    "NASNet": "xnas sample --sampler controller",
    "PDARTS": "xnas search --method pdarts",
    "PNAS": "xnas sample --sampler progressive",
    "ProxylessNAS": "xnas search --method proxyless",
    "SharpDarts": "xnas search --method sharp",
    "SNAS": "xnas search --method snas",
    "XNAS": "xnas search",
}
"""How the search of a system runs here, by the name of the system."""
SYSTEMS = {
    "ASAP + ET": "ASAP",
    "DARTS(2nd)": "DARTS",
    "NAONet-1": "NAONet",
    "NAONet-2": "NAONet",
    "NASNet-A": "NASNet",
    "PDARTS-L": "PDARTS",
    "XNAS-Small": "XNAS",
    "XNAS-Medium": "XNAS",
    "XNAS-Large": "XNAS",
}
"""Rows that have another name than their system."""

WIDER = {"XNAS-Medium", "XNAS-Large"}
"""Rows of a cell that has a row already: its trainings, in small networks, are not theirs as well."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainedHere:
    """Trainings of one published cell on one data set."""

    cell: str
    dataset: str
    trainings: int
    error: float
    """Mean test error in percent."""
    deviation: float | None
    """Standard deviation between trainings; None for a single training."""
    recipe: str

    @property
    def text(self) -> str:
        """The error and how it was measured."""
        spread = "" if self.deviation is None else f" ± {self.deviation:.2f}"
        return f"{self.error:.2f}{spread} ({self.recipe}, {counted(self.trainings, 'training')})"


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchedHere:
    """Searches by one system, on CIFAR-10 or some of its images."""

    command: str
    searches: int
    accuracy: float
    """Mean test accuracy in percent of what they found, as the benchmark has it after 200 epochs; where
    `settings` says so, as the judge of the DARTS space estimates it."""
    deviation: float | None
    settings: str
    """What a search was: epochs, or evaluations, and its size unless it was whole."""

    @property
    def text(self) -> str:
        """The accuracy and how it was measured."""
        spread = "" if self.deviation is None else f" ± {self.deviation:.2f}"
        count = "1 search" if self.searches == 1 else f"{self.searches} searches"
        return f"{self.accuracy:.2f}{spread} ({count}, {self.settings})"


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredHere:
    """All that a table can show next to its rows."""

    trained: tuple[TrainedHere, ...] = ()
    searched: tuple[SearchedHere, ...] = ()

    def training(self, row: ComparedRow, dataset: str) -> str:
        """Test error in percent of the row's published cell, trained here."""
        if row.paper.row in WIDER:
            return NOT_MEASURED
        found = [t for t in self.trained if (t.cell, t.dataset) == (row.cell, dataset)]
        return "; ".join(t.text for t in found) or NOT_MEASURED

    def search(self, row: ComparedRow) -> str:
        """What searches by the row's system found here."""
        command = command_of(row.paper.row)
        found = [s.text for s in self.searched if s.command == command]
        return "; ".join(found) or NOT_MEASURED


def command_of(row: str) -> str:
    """The command that searches as the system of a row does; `none` if nothing here does."""
    name = row.rstrip("†")
    return COMMANDS.get(SYSTEMS.get(name, name), NO_SEARCH)


def datasets_trained(rows: Sequence[ComparedRow], measured: MeasuredHere) -> list[str]:
    """Data sets of a table on which some cell of it was trained here, in the order of the table."""
    printed = dict.fromkeys(dataset for row in rows for dataset in row.paper.errors)
    cells = {row.cell for row in rows}
    known = {t.dataset for t in measured.trained if t.cell in cells}
    return [dataset for dataset in printed if dataset in known]
