"""How zero-cost proxies and shared weights serve: rank correlations, and seconds of one CPU core.

    python experiments/proxies.py --table NASBENCH201.csv --data-dir DIR

Every proxy scores `CELLS` random cells of NAS-Bench-201, with one set of weights for all: on noise, and
on images of CIFAR-10 where it looks at them. What counts is Spearman's rank correlation with the test
accuracy after 200 epochs. Sizes, and the validation accuracy after 12 epochs, are also compared over the
whole table and among its best tenth. Shared weights are those of one epoch over single paths on the
digits: seconds do not depend on how well they are trained. Seconds are of processor time, the median.

Each part is written to results/proxies.json when it is done, and the next call measures what is left:
about ten minutes of one core in all.
"""

from __future__ import annotations

import json
import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from random import Random
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import torch
from torch import Tensor

from jobs import Record, script
from watch import ran_on
from xnas.benchmarks import Entry, TabularBenchmark
from xnas.data import ImageData, load_data
from xnas.data_options import DataOptions
from xnas.runs.displays import Silence
from xnas.runs.sampling.config import SampleConfig
from xnas.runs.sampling.image_batch import drawn_batch
from xnas.runs.sampling.shared_evaluator import shared_evaluator
from xnas.runs.search import search
from xnas.runs.search_config import SearchConfig
from xnas.samplers import PROXIES, Trial, proxy_score
from xnas.samplers.proxy_search import ProxySettings, noise
from xnas.samplers.ranks import rank_correlation
from xnas.space import Genotype
from xnas.space.encoding import encoding_of

RESULTS = Path(__file__).resolve().parent.parent / "results" / "proxies.json"
CELLS, SEED = 200, 0
IMAGES = {"jacob_cov": 64, "naswot": 128}
"""Images of the proxies that look at them; the others take the size of one alone."""
SHORT = "valid_12"
"""In place of a proxy: validation accuracy after 12 epochs."""
SHARED_SPACES = ("darts", "nasbench201")
SHARED_CELLS = 10


def drawn_cells(count: int) -> list[Genotype]:
    """Different cells of NAS-Bench-201."""
    encoding, draw = encoding_of("nasbench201"), Random(SEED)  # noqa: S311
    found: dict[tuple[int, ...], None] = {}
    while len(found) < count:
        found.setdefault(encoding.draw(draw))
    return [encoding.decode(cell) for cell in found]


def scored(proxy: str, cells: Sequence[Genotype], images: Tensor, truth: Sequence[float]) -> Record:
    """How a proxy ranks the cells, and what one score takes."""
    proxy_score(proxy, cells[0], images, seed=SEED)  # the first one pays for imports
    scores, seconds = [], []
    for cell in cells:
        began = time.process_time()
        scores.append(proxy_score(proxy, cell, images, seed=SEED))
        seconds.append(time.process_time() - began)
    found = rank_correlation(scores, truth)
    return {"correlation": None if found is None else round(found, 4), "seconds": median(seconds)}


def proxy(name: str, table: TabularBenchmark, images: ImageData, count: int) -> Record:
    """One proxy on noise, and on images if it looks at them; or the accuracy of short trainings."""
    cells = drawn_cells(count)
    truth = [table.accuracy(cell) for cell in cells]
    if name == SHORT:
        short = [table.accuracy(cell, 12, "valid") for cell in cells]
        return {"batch": None, "table": {"correlation": rank_correlation(short, truth)}}
    batch = IMAGES.get(name)
    kinds = {"noise": noise(ProxySettings(batch=batch or 2), SEED)}
    if batch is not None:
        kinds["images"] = drawn_batch(images, batch, seed=SEED)
    scores = {kind: scored(name, cells, x, truth) for kind, x in kinds.items()}
    return {"batch": batch, **scores}


def whole_table(table: TabularBenchmark) -> dict[str, dict[str, float | None]]:
    """Correlations over all cells and among the best tenth of them."""
    known: dict[str, Callable[[Entry], float]] = {
        "params": lambda entry: entry.parameters,
        "macs": lambda entry: entry.mflops,
        "valid_12": lambda entry: entry.valid_12,
    }
    entries = sorted(table.entries.values(), key=lambda entry: -entry.test_200)
    parts = {"all": entries, "best tenth": entries[: len(entries) // 10]}
    return {
        name: {
            part: rank_correlation([value(e) for e in those], [e.test_200 for e in those])
            for part, those in parts.items()
        }
        for name, value in known.items()
    }


def shared_seconds(space: str) -> Record:
    """Seconds of one evaluation by shared weights: the default supernet of a space, on the digits."""
    with TemporaryDirectory() as place:
        config = SearchConfig(
            space=space, method="random", epochs=1, seed=SEED, device="cpu", out=Path(place) / "run"
        )
        search(config, "digits", display=Silence(), report=False)
        options = SampleConfig(space=space, evaluator="shared", weights=config.out, device="cpu")
        evaluator = shared_evaluator(options, load_data("digits", DataOptions()))
        encoding, draw, seconds = encoding_of(space), Random(SEED), []  # noqa: S311
        for number in range(SHARED_CELLS + 1):
            trial = Trial(number=number, genotype=encoding.decode(encoding.draw(draw)))
            began = time.process_time()
            evaluator.evaluate(trial, Path(place))
            seconds.append(time.process_time() - began)
    return {"seconds": median(seconds[1:]), "cells": SHARED_CELLS}  # the first one loads the weights


def measure(arguments: Namespace) -> None:
    """Measure what is not in the file yet; each part is written when it is done."""
    torch.set_num_threads(1)
    table = TabularBenchmark.load(arguments.table)
    images = load_data("cifar10", DataOptions(data_dir=arguments.data_dir))
    if not isinstance(images, ImageData):
        raise SystemExit("the images of cifar10 are to be held in memory")
    found: Record = {"cells": arguments.count, "seed": SEED, **ran_on("cpu")}
    if arguments.out.exists():
        known = json.loads(arguments.out.read_text(encoding="utf8"))
        if any(known[name] != value for name, value in found.items()):
            raise SystemExit(f"{arguments.out} has other cells or versions; delete it to measure anew")
        found = known
    parts: dict[str, dict[str, Callable[[], Any]]] = {
        "table": {"table": partial(whole_table, table)},
        "shared": {space: partial(shared_seconds, space) for space in SHARED_SPACES},
        "proxies": {
            name: partial(proxy, name, table, images, arguments.count) for name in (*PROXIES, SHORT)
        },
    }
    for part, ones in parts.items():
        for name, one in ones.items():
            if name in found.setdefault(part, {}):
                continue
            found[part][name] = one()
            print(name, json.dumps(found[part][name]), flush=True)
            arguments.out.parent.mkdir(parents=True, exist_ok=True)
            arguments.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf8")


def main(given: Sequence[str] | None = None) -> int:
    """Measure what is left, and write the file."""
    parser = ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    add = parser.add_argument
    add("--table", type=Path, required=True, help="the CSV of NAS-Bench-201")
    add("--data-dir", type=Path, required=True, help="where CIFAR-10 is")
    add("--count", type=int, default=CELLS, help="random cells that are scored")
    add("--out", type=Path, default=RESULTS, help="file to write")
    arguments = parser.parse_args(list(sys.argv[1:] if given is None else given))
    measure(arguments)
    print(f"written: {arguments.out}")
    return 0


if __name__ == "__main__":
    script(main)
