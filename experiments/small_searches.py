"""Searches behind claims that a small search can test: wipeout, rates, late bloomers, accounting.

    python experiments/small_searches.py --data-dir DIR --truth FILE --seconds 540
    python experiments/small_searches.py --size small-darts --data-dir DIR --truth CELLS.csv
    python experiments/small_searches.py --size few --data-dir DIR --truth FILE
    python experiments/small_searches.py --size benchmark --data-dir DIR --truth FILE --seconds 540
    python experiments/small_searches.py --size fewer --data-dir DIR --truth FILE --seconds 540
    python experiments/small_searches.py --size darts --data-dir DIR --truth CELLS.csv --seconds 540

FILE is the CSV of NAS-Bench-201, CELLS.csv one of judged cells of the DARTS space.

The default size is for a CPU: 800 images of CIFAR-10 averaged to 16 x 16 pixels, NAS-Bench-201 with
one cell of 6 channels per stage, 20 epochs, half a minute each. `small-darts` has the same images and
the DARTS space with its two kinds of cell: 3 cells of 4 channels, two minutes each. `few` plays every
method by its own recipe, with 2,400 images and 100 epochs, seven minutes and more each. The sizes
`benchmark` and `darts` are whole searches for a GPU, which run one at a time, so that their times
compare; `fewer` is `benchmark` with a tenth of the images. A search that does not fit into the time is
stopped between two epochs, and the next call resumes it. The rules by which searches are judged stand
in `small_claims.py`, `darts_claims.py` and `full_claims.py`; each was written before the searches that
it judges were run.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jobs import (
    Budget,
    Record,
    ResultsFile,
    chosen,
    forget,
    overview,
    play,
    results_file,
    script,
    shared_arguments,
    told_left,
)
from small_player import play as play_search
from small_player import result
from small_search import HELD_EPOCHS, SIZES, Rule, SmallSearch
from xnas.methods import METHODS

RESULTS = "small_searches.jsonl"

WIPEOUT: dict[str, dict[str, Any]] = {
    "no-wipeout": {"wipeout": False},
    "wipeout": {},
    "relaxation-0.1": {"relaxation": 0.1},
    "bound-0.1-no-wipeout": {"wipeout": False, "reward_bound": 0.1},
    "bound-0.1": {"reward_bound": 0.1},
}
"""The bound is part of the rate, so that each bound has a twin without wipeout."""
EARLIER_WIPEOUT: dict[str, dict[str, Any]] = {
    "relaxation-0.03": {"relaxation": 0.03},
    "bound-0.03-no-wipeout": {"wipeout": False, "reward_bound": 0.03},
    "bound-0.03": {"reward_bound": 0.03},
}
"""Added when one search of `wipeout` had shown that no expert leaves before its last epoch but one."""
RATES: dict[str, dict[str, Any]] = {
    "rate-paper": {"experts_lr": "paper"},
    "rate-1": {"experts_lr": 1.0},
}
"""The rate of `wipeout`, the default, is matched to the rounds played: 0.11 for 240 of four experts."""
LONG_RATES: dict[str, dict[str, Any]] = {
    "rate-paper": {"experts_lr": "paper"},
    "rate-0.1": {"experts_lr": 0.1},
}
"""The matched rate is about 0.015 in searches of 13,000 rounds, and 0.14 in `small-darts`."""
ACCOUNTING: dict[str, dict[str, Any]] = {"per-sample": {"accounting": "sample"}}
LATE: dict[str, tuple[Rule, bool]] = {
    "late-eg": ("eg", True),
    "late-softmax": ("softmax", True),
    "late-adam": ("adam", True),
    "early-eg": ("eg", False),
    "early-softmax": ("softmax", False),
}
"""With a convolution held back, and as controls without; none wipes out."""

HOLDING = {variant: {"warmup": HELD_EPOCHS} for variant in LATE}
RIVALS: dict[str, dict[str, Any]] = {
    f"rival-{method}": {"method": method}
    for method in ("darts", "darts2", "snas", "enas", "dso", "proxyless", "asap", "sharp")
}
"""Systems in the paper's tables that search NAS-Bench-201; other settings are their own."""
METHODS_WITH_FEW: dict[str, dict[str, Any]] = {
    "default": {},
    "skip-dropout": {"best_temperature": False},
    "no-guard": {"best_temperature": False, "skip_dropout": "0"},
    **{f"rival-{name}": {"method": name} for name in METHODS if name not in {"xnas", "pdarts"}},
}
"""The default for few images, that for many, and every other method; pdarts has no form there."""


