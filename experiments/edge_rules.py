"""Rules for keeping edges, tried on recorded searches: what the judge says of the cells that they give.

    python experiments/edge_rules.py records.tar.gz [MORE.tar.gz ...] --truth CELLS.csv

Reads what `recorded_searches.py` collected. Operations are always chosen by their sums of rewards;
each rule decides which two edges a node keeps. The first table has judged accuracies by epoch, next to
the mean of draws of edges with the same operations on every edge. The second has what each rule gains
on those draws. The third takes the last cells apart. `--window N` counts rewards of the last N epochs
alone, for operations and edges; shares are of all epochs. Nothing here needs a GPU.
"""

from __future__ import annotations

import json
import tarfile
from argparse import ArgumentParser
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jobs import ROOT, Record, script
from xnas.benchmarks import SurrogateBenchmark
from xnas.benchmarks.taken_apart import take_apart
from xnas.space import SPACES, Genotype
from xnas.space.genotype import CellGenotype, Edge

SPACE = SPACES["darts"]
EVERY = 5  # epochs between two that are looked at
DRAWS = 200
Numbers = NDArray[np.float64]
Rule = Callable[[Record, str], Numbers | None]
"""How strong each edge of a kind of cell is, from the record of an epoch; None if not recorded."""


def _sums(record: Record, kind: str) -> Numbers:
    return np.array(record["sums"][kind])


def _absence(name: str) -> Rule:
    """What the absence of edges costs: of one epoch in `absence`, summed over epochs in `edge_costs`."""

    def costs(record: Record, kind: str) -> Numbers | None:
        known = {"alone": record.get("edge_costs")} | (record.get("absence") or {})
        return np.array(known[name][kind]) if known.get(name) else None

    return costs


RULES: dict[str, Rule] = {
    "share": lambda record, kind: np.array(record["mixture"][kind]).max(-1),
    "lead": lambda record, kind: np.diff(np.sort(_sums(record, kind))[:, -2:])[:, 0],
    "best expert's sum": lambda record, kind: _sums(record, kind).max(-1),
    "all experts' sums": lambda record, kind: _sums(record, kind).sum(-1),
    "absence": _absence("mixture"),
    "absence, one expert each": _absence("alone"),
}


def cell_by(record: Record, strengths: Mapping[str, Numbers]) -> Genotype:
    """The cell that keeps the two strongest edges of each node, with the operations of largest sums."""
    cells = []
    for kind in SPACE.kinds:
        best = _sums(record, kind).argmax(-1)
        nodes = []
        for node in SPACE.node_numbers:
            edges = [(place, source) for place, (source, n) in enumerate(SPACE.edges) if n == node]
            edges.sort(key=lambda edge: -strengths[kind][edge[0]])
            kept = sorted(edges[:2], key=lambda edge: edge[1])
            nodes.append(tuple(Edge(SPACE.operations[best[place]], source) for place, source in kept))
        cells.append(CellGenotype(tuple(nodes), SPACE.concat))
    return Genotype(SPACE.name, *cells)


def by_rules(record: Record) -> dict[str, Genotype]:
    """The cell of every rule that the record can answer."""
    found = {}
    for name, rule in RULES.items():
        strengths = {str(kind): rule(record, kind) for kind in SPACE.kinds}
        known = {kind: values for kind, values in strengths.items() if values is not None}
        if len(known) == len(strengths):
            found[name] = cell_by(record, known)
    return found


def drawn_cells(record: Record, draws: int = DRAWS) -> list[Genotype]:
    """Cells with drawn edges, the same operations on every edge."""
    draw = np.random.default_rng(0)
    count = len(SPACE.edges)
    return [cell_by(record, {k: draw.random(count) for k in SPACE.kinds}) for _ in range(draws)]


def read_searches(archives: Sequence[Path]) -> dict[str, list[Record]]:
    """Header and epochs of each search, by its name; of archives of the same search the longest."""
    found: dict[str, list[Record]] = {}
    for path in archives:
        with tarfile.open(path) as archive:
            for name in archive.getnames():
                file = archive.extractfile(name) if name.endswith(".jsonl") else None
                if file is None:
                    continue
                lines = [json.loads(line) for line in file.read().decode().splitlines()]
                if len(lines) > len(found.get(name.removesuffix(".jsonl"), [])):
                    found[name.removesuffix(".jsonl")] = lines
    return {name: found[name] for name in sorted(found)}


