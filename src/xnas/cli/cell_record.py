"""What `xnas show --json` gives: a cell or a wiring with its networks, or the zoo, as plain values."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from xnas.cli.show_truth import epoch_truths, search_run
from xnas.paper.network_sizes import CIFAR, IMAGENET, PIXELS, macs, parameters
from xnas.runs.truth import load_benchmark
from xnas.space import (
    NETWORKS,
    Architecture,
    Genotype,
    NetworkSpec,
    build_network,
    cell_depth,
    count_macs,
    count_parameters,
    list_cells,
    zoo_cell,
)
from xnas.space.zoo import PaperRow


def zoo_record() -> dict[str, Any]:
    """All published cells with their CIFAR networks."""
    return {"cells": [_published(name) | _sizes("cifar", CIFAR, name) for name in list_cells()]}


def cell_record(
    where: str, found: Architecture, *, published: str | None, cifar: NetworkSpec
) -> dict[str, Any]:
    """A cell or a wiring: how it is written in its file, and the sizes of its networks."""
    record: dict[str, Any] = {"cell": where, found.key: json.loads(found.to_json())}
    if isinstance(found, Genotype):
        record |= {"space": found.space, "string": found.one_line}
        record["depth"] = None if found.one_line is not None else cell_depth(found)
    if isinstance(found, Genotype) and found.defaults.networks is NETWORKS:
        of = published or found
        networks = [_sizes("cifar", cifar, of), _sizes("imagenet", IMAGENET, of)]
    else:
        networks = [_own_sizes(name, spec, found) for name, spec in found.defaults.networks.items()]
    record["networks"] = networks
    return record | {"published": None if published is None else _published(published)}


def truth_record(cell: str, genotype: Genotype, path: Path) -> dict[str, Any]:
    """What the benchmark of a file knows of a cell and, given a run folder, of that of every epoch."""
    benchmark = load_benchmark(path, genotype.space)
    run = search_run(cell)
    epochs = None if run is None else epoch_truths(run, benchmark)
    return {"truth": asdict(benchmark.truth(genotype)), "epochs": epochs}


def _sizes(name: str, spec: NetworkSpec, cell: str | Genotype) -> dict[str, Any]:
    return _network(name, spec, parameters(cell, spec), macs(cell, spec))


def _own_sizes(name: str, spec: NetworkSpec, found: Architecture) -> dict[str, Any]:
    with torch.device("meta"):
        model = build_network(found, spec)
    side = PIXELS.get(name, PIXELS["cifar"])
    return _network(name, spec, count_parameters(model), count_macs(model, (spec.in_chans, side, side)))


def _network(name: str, spec: NetworkSpec, parameters: int, macs: int) -> dict[str, Any]:
    return {
        "network": name,
        "channels": spec.channels,
        "cells": spec.cells,
        "pixels": PIXELS.get(name, PIXELS["cifar"]),
        "parameters": parameters,
        "macs": macs,
    }


def _published(name: str) -> dict[str, Any]:
    cell = zoo_cell(name)
    return {
        "name": cell.name,
        "title": cell.title,
        "source": cell.source,
        "note": cell.note or None,
        "nodes": len(cell.genotype.normal.nodes),
        "depth": cell.depth,
        "paper": [_row(row) for row in cell.paper],
    }


def _row(row: PaperRow) -> dict[str, Any]:
    return {
        "table": row.table,
        "row": row.row,
        "errors": row.errors,
        "million_parameters": row.parameters,
        "gpu_days": row.search_cost,
    }