def _by_kind(one_rate: float) -> dict[str, dict[str, Any]]:
    """The paper's rate of normal cells for both kinds, and the matched rate split as the paper's."""
    return {
        "rate-one": {"experts_lr": one_rate},
        "rate-by-kind": {"experts_lr": "matched-by-kind"},
    }


DEFAULT: dict[str, dict[str, Any]] = {"wipeout": {}}
FIRST_ORDER: dict[str, dict[str, Any]] = {"darts": {"method": "darts"}}
OF_SIZE: dict[str, Mapping[str, Mapping[str, Any]]] = {
    "small": WIPEOUT | RATES | ACCOUNTING | HOLDING | EARLIER_WIPEOUT | RIVALS,
    "small-darts": DEFAULT
    | LONG_RATES
    | _by_kind(0.0247)
    | FIRST_ORDER
    | {"rival-pdarts": {"method": "pdarts"}},
    "few": METHODS_WITH_FEW,
    "benchmark": WIPEOUT | LONG_RATES | HOLDING | EARLIER_WIPEOUT,
    "fewer": DEFAULT | ACCOUNTING,
    "darts": WIPEOUT | LONG_RATES | _by_kind(7.95e-4) | FIRST_ORDER,
}
"""Variants of each size. The DARTS space has two kinds of cell, and a judge; P-DARTS needs it."""
SEEDS = {
    "small": (0, 1),
    "small-darts": (0, 1),
    "few": (1, 2),
    "benchmark": (0, 1),
    "fewer": (0, 1),
    "darts": (0, 1),
    "tiny": (0,),
}
PLANNED = {("fewer", "per-sample"): 800.0}
"""Seconds of searches that take far longer than others of their size: 0.6 s in each of 1,300 rounds."""


def _job(size: str, variant: str, seed: int) -> SmallSearch:
    given = OF_SIZE["small" if size == "tiny" else size][variant]
    rule, held = LATE.get(variant, ("experts", False))
    wipeout = {} if rule == "experts" else {"wipeout": False}
    return SmallSearch(
        name=f"{size}-{variant}-{seed}",
        options={**SIZES[size].settings, "seed": seed, **given, **wipeout},
        data="cifar10",
        planned=PLANNED.get((size, variant), SIZES[size].planned),
        variant=variant,
        seed=seed,
        size=size,
        rule=rule,
        held=held,
    )


def declared(size: str) -> list[SmallSearch]:
    """All searches of a size, seed by seed."""
    variants = OF_SIZE["small" if size == "tiny" else size]
    return [_job(size, variant, seed) for seed in SEEDS[size] for variant in variants]


def of_variant(variant: str, size: str = "small") -> list[SmallSearch]:
    """The searches of a variant, one per seed."""
    return [job for job in declared(size) if job.variant == variant]


def _arguments(words: Sequence[str]) -> Namespace:
    parser = ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    shared_arguments(parser, RESULTS)
    sizes = [name for name in SIZES if name != "tiny"]
    parser.add_argument(
        "--size", choices=sizes, default="small", help="small, small-darts and few for a CPU, else a GPU"
    )
    parser.add_argument(
        "--truth", type=Path, help="CSV of NAS-Bench-201; of judged cells for the DARTS space"
    )
    arguments = parser.parse_args(words)
    if arguments.truth is None and not (arguments.list or arguments.tiny):
        judged = SIZES[arguments.size].settings["space"] == "darts"
        which = "judged cells" if judged else "NAS-Bench-201"
        parser.error(f"the size {arguments.size} needs --truth, the CSV of {which}")
    return arguments


def main(given: Sequence[str] | None = None) -> int:
    """Run what is left, or list it; 0 when nothing is left, 3 otherwise."""
    arguments = _arguments(list(sys.argv[1:] if given is None else given))
    results: ResultsFile = results_file(arguments, RESULTS)
    jobs = chosen(declared("tiny" if arguments.tiny else arguments.size), arguments.only)
    if arguments.list:
        print(overview(jobs, results))
        return 0
    budget = Budget(arguments.seconds, cut=True)

    def run(job: SmallSearch) -> Record | None:
        folder = arguments.runs / job.folder_name
        ended = play_search(
            job,
            folder,
            device=arguments.device,
            data_dir=arguments.data_dir,
            truth=arguments.truth,
            deadline=budget.deadline(),
        )
        print(f"[{job.name}] {'done' if ended else 'cut'}", flush=True)
        return result(job, folder, arguments.device) if ended else None

    def clear(job: SmallSearch) -> None:
        if not arguments.keep:
            forget(arguments.runs / job.folder_name)

    left = play(jobs, results, budget, run, clear)
    print(told_left(left, jobs))
    return 3 if left else 0


if __name__ == "__main__":
    script(main)
