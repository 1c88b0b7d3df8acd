"""What Tables 1 and 3 show of our runs, as a data file of the package, which works without results/."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from statistics import mean, stdev

from cell_tables import DEFAULT, accuracies, cell_lines
from compare_cells import JOBS, SEEDS
from jobs import ROOT, Record, ResultsFile
from result_tables import Results
from small_judges import found_accuracy
from small_search import SIZES
from small_searches import OF_SIZE, of_variant
from xnas.paper.found_here import DATA_FILE, FoundHere
from xnas.paper.measured_here import SearchedHere, TrainedHere
from xnas.space import Genotype, cell_depth, list_cells

PATH = ROOT / "src" / "xnas" / "paper" / DATA_FILE
ROW = "XNAS, searched here"
SAMPLED = "samplers.jsonl"


def found_rows(results: Results) -> list[FoundHere]:
    """The default search of the DARTS space: all its cells with all their seeds, or nothing."""
    searched = results.measured([cell.search for cell in DEFAULT if cell.search is not None])
    trained = [line for cell in DEFAULT for line in cell_lines(results, cell)]
    if (len(searched), len(trained)) != (len(DEFAULT), len(DEFAULT) * len(SEEDS)):
        return []
    alone = [line for line in searched if line["at_once"] == 1]
    errors = [100 - mean(by_seed.values()) for by_seed in accuracies(results, DEFAULT).values()]
    depths = [cell_depth(Genotype.from_json(json.dumps(line["genotype"]))) for line in searched]
    options = next(job.options for job in JOBS if job.of in DEFAULT)
    return [
        FoundHere(
            row=ROW,
            searches=len(searched),
            search_minutes=round(mean(map(_seconds, alone or searched)) / 60, 2),
            device=" or ".join(sorted({line["device"] for line in searched})),
            seeds=len(SEEDS),
            error=round(mean(errors), 2),
            deviation=round(stdev(errors), 2),
            recipe=f"{options['recipe']}, {options['epochs']} epochs",
            network=f"cifar, {trained[0]['cells']} cells",
            channels=trained[0]["channels"],
            parameters=round(mean(line["parameters"] for line in trained)),
            macs=round(mean(line["macs"] for line in trained)),
            depth=round(mean(depths), 3),
        )
    ]


def _seconds(line: Record) -> float:
    """Of the whole search; of its epochs where a killed process left the rest unknown."""
    if line["search_seconds"] is not None:
        return float(line["search_seconds"])
    return float(sum(epoch["cost"]["seconds"] for epoch in line["epochs"]))


def trained_rows(results: Results) -> list[TrainedHere]:
    """All trainings of published cells, grouped by cell, data and recipe; a cell's name is its row's."""
    groups: dict[tuple[str, str, int, str], list[float]] = {}
    for line in results.lines:
        if line.get("test_accuracy") is None or line.get("cell") not in list_cells():
            continue
        recipe = _recipe(line)
        groups.setdefault((line["cell"], line["data"], line["epochs"], recipe), []).append(
            line["test_accuracy"]
        )
    return [
        TrainedHere(
            cell=cell,
            dataset=data_set,
            trainings=len(found),
            error=round(100 - 100 * mean(found), 2),
            deviation=round(100 * stdev(found), 2) if len(found) > 1 else None,
            recipe=recipe,
        )
        for (cell, data_set, _, recipe), found in sorted(groups.items())
    ]


def _recipe(line: Record) -> str:
    """Name, length and network of a training."""
    name = str(line["command"]).partition("--recipe ")[2].split()[0]
    network = f"{line['cells']} cells of {line['channels']} channels"
    return f"{name}, {line['epochs']} epochs, {network}"


def searched_rows(results: Results) -> list[SearchedHere]:
    """Searches with true or judged accuracies, by command and settings; whole ones come first."""
    groups: dict[tuple[str, str], list[float]] = {}
    for line in results.lines:
        if line.get("space") != "nasbench201" or "stopped_after" not in line or line["stopped_after"]:
            continue
        settings, truth = line["settings"], line["epochs"][-1]["truth"]
        if line["variant"] not in {"default", "faithful", settings["method"]} or truth is None:
            continue
        method = settings["method"]
        command = "xnas search" if method == "xnas" else f"xnas search --method {method}"
        how = f"{len(line['epochs'])} epochs" + (", --faithful" if settings["faithful"] else "")
        groups.setdefault((command, how), []).append(truth["test_200"])
    rows = [_searched(command, how, found) for (command, how), found in sorted(groups.items())]
    rows += _small_rows(results)
    for line in ResultsFile(results.folder / SAMPLED).lines():
        if line["evaluator"] == "table" and not line["settings"]:
            command = f"xnas sample --sampler {line['sampler']}"
            rows.append(_searched(command, f"{line['evaluations']} evaluations", line["found"]))
    return rows


def _small_rows(results: Results) -> list[SearchedHere]:
    """Small searches by systems of the tables, and the default for comparison; their size is named."""
    found = []
    for size in ("small", "small-darts"):
        images, side = SIZES[size].few or (0, 0)
        space = {"nasbench201": "NAS-Bench-201", "darts": "DARTS space, judged"}
        for variant in OF_SIZE[size]:
            lines = results.measured(of_variant(variant, size))
            if not lines or not (variant in {"wipeout", "darts"} or variant.startswith("rival-")):
                continue
            method = of_variant(variant, size)[0].options.get("method", "xnas")
            command = "xnas search" if method == "xnas" else f"xnas search --method {method}"
            where = space[lines[0]["space"]]
            how = f"{len(lines[0]['epochs'])} epochs, {images} images, {side}x{side}, {where}"
            found.append(_searched(command, how, [found_accuracy(line) for line in lines]))
    return found


def _searched(command: str, settings: str, found: Sequence[float]) -> SearchedHere:
    return SearchedHere(
        command=command,
        searches=len(found),
        accuracy=round(mean(found), 2),
        deviation=round(stdev(found), 2) if len(found) > 1 else None,
        settings=settings,
    )


def data(results: Results) -> bytes:
    """The data file."""
    value = {
        "format": "xnas-found-here",
        "version": 2,
        "rows": [asdict(row) for row in found_rows(results)],
        "trained": [asdict(row) for row in trained_rows(results)],
        "searched": [asdict(row) for row in searched_rows(results)],
    }
    return (json.dumps(value, indent=1, ensure_ascii=False) + "\n").encode()
