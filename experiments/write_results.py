"""Write what follows from results/: docs/results.md, docs/search-claims.md, a row of Table 1.

Of the first, as of docs/sampling.md, tables and plots are made anew and the prose around them stays;
the second is made whole.
A table or the place of a plot stands between `<!-- table: NAME -->` and `<!-- end of table -->`. Jobs
without a result have a row that says so, or are named below the table; a plot without data is not
drawn. The cells that searches found become files, for `xnas train` and `xnas show`.
"""

from __future__ import annotations

import json
import re
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import cell_tables
import compare_cells
import cost_tables
import darts_tables
import few_tables
import fit_tables
import fits
import judged_search_tables
import limited_tables
import long_trainings
import nasbench301
import nasbench301_tables
import own_row
import plots
import rival_tables
import sampler_tables
import search_claims
import search_tables
import small_searches
import small_tables
from jobs import ROOT, Record, script
from quick_accuracy import JOBS
from result_tables import NOTHING, Results, gib, machines, percent, seconds_of, spread, table
from search_tables import true_accuracy
from searches import SETS
from trainings import Training
from xnas.space import Genotype

RESULTS = ROOT / "results"
DOCUMENT = ROOT / "docs" / "results.md"
CELLS = ROOT / compare_cells.CELLS_FOLDER
CLAIMS_NAME = "search-claims.md"
OTHER_PAGES = ("sampling.md",)
"""Pages next to `DOCUMENT` that have tables as well."""
MARKED = re.compile(r"<!-- table: (?P<name>[\w-]+) -->\n.*?<!-- end of table -->", re.DOTALL)


@dataclass(frozen=True)
class Goal:
    """What a time setting is to reach with the cell `xnas` on CIFAR-10."""

    setting: str
    seconds: float
    accuracy: float | None = None
    """Test accuracy in percent; None where none was set."""


GOALS = (Goal("100 s", 100, 93.0), Goal("4 min", 240, 94.0), Goal("10 min", 600, 95.0))


def document(text: str, results: Results) -> str:
    """The text with all its tables made anew."""
    return MARKED.sub(lambda found: _marked(found["name"], results), text)


def _marked(name: str, results: Results) -> str:
    tables = TABLES | OF_SAMPLING
    if name not in tables:
        raise SystemExit(f"no table called {name!r}; there are: {', '.join(tables)}")
    return f"<!-- table: {name} -->\n\n{tables[name](results)}\n\n<!-- end of table -->"


def _quick(results: Results) -> str:
    header = (
        "setting",
        "cell",
        "data",
        "seed",
        "epochs",
        "network",
        "test accuracy",
        "training accuracy",
        "training",
        "per epoch",
        "with imports",
        "memory",
        "command",
    )
    rows = [_quick_row(job, results.of(job)) for job in JOBS]
    return f"{machines(results.measured(JOBS))}\n\n{table(header, rows)}"


def _quick_row(job: Training, line: Record | None) -> list[str]:
    name, options = Path(job.cell).stem, job.options
    known = [job.setting, name, job.data, str(options["seed"]), str(options["epochs"])]
    if line is None:
        return [*known, "", NOTHING, "", "", "", "", "", f"`{job.command}`"]
    size = f"{line['cells']} cells, {line['channels']} channels, {line['parameters'] / 1e6:.2f} M"
    return [
        *known,
        f"{size}, batch {line['batch_size']}",
        percent(line["test_accuracy"]),
        percent(line["train_accuracy"]),
        seconds_of(line["train_seconds"]) + (f" in {line['calls']} calls" if line["calls"] > 1 else ""),
        seconds_of(line["epoch_seconds"]),
        seconds_of(line["process_seconds"]),
        gib(line["memory_bytes"]),
        f"`{job.command}`",
    ]


def _of_setting(setting: str) -> list[Training]:
    return [j for j in JOBS if (j.setting, j.cell, j.data) == (setting, "xnas", "cifar10")]


