"""`xnas show --truth`: what a benchmark knows of a cell, and of the cell of every epoch of a search."""

from __future__ import annotations

import os.path
from dataclasses import asdict
from pathlib import Path
from shlex import quote
from textwrap import fill
from typing import Any

from xnas.benchmarks.tabular import ARCHITECTURES, COLUMNS_OF, EPOCHS, SPLITS, Data, Epochs, Split
from xnas.benchmarks.taken_apart import DRAWS, take_apart
from xnas.errors import ConfigError, GenotypeError
from xnas.records import SearchEpoch
from xnas.report.cells import TERMINAL_WIDTH
from xnas.report.tables import aligned_table
from xnas.report.truths import place_text, truth_text
from xnas.runs.cells import TRAINING_FILE
from xnas.runs.config_file import ConfigFile, images_of
from xnas.runs.metrics_file import REMEDY
from xnas.runs.run_folder import RunFolder
from xnas.runs.truth import Benchmark, JudgedCells, KnownCells, load_benchmark, recorded_cell
from xnas.space import PRESETS, Genotype, list_cells
from xnas.space.zoo import GENOTYPE_FILE, is_arch
from xnas.words import printable

METRICS_FILE = "metrics.jsonl"


def truth_lines(cell: str, genotype: Genotype, path: Path) -> str:
    """What the benchmark of a file knows of a cell, and of the epochs of the search it is taken from."""
    benchmark = load_benchmark(path, genotype.space)
    if isinstance(benchmark, KnownCells):
        lines = known_lines(benchmark, genotype)
    else:
        lines = judged_lines(benchmark, genotype)
    run = search_run(cell)
    if run is None:
        return lines
    own = _watching(run, benchmark)
    title = own.line if isinstance(own, KnownCells) else "the cell of every epoch"
    return f"{lines}\n\n{title}\n{epoch_lines(run, own)}"


def unfinished_lines(run: Path, path: Path) -> str:
    """What the benchmark of a file knows of the epochs of a search that has not ended."""
    space = ConfigFile.read(run, "search").config.get("space")
    own = _watching(run, load_benchmark(path, str(space)))
    return f"{fill(own.line, TERMINAL_WIDTH)}\n{epoch_lines(run, own)}"


def search_run(cell: str) -> Path | None:
    """The run folder that a user means by a cell, if it is that of a search with metrics."""
    if is_arch(cell) or cell in (*PRESETS, *list_cells()):
        return None
    # `os.path` says False where a name is too long or holds a NUL.
    if os.path.isfile(Path(cell) / TRAINING_FILE):  # noqa: PTH113
        return None
    return Path(cell) if os.path.isfile(Path(cell) / METRICS_FILE) else None  # noqa: PTH113


def unfinished_run(cell: str) -> Path | None:
    """The run folder that a user means by a cell, if it is that of a search that has not ended."""
    run = search_run(cell)
    return None if run is None or (run / GENOTYPE_FILE).exists() else run


def require_ended(cell: str) -> None:
    """Raise if a user means the run folder of a search that has not ended by a cell."""
    run = Path(cell)
    if is_arch(cell) or cell in (*PRESETS, *list_cells()) or os.path.exists(run / GENOTYPE_FILE):  # noqa: PTH110
        return
    try:
        ConfigFile.read(run, "search")
    except (ConfigError, OSError, ValueError):  # no such folder, or not that of a search
        return
    raise ConfigError(
        f"the search in {run} has not ended, so it has no {GENOTYPE_FILE}; xnas search --resume "
        f"{quote(str(run))} continues it"
    )


def epoch_truths(run: Path, benchmark: Benchmark) -> list[dict[str, Any]]:
    """The same as plain values, for `--json`; epochs without a recorded cell have no truth."""
    own, remedy = _watching(run, benchmark), _remedy(run)
    cells = [(record.epoch, recorded_cell(record, remedy=remedy)) for record in _epochs(run)]
    return [
        {"epoch": epoch, "truth": None if cell is None else asdict(own.truth(cell))}
        for epoch, cell in cells
    ]


def epoch_lines(run: Path, benchmark: Benchmark) -> str:
    """What a benchmark knows of the cell of every epoch, one line per epoch."""
    remedy, records = _remedy(run), _epochs(run)
    lines = [f"epoch {record.epoch:3}  {_epoch_text(record, benchmark, remedy)}" for record in records]
    return "\n".join(lines) or f"no epoch has been recorded in {printable(run / METRICS_FILE)}"


def _epochs(run: Path) -> list[SearchEpoch]:
    return list(RunFolder.open(run).metrics.records(SearchEpoch.from_json, remedy=_remedy(run)))


def _remedy(run: Path) -> str:
    """What to do about damaged metrics: only a search that has not ended restores them."""
    if (run / GENOTYPE_FILE).exists():
        return REMEDY
    return f"xnas search --resume {quote(str(run))} repairs the file from the checkpoint"


def _watching(run: Path, benchmark: Benchmark) -> Benchmark:
    """The benchmark for the data set of a run."""
    data = images_of(run)
    return benchmark if data is None else benchmark.on(Path(data).name)


def _epoch_text(record: SearchEpoch, benchmark: Benchmark, remedy: str) -> str:
    cell = recorded_cell(record, remedy=remedy)
    if cell is None and min(record.entropy.values()) == 1:
        return "no cell yet: the weights learned alone (warm-up)"
    if cell is None:
        return "the cell was not recorded, as in earlier versions"
    truth = benchmark.truth(cell)
    return f"{truth_text(truth)}, {place_text(truth)}"


def known_lines(benchmark: KnownCells, genotype: Genotype) -> str:
    """Accuracies of a cell in a table, by data set, and its rank, for the terminal."""
    table, rows = benchmark.table, []
    kinds = [(epochs, split) for epochs in reversed(EPOCHS) for split in reversed(SPLITS)]

    def accuracy(data: Data, epochs: Epochs, split: Split) -> str:
        known = table.knows(epochs, split, data)
        return f"{table.accuracy(genotype, epochs, split, data):.2f}" if known else "-"

    for data in COLUMNS_OF:
        entries = [accuracy(data, *kind) for kind in kinds]
        if any(entry != "-" for entry in entries):
            rank = f"{table.rank(genotype, data=data):,}" if table.knows(data=data) else "-"
            rows.append((data, rank, *entries))
    header = ("data set", f"rank of {ARCHITECTURES:,}", *(f"{s}, {e} epochs" for e, s in kinds))
    return f"accuracy in percent, from {benchmark.source}\n{aligned_table(header, rows)}"


def judged_lines(benchmark: JudgedCells, genotype: Genotype) -> str:
    """The judged accuracy of a cell, also against cells that share one half of it, for the terminal."""
    try:
        truth = benchmark.truth(genotype)
    except GenotypeError as error:
        raise GenotypeError(f"{error}; leave --truth out for this cell") from error
    parts = take_apart(benchmark.judge, genotype)
    rows = [
        ("found", f"{parts.found:.2f} %", ""),
        (
            "same shape, operations shuffled",
            f"{parts.shuffled:.2f} %",
            f"{parts.better_than_shuffled:.1f} %",
        ),
        (
            "same operations, shape and places drawn",
            f"{parts.drawn:.2f} %",
            f"{parts.better_than_drawn:.1f} %",
        ),
    ]
    header = (f"mean of {DRAWS} draws each", "judged accuracy", "worse than the cell")
    return "\n".join(
        [
            fill(benchmark.line, TERMINAL_WIDTH),
            f"{truth_text(truth)}, {place_text(truth)}",
            "",
            aligned_table(header, rows),
        ]
    )
