"""Runs as their folders hold them, made up for pages: small numbers, all parts."""

import json
from dataclasses import asdict, replace

from xnas import SearchConfig
from xnas.records import Deletion, EdgeChoice, EpochCost, Gap, Ledger, SearchEpoch, Truth, Wipeout
from xnas.report.page.stories import RunHead, SearchedCells, SearchStory
from xnas.space import SPACES, Genotype, cell_depth  # noqa: F401 - for the tests

SPACE = SPACES["darts"]
KINDS = ("normal", "reduction")
SKIP = SPACE.operations.index("skip_connect")
CELL = Genotype.random("darts", 1)


CELLS = SearchedCells(
    operations=SPACE.operations, edges=SPACE.edges, inputs=2, nodes=4, concat=SPACE.concat
)


def story(**changes):
    """A finished search of three epochs."""
    given = {"head": RunHead(path="run"), "cells": CELLS, "epochs": tuple(epochs())}
    return SearchStory(**given | {"choices": tuple(choices())} | changes)


def epochs(count=3):
    """Epochs in which the last expert of the first edge goes after the second."""
    return [_epoch(number, count) for number in range(1, count + 1)]


def _epoch(number, count):
    gone = number >= 2
    rows = [list(_row(edge, number, count)) for edge in range(len(SPACE.edges))]
    if gone:
        rows[0][0], rows[0][-1] = rows[0][0] + rows[0][-1], 0.0
    mixtures = tuple(tuple(float(f"{u:.6g}") for u in row) for row in rows)
    wiped = Deletion(
        kind="normal", forecaster=0, expert=6, operation=SPACE.operations[6], round_index=35
    )
    paid = {name: 0.01 * at for at, name in enumerate(SPACE.operations)}
    return SearchEpoch(
        epoch=number,
        rounds=20 * number,
        learning_rate=0.02,
        skip_dropout=0.5,
        train_loss=2 / number,
        train_accuracy=1 - 0.8 / number,
        valid_loss=2.2 / number,
        valid_accuracy=1 - 0.9 / number,
        entropy=dict.fromkeys(KINDS, 1 - number / (2 * count)),
        skip_share=dict.fromkeys(KINDS, 0.25),
        experts_alive={"normal": 98 - gone, "reduction": 98},
        weights_alive=1000,
        rewards=dict.fromkeys(KINDS, paid),
        rewards_by_stage={"normal": {"0": paid, "1": paid}, "reduction": {"0": paid}},
        deleted=(wiped,) if number == 2 else (),
        gap=Gap(mixture=0.5, experts=0.4, cell=0.3) if number == count else None,
        cell=json.loads(CELL.to_json()),
        truth=Truth(
            arch="", test_200=90.0, test_12=None, rank=7, arch_with_none=None, test_200_with_none=None
        ),
        mixtures=dict.fromkeys(KINDS, mixtures),
        cost=EpochCost(seconds=3.0, seconds_per_round=0.15, memory_bytes=1 << 28),
    )


def _row(edge, number, count):
    """Weights that move towards one expert of each edge."""
    share = 0.8 * number / count
    for expert in range(len(SPACE.operations)):
        yield (1 - share) / 7 + share * (expert == edge % 7)


def choices():
    """The choice of every edge, as the random cell has it."""
    found = []
    for kind in KINDS:
        cell = getattr(CELL, kind)
        kept = {
            (edge.source, node): edge.operation
            for node, edges in enumerate(cell.nodes, start=2)
            for edge in edges
        }
        found += [
            EdgeChoice(
                kind=kind,
                node=node,
                source=source,
                operation=kept.get((source, node), "skip_connect"),
                strength=0.625,
                lead=1.5,
                runner_up="max_pool_3x3",
                runner_up_strength=0.25,
                absence_cost=0.125,
                kept=(source, node) in kept,
                decided_by="cost of absence",
            )
            for source, node in SPACE.edges
        ]
    return found


def ledger(**changes):
    """The accounts of 14 forecasters."""
    return replace(
        Ledger(
            forecasters=14,
            experts=7,
            rounds=60,
            horizon=60,
            learning_rate=0.1,
            reward_bound=1.0,
            relaxation=0.02,
            regret=(0.5,) * 14,
            regret_bound=(4.0,) * 14,
            bound_note="Theorem 1",
            log_wipeout_factor=(0.0,) * 14,
            wipeouts=(Wipeout(round_index=35, forecaster=0, expert=6),),
            living=97,
            histogram_edges=(-1.0, -0.1, 0.0, 0.1, 1.0),
            histogram_counts=(0, 1, 300, 300, 1, 0),
            clipped_share=0.0125,
        ),
        **changes,
    )


def search_run(folder, count=3, *, finished=True, lines=None, **settings):
    """The folder of a search; `lines` take the place of the first lines of its metrics."""
    folder.mkdir(parents=True)
    config = {"format": "xnas-run", "version": 1, "kind": "search", "data": "digits"}
    config |= {"data_fingerprint": "", "processes": 1, "made_with": {"xnas": "0.1.0", "torch": "2"}}
    options = asdict(SearchConfig(epochs=count, seed=3)) | {"include_none": False} | settings
    write(folder / "config.json", config | {"config": options})
    rows = [json.dumps(asdict(one)) for one in epochs(count)]
    rows = [*(lines or ()), *rows[len(lines or ()) :]]
    (folder / "metrics.jsonl").write_text("".join(f"{row}\n" for row in rows), encoding="utf8")
    if finished:
        why = {"format": "xnas-discretization", "version": 1, "edges": [asdict(c) for c in choices()]}
        write(folder / "discretization.json", why)
        head = {"format": "xnas-ledger", "version": 1}
        write(folder / "ledger.json", head | {kind: asdict(ledger()) for kind in KINDS})
        (folder / "genotype.json").write_text(CELL.to_json(), encoding="utf8")
    return folder


def write(path, value):
    path.write_text(json.dumps(value, default=str), encoding="utf8")