def _goals(results: Results) -> str:
    rows = []
    for goal in GOALS:
        jobs = _of_setting(goal.setting)
        lines = results.measured(jobs)
        times = [r["train_seconds"] for r in lines if r["train_seconds"] is not None]
        accuracies = [100 * r["test_accuracy"] for r in lines]
        rows.append(
            [
                goal.setting,
                f"{goal.seconds:.0f} s",
                f"{max(times):.1f} s" if times else NOTHING,
                "none set" if goal.accuracy is None else f"{goal.accuracy:.2f} %",
                spread(accuracies),
                f"{len(lines)} of {len(jobs)}",
            ]
        )
    header = ("setting", "time to take", "took at most", "accuracy to reach", "reached, %", "runs")
    return table(header, rows)


def _earlier(results: Results) -> str:
    """Lines of jobs that are declared no more, or with other settings now."""
    trained = (*JOBS, *compare_cells.JOBS, *nasbench301.all_jobs(), *long_trainings.all_jobs())
    small = [job for size in small_searches.OF_SIZE for job in small_searches.declared(size)]
    searched = [job for jobs in SETS.values() for job in jobs]
    fitted = [job for jobs in fits.SETS.values() for job in jobs]
    declared = {(j.name, j.command) for j in (*trained, *small, *searched, *fitted)}
    rows = [
        [line["job"], _gave(line), f"`{line['command']}`"]
        for line in results.lines
        if (line["job"], line["command"]) not in declared
    ]
    return table(("job", "gave", "command"), rows) if rows else "None."


def _gave(line: Record) -> str:
    if "winner" in line:
        return f"test accuracy {percent(line['test_accuracy'])} in {seconds_of(line['seconds'])}"
    if "space" not in line:
        return f"test accuracy {percent(line['test_accuracy'])} in {seconds_of(line['train_seconds'])}"
    last = line["epochs"][-1]
    known = last.get("truth")  # small searches have the accuracy alone
    return f"epoch {last['epoch']}" + (f": true accuracy {true_accuracy(last)}" if known else "")


TABLES: dict[str, Callable[[Results], str]] = {
    "goals": _goals,
    "quick": _quick,
    "first-epochs": search_tables.first_epochs,
    "rewards": search_tables.rewards,
    "full": search_tables.full,
    "full-plot": plots.picture("full"),
    "wipeout": search_tables.wipeout,
    "wipeout-plot": plots.picture("wipeout"),
    "darts": darts_tables.darts,
    "darts-plot": plots.picture("darts"),
    "darts-cells": plots.drawn_cells,
    "cells": cell_tables.cells,
    "cells-plot": plots.picture("cells"),
    "comparison": cell_tables.comparison,
    "guards-darts": judged_search_tables.darts,
    "guards-apart": judged_search_tables.taken_apart,
    "guards-edges": judged_search_tables.edge_rules,
    "guards-rewards": judged_search_tables.rewards,
    "guards-benchmark": judged_search_tables.benchmark,
    "guards-few": judged_search_tables.few,
    "nasbench301": nasbench301_tables.cells,
    "nasbench301-check": nasbench301_tables.check,
    "nasbench301-comparison": nasbench301_tables.comparison,
    "defaults": rival_tables.defaults,
    "default-apart": rival_tables.default_apart,
    "stopped": rival_tables.stopped,
    "rivals": rival_tables.benchmark,
    "rivals-darts": rival_tables.darts,
    "few-methods": few_tables.methods_with_few_images,
    "rounds": cost_tables.rounds,
    "samplers-benchmark": sampler_tables.benchmark,
    "samplers-darts": sampler_tables.darts,
    "trained": cost_tables.trained,
    "entropy": small_tables.entropy,
    "small": small_tables.small,
    "late": small_tables.late,
    "small-darts": small_tables.small_darts,
    "small-rivals": small_tables.rivals,
    "on-gpu": small_tables.on_gpu,
    "limited": limited_tables.limited,
    "limited-plot": plots.picture("accuracy-by-size"),
    "long": small_tables.long,
    "fits": fit_tables.accuracies,
    "fits-time": fit_tables.times,
    "earlier": _earlier,
}


