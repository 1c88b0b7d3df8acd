"""Made-up lines of results, for tests of tables and plots. None was measured."""

import json

from limited_searches import SHARES
from xnas import Genotype

VERSIONS = {"device": "a GPU", "torch": "2.11", "python": "3.12", "xnas": "0.1"}


def training(job, accuracy, genotype=None):
    return {
        "job": job.name,
        "command": job.command,
        "setting": job.setting,
        "seed": job.options["seed"],
        "cells": 5,
        "channels": 40,
        "parameters": 1_234_567,
        "macs": 160_000_000,
        "batch_size": 256,
        "test_accuracy": accuracy,
        "train_accuracy": 0.99,
        "train_seconds": 98.5,
        "calls": 1,
        "epoch_seconds": 2.25,
        "process_seconds": None,
        "memory_bytes": 2**31,
        "genotype": as_data(genotype or Genotype.random("darts", 1)),
        **VERSIONS,
    }


def as_data(genotype):
    return json.loads(genotype.to_json())


def epoch(number, epochs, kinds, seed):
    """Half of the experts leave after three quarters of the epochs, and rounds are a third faster."""
    rewards = {"skip_connect": 0.01 * number, "nor_conv_3x3": -0.01}
    late = number > 3 * epochs // 4
    return {
        "epoch": number,
        "entropy": dict.fromkeys(kinds, 0.9),
        "skip_share": dict.fromkeys(kinds, 0.5),
        "experts_alive": dict.fromkeys(kinds, 12 if late else 24),
        "weights_alive": 500 if late else 1000,
        "rewards": {"normal": rewards},
        "rewards_by_stage": {"normal": dict.fromkeys("012", rewards)},
        "deleted": [f"{kind} 0 none" for kind in kinds] * 12 if number == 3 * epochs // 4 + 1 else [],
        "gap": {"mixture": 0.8, "experts": 0.6, "cell": 0.5} if number % 10 == 0 else None,
        "truth": {
            "arch": "|a~0|+|skip_connect~0|c~1|",
            "test_200": 90 + number / 100 + seed / 10,
            "rank": 1234,
            "test_200_with_none": 80.5,
            "accuracy": 93 + number / 100 + seed / 10,
            "error": 0.25,
            "percentile": 87.4,
        },
        "cost": {
            "seconds": 2.0 if late else 3.0,
            "seconds_per_round": 0.0082 if late else 0.0123,
            "memory_bytes": 2**29 if late else 2**30,
        },
    }


def search(job):
    """As a search of the job would give it; without wipeout nobody leaves and nothing changes."""
    space, seed = job.options["space"], job.options["seed"]
    kinds = ("normal", "reduction") if space == "darts" else ("normal",)
    wipeout = job.options.get("wipeout", True)
    horizon = job.epochs if wipeout else 10**6
    genotype = Genotype.random(space, seed + 10 * len(job.variant))
    return {
        "job": job.name,
        "command": job.command,
        "variant": job.variant,
        "space": space,
        "seed": seed,
        "settings": {"relaxation": job.options.get("relaxation", 1.0), "wipeout": wipeout},
        "epochs": [epoch(e + 1, horizon, kinds, seed) for e in range(job.epochs)],
        "genotype": as_data(genotype),
        "search_seconds": 150.0,
        "at_once": 3,
        **VERSIONS,
    }


def limited_search(job, parameters, accuracy):
    found = {"arch": "|x|", "parameters": parameters, "true_accuracy": accuracy, "rank": 1}
    alone = [{"share": share, **found} for share in SHARES]
    limit = job.options.get("max_params")
    return {
        "job": job.name,
        "command": job.command,
        "seed": job.seed,
        "max_params": limit,
        "found": found,
        "changed_by_limit": 2,
        "prices": [0.0, 1.25, 0.5] if limit else [],
        "within": {"cells": 7, "mean": 80.0, "best": 94.5},
        "by_choice_alone": [] if limit else alone,
        **VERSIONS,
    }


def write(folder, **files):
    """Files of results with these lines."""
    for name, lines in files.items():
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (folder / f"{name}.jsonl").write_text(text, encoding="utf8")
