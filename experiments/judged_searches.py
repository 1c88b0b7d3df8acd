"""What the cells of every recorded search are worth: judged (DARTS space) or known (NAS-Bench-201).

    python experiments/judged_searches.py ARCHIVE ... --truth CELLS.csv --table NASBENCH201.csv

Reads what `recorded_searches.py` collected and writes `results/judged_searches.json`, one entry per
search, whether it went well or not. A search is named by its file in the archive. Its guards are those
of its settings, because a variant's name may have meant something else on the day it was played.

An entry has the accuracy of the search's own cell at some epochs. During a warm-up all sums are zero and
there is no cell, so epochs up to its end are left out. The last cell of the DARTS space is also taken
apart. Without wipeout, cells with the same operations and edges kept by other rules are judged as well.
`rewards` is how large rewards were in each epoch. Nothing here needs a GPU.
"""

from __future__ import annotations

import json
from argparse import ArgumentParser
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np

from edge_rules import by_rules, cell_by, drawn_cells, read_searches
from jobs import ROOT, Record, script
from xnas.benchmarks import SurrogateBenchmark, TabularBenchmark
from xnas.benchmarks.taken_apart import take_apart
from xnas.space import SPACES, Genotype
from xnas.space.genotype import CellGenotype
from xnas.space.parent import IDENTITY

DARTS = SPACES["darts"].name
EVERY = 5  # epochs between two that are looked at
FEW = "few"
FEW_EPOCHS = (20, 30, 50, 70, 90, 100)
"""Looked at in searches of few images; the least accuracy is that of the first of these or later."""
DIGITS = 4
DRAWN, INPUTS = "drawn edges", "the two inputs"


def guards(header: Record, space: str) -> Record:
    """What a search of this space was guarded with."""
    settings, given = header["settings"], header["guards"]
    by_absence = settings.get("absence_batches", 0) > 0
    return {
        "skip_dropout": settings["skip_dropout"][0],
        "expert_dropout": settings["expert_dropout"],
        "best_temperature": settings["best_temperature"],
        "warmup_epochs": settings.get("warmup_epochs", 0),
        "edges": "absence" if by_absence else "share" if space == DARTS else "all",
        "auto_augment": "balance" if given["balance"] else "always" if given["auto_augment"] else "no",
        "wipeout": given.get("wipeout", False),
    }


def own_cell(epoch: Record) -> Genotype:
    """The cell that the search would give after this epoch."""
    return Genotype.from_json(json.dumps(epoch["cell"]))


def reward_size(epoch: Record, kind: str) -> float:
    """How far apart operations are paid in a round: root mean square over edges and operations.

    Rewards are means over the rounds of the epoch, summed over the cells that share a mixture, each less
    the mean of its edge, as only differences between operations of an edge change a mixture.
    """
    paid = np.array(epoch["paid"][kind]).sum(0) / epoch["rounds"]
    centred = paid - paid.mean(-1, keepdims=True)
    return float(f"{np.sqrt((centred**2).mean()):.3g}")


def with_cells(epochs: Sequence[Record], warmup: int) -> list[Record]:
    """The epochs after which there is a cell."""
    return [epoch for epoch in epochs if epoch["epoch"] > warmup]


def looked_at(size: str, epochs: Sequence[Record]) -> list[Record]:
    """Those of the epochs that are reported: the last one and some before it."""
    chosen = FEW_EPOCHS if size == FEW else range(EVERY, epochs[-1]["epoch"] + 1, EVERY)
    return [epoch for epoch in epochs if epoch["epoch"] in chosen or epoch is epochs[-1]]


def judged(judge: SurrogateBenchmark, size: str, epochs: Sequence[Record]) -> Record:
    """Judged accuracies by epoch, and the last cell taken apart."""
    seen, cell = looked_at(size, epochs), own_cell(epochs[-1])
    accuracies = judge.accuracies([own_cell(epoch) for epoch in seen])
    return {
        "judged": {str(e["epoch"]): _round(a) for e, a in zip(seen, accuracies, strict=True)},
        "error": _round(judge.error(cell)),
        "taken_apart": {k: _round(v) for k, v in asdict(take_apart(judge, cell)).items()},
        "normal": _words(cell.normal),
        "reduction": _words(cell.reduction),
    }