def read_records(archives: Sequence[Path]) -> dict[str, list[Record]]:
    """Epochs of each search that has played any."""
    searches = read_searches(archives)
    return {name: lines[1:] for name, lines in searches.items() if len(lines) > 1}


def windowed(records: Sequence[Record], window: int) -> list[Record]:
    """The same records with sums, before clipping, of the last `window` epochs of each."""
    found = []
    for index, record in enumerate(records):
        recent = records[max(0, index + 1 - window) : index + 1]
        sums = {k: sum(np.array(r["paid"][k]).sum(0) for r in recent) for k in record["sums"]}
        found.append(record | {"sums": sums})
    return found


def judged(judge: SurrogateBenchmark, records: Sequence[Record]) -> list[dict[str, Any]]:
    """Judged accuracies by epoch: drawn edges, and every rule."""
    rows = []
    for record in records:
        if record["epoch"] % EVERY and record is not records[-1]:
            continue
        cells = by_rules(record)
        row: dict[str, Any] = {
            "epoch": record["epoch"],
            "drawn": mean(judge.accuracies(drawn_cells(record))),
            "search's own cell": judge.accuracy(Genotype.from_json(json.dumps(record["cell"]))),
        }
        rows.append(row | dict(zip(cells, judge.accuracies(list(cells.values())), strict=True)))
    return rows


def gains(rows_by_search: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[dict[str, Any]]:
    """What each rule has more than drawn edges, mean over epochs, by search."""
    table = []
    for name, rows in rows_by_search.items():
        line: dict[str, Any] = {"search": name}
        for rule in RULES:
            differences = [row[rule] - row["drawn"] for row in rows if rule in row]
            line[rule] = f"{mean(differences):+.2f}" if differences else ""
        table.append(line)
    return table


def apart(judge: SurrogateBenchmark, name: str, record: Record) -> list[dict[str, Any]]:
    """The cell of every rule, taken apart."""
    rows = []
    for rule, cell in by_rules(record).items():
        seen = take_apart(judge, cell)
        operations = [edge.operation for node in cell.normal.nodes for edge in node]
        rows.append(
            {
                "search": name,
                "edges kept by": rule,
                "found": round(seen.found, 2),
                "same shape, operations shuffled": round(seen.shuffled, 2),
                "same operations, shape drawn": round(seen.drawn, 2),
                "better than % of the shuffled": round(seen.better_than_shuffled),
                "better than % of the drawn": round(seen.better_than_drawn),
                "normal cell": ", ".join(
                    f"{operations.count(o)} {o}" for o in SPACE.operations if o in operations
                ),
            }
        )
    return rows


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows as a table of Markdown; columns are those of any row."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    lines = [names, ["---"] * len(names)]
    lines += [[_told(row.get(name, "")) for name in names] for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _told(value: object) -> str:
    return f"{value:.2f}" if isinstance(value, float) else str(value)


def main() -> int:
    """Print the tables, and write them as JSON."""
    parser = ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("archives", type=Path, nargs="+", help="records.tar.gz of recorded searches")
    parser.add_argument("--truth", type=Path, required=True, help="CSV of cells with their accuracies")
    parser.add_argument("--out", type=Path, default=ROOT / "runs" / "edge_rules.json")
    parser.add_argument("--window", type=int, help="count rewards of so many epochs; by default all")
    arguments = parser.parse_args()
    judge = SurrogateBenchmark.load(arguments.truth)
    searches = read_records(arguments.archives)
    if arguments.window is not None:
        searches = {name: windowed(lines, arguments.window) for name, lines in searches.items()}
    rows = {name: judged(judge, records) for name, records in searches.items()}
    pieces = [row for name, records in searches.items() for row in apart(judge, name, records[-1])]
    by_epoch = [{"search": name, **row} for name, found in rows.items() for row in found]
    found = {"judged": by_epoch, "gains": gains(rows), "taken apart": pieces}
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf8")
    print("\n\n".join(table(part) for part in found.values()))
    return 0


if __name__ == "__main__":
    script(main)
