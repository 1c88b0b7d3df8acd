"""Runs as their folders hold them, made up for pages: small numbers, all parts."""

import json
from dataclasses import asdict, replace

from xnas import SearchConfig, TrainConfig
from xnas.records import (
    CalibrationBin,
    Deletion,
    EdgeChoice,
    EpochCost,
    Evaluation,
    Gap,
    Ledger,
    SearchEpoch,
    TrainEpoch,
    Truth,
    Wipeout,
)
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


def trained(count=3):
    """Epochs of a training with held-out images."""
    return [
        TrainEpoch(
            epoch=number,
            steps=10 * number,
            learning_rate=0.1 / number,
            drop_path_rate=0.0,
            train_loss=2 / number,
            train_accuracy=1 - 0.5 / number,
            valid_loss=2.1 / number,
            valid_accuracy=1 - 0.6 / number,
            cost=EpochCost(seconds=4.0, seconds_per_round=0.4, memory_bytes=1 << 28),
        )
        for number in range(1, count + 1)
    ]


def evaluation(*classes):
    """Of a network that takes the first class for the second once in ten times."""
    names = classes or ("cat", "dog")
    confusion = [[10 * (i == j) for j in range(len(names))] for i in range(len(names))]
    confusion[0][0], confusion[0][1] = 9, 1
    bins = [CalibrationBin(lower=0.0, upper=0.5, images=0, confidence=0.0, accuracy=0.0)]
    bins += [CalibrationBin(lower=0.5, upper=1.0, images=20, confidence=0.9, accuracy=0.95)]
    return Evaluation(
        images=10 * len(names),
        classes=names,
        top1=0.95,
        top5=None,
        loss=0.3,
        counts=(10,) * len(names),
        accuracies=(0.9, *(1.0,) * (len(names) - 1)),
        confusion=tuple(map(tuple, confusion)),
        calibration_error=0.05,
        calibration=tuple(bins),
    )


PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg=="


def train_run(folder, *, finished=True, classes=("cat", "dog"), cell="darts_v2"):
    """The folder of a training; without a model it was stopped."""
    folder.mkdir(parents=True)
    config = {"format": "xnas-run", "version": 1, "kind": "train", "data": "digits"}
    config |= {"data_fingerprint": "", "processes": 1, "made_with": {"xnas": "0.1.0"}}
    options = asdict(TrainConfig(cell=cell, epochs=3))
    write(folder / "config.json", config | {"config": options})
    lines = (json.dumps(asdict(one)) + "\n" for one in trained())
    (folder / "metrics.jsonl").write_text("".join(lines), encoding="utf8")
    (folder / "genotype.json").write_text(CELL.to_json(), encoding="utf8")
    if finished:
        write(folder / "test.json", {"format": "xnas-test", "version": 1} | asdict(evaluation(*classes)))
        row = {"index": 3, "label": classes[0], "answer": classes[1], "probability": 0.9, "png": PIXEL}
        write(folder / "mistakes.json", {"format": "xnas-mistakes", "version": 1, "mistakes": [row]})
        network = {"network": "cifar", "num_classes": len(classes), "in_chans": 1, "channels": 2}
        network |= {"cells": 3, "squeeze_excitation": False, "stem_channels": 2}
        card = {"format": "xnas-model", "version": 1, "network": network, "classes": classes}
        card |= {"size": [8, 8], "mean": [0.5], "std": [0.25], "trained_on": "pets", "recipe": "quick"}
        card |= {"seed": 0, "figures": {}, "genotype": json.loads(CELL.to_json())}
        write(folder / "model.json", card)
    return folder


def sample_run(folder, *, finished=True):
    """The folder of a sampling of five trials: one is refused, one fails, one has an earlier cell."""
    folder.mkdir(parents=True)
    config = {"format": "xnas-run", "version": 1, "kind": "sample", "data": "cifar10"}
    config |= {"data_fingerprint": "", "processes": 1, "made_with": {"xnas": "0.1.0"}}
    options = {"sampler": "evolution", "evaluator": "table", "evaluations": 4, "seed": 0}
    write(folder / "config.json", config | {"config": options})
    first, second = (Genotype.random("nasbench201", seed) for seed in (0, 1))
    events = [{"event": "begin", "format": "xnas-trials", "version": 1}]
    told = [(first, 0.5, "done"), (second, None, "failed"), (second, 0.75, "done")]
    told += [(first, 0.5, "done"), (second, None, "refused")]
    above = "400,000 parameters are above --max-params 300000"
    costs = []
    for number, (cell, value, state) in enumerate(told):
        genotype = json.loads(cell.to_json())
        ask = {"event": "ask", "number": number, "genotype": genotype, "budget": None, "parent": None}
        tell = {"event": "tell", "number": number, "value": value, "state": state, "at": 12}
        if state == "refused":
            tell |= {"at": None, "reason": above}
        events += [ask, tell]
        costs.append({"number": number, "seconds": 2.0, "parameters": 1e6 * (number + 1), "macs": 1e8})
    for name, rows in (("ledger.jsonl", events), ("costs.jsonl", costs)):
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / name).write_text(text, encoding="utf8")
    if finished:
        (folder / "genotype.json").write_text(second.to_json(), encoding="utf8")
    return folder


def write(path, value):
    path.write_text(json.dumps(value, default=str), encoding="utf8")