OF_SAMPLING = {"proxies": sampler_tables.proxies, "shared-seconds": sampler_tables.shared}


def found_cells(results: Results) -> dict[str, bytes]:
    """Files of the cells that searches found, by name; `found_N.json` are those of the default."""
    found = compare_cells.found_genotypes(results.lines)
    for number, line in enumerate(results.measured(SETS["present"]), 1):
        found[f"found_{number}"] = Genotype.from_json(json.dumps(line["genotype"]))
    return {f"{name}.json": genotype.to_json().encode() for name, genotype in found.items()}


def stale_files(made: dict[Path, bytes], folder: Path) -> list[Path]:
    """Files that are not as they would be written, and pictures in the folder without data."""
    old = [path for path in sorted(folder.glob(f"{plots.PREFIX}*.svg")) if path not in made]
    return [*old, *(path for path, content in made.items() if not _as_made(path, content))]


def _as_made(path: Path, content: bytes) -> bool:
    if not path.exists():
        return False
    written = path.read_bytes()
    return plots.fresh(written, content) if path.suffix == ".svg" else written == content


def _other_pages(folder: Path, results: Results) -> dict[Path, bytes]:
    """Further pages with tables; a folder of another document need not have them."""
    paths = [folder / name for name in OTHER_PAGES if (folder / name).is_file()]
    return {path: document(path.read_text(encoding="utf8"), results).encode() for path in paths}


def _ours(arguments: Namespace) -> bool:
    return bool(arguments.results.resolve() == RESULTS.resolve())


def _row_path(arguments: Namespace) -> Path:
    """The package's data file; results from elsewhere get theirs next to their page."""
    return own_row.PATH if _ours(arguments) else Path(arguments.document.with_name(own_row.PATH.name))


def main(words: Sequence[str] | None = None) -> int:
    """Write documents, pictures, cells and the row of Table 1, or check them."""
    parser = ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true", help="write nothing; 1 if anything would change")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of results")
    parser.add_argument(
        "--document",
        type=Path,
        default=DOCUMENT,
        help="page to write; its pictures go to images/ in the same folder",
    )
    parser.add_argument("--cells", type=Path, default=CELLS, help="where found cells go")
    arguments = parser.parse_args(words)
    _require_places(arguments)
    text = arguments.document.read_text(encoding="utf8")
    results = Results(arguments.results)
    folder = arguments.document.parent / "images"
    made = {
        arguments.document: document(text, results).encode(),
        arguments.document.with_name(CLAIMS_NAME): search_claims.page(results).encode(),
        **_other_pages(arguments.document.parent, results),
        _row_path(arguments): own_row.data(results),
        **{folder / name: content for name, content in plots.pictures(results).items()},
        **{arguments.cells / name: content for name, content in found_cells(results).items()},
    }
    stale = stale_files(made, folder)
    if arguments.check:
        return int(bool(stale))
    for path in stale:
        if path in made:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(made[path])
        else:
            path.unlink()
        print(f"{'written' if path in made else 'deleted, without data'}: {path}")
    if not stale:
        print("everything is as it would be written")
    return 0


def _require_places(arguments: Namespace) -> None:
    """Raise for results that are not there, or not ours and about to replace what ours say."""
    if not arguments.results.is_dir():
        raise SystemExit(f"there is no folder {arguments.results}; give one of results")
    if not arguments.document.is_file():
        raise SystemExit(f"there is no {arguments.document}; begin with a copy of {DOCUMENT}")
    given = {arguments.document.resolve().parent, arguments.cells.resolve()}
    if not _ours(arguments) and given & {DOCUMENT.resolve().parent, CELLS.resolve()}:
        raise SystemExit(
            f"results of {arguments.results} would replace what results/ says; give a --document in "
            "another folder, and --cells"
        )
    for path in sorted(arguments.results.glob("*.jsonl")):
        if path.stat().st_size and not path.read_bytes().endswith(b"\n"):
            raise SystemExit(f"{path} ends within a line; delete the rest, or let its script resume")


if __name__ == "__main__":
    script(main)