def by_edge_rule(judge: SurrogateBenchmark, epoch: Record) -> dict[str, float]:
    """Judged accuracies of cells with the same operations on every edge, edges kept by each rule.

    Not for a search with wipeout: survivors have a share of 1 at the end, and rules by shares are ties.
    Always keeping the cell's two inputs is a rule that learns nothing; the judge likes shallow cells.
    """
    near = np.array([-float(source) for source, _ in SPACES[DARTS].edges])
    rules = by_rules(epoch) | {INPUTS: cell_by(epoch, dict.fromkeys(SPACES[DARTS].kinds, near))}
    found = dict(zip(rules, judge.accuracies(list(rules.values())), strict=True))
    found[DRAWN] = mean(judge.accuracies(drawn_cells(epoch)))
    return {name: _round(accuracy) for name, accuracy in found.items()}


def known(table: TabularBenchmark, size: str, epochs: Sequence[Record]) -> Record:
    """Test accuracies by epoch, and the last cell."""
    cell = own_cell(epochs[-1])
    accuracies = {e["epoch"]: _round(table.accuracy(own_cell(e))) for e in epochs}
    found: Record = {
        "true": {str(e["epoch"]): accuracies[e["epoch"]] for e in looked_at(size, epochs)},
        "arch": cell.arch,
        "skips": sum(edge.operation == IDENTITY for node in cell.normal.nodes for edge in node),
    }
    if size == FEW:
        late = {number: a for number, a in accuracies.items() if number >= FEW_EPOCHS[0]}
        worst = min(late, key=lambda number: late[number])
        found["least"] = {"epoch": worst, "true": late[worst]}
    return found


def entry(
    name: str, lines: Sequence[Record], judge: SurrogateBenchmark, table: TabularBenchmark
) -> Record:
    """What is reported of one search."""
    header, *epochs = lines
    size, _, rest = name.partition("-")
    variant, _, seed = rest.rpartition("-")
    if int(seed) != header["seed"]:
        raise SystemExit(f"{name} was played with seed {header['seed']}; give its file another name")
    found: Record = {
        "search": name,
        "size": size,
        "variant": variant,
        "seed": header["seed"],
        "epochs": header["settings"]["epochs"],
        "played": len(epochs),
    }
    if not epochs:
        return found
    space = own_cell(epochs[-1]).space
    found |= {"space": space, "guards": guards(header, space)}
    found["rewards"] = {
        kind: [reward_size(epoch, kind) for epoch in epochs] for kind in sorted(epochs[-1]["paid"])
    }
    if after := with_cells(epochs, found["guards"]["warmup_epochs"]):
        found |= judged(judge, size, after) if space == DARTS else known(table, size, after)
    if space == DARTS and after and not found["guards"]["wipeout"]:
        found["by_edge_rule"] = by_edge_rule(judge, after[-1])
    return found


def _words(cell: CellGenotype | None) -> str:
    edges = [edge for node in cell.nodes for edge in node] if cell else []
    return " ".join(f"{edge.operation}:{edge.source}" for edge in edges)


def _round(value: float) -> float:
    return round(float(value), DIGITS)


def main(words: Sequence[str] | None = None) -> int:
    """Read, judge and write."""
    parser = ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("archives", type=Path, nargs="+", help="archives of recorded searches")
    parser.add_argument("--truth", type=Path, required=True, help="CSV of DARTS cells with accuracies")
    parser.add_argument("--table", type=Path, required=True, help="CSV of NAS-Bench-201")
    parser.add_argument("--out", type=Path, default=ROOT / "results" / "judged_searches.json")
    arguments = parser.parse_args(words)
    judge = SurrogateBenchmark.load(arguments.truth)
    table = TabularBenchmark.load(arguments.table)
    found: list[dict[str, Any]] = []
    for name, lines in read_searches(arguments.archives).items():
        found.append(entry(name, lines, judge, table))
        last = found[-1].get("judged", found[-1].get("true", {}))
        print(f"{name}: {', '.join(f'{epoch}: {a:.2f}' for epoch, a in last.items()) or 'no cell'}")
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    text = ",\n".join(json.dumps(search) for search in found)
    arguments.out.write_text(f"[\n{text}\n]\n", encoding="utf8")
    return 0


if __name__ == "__main__":
    script(main)
