"""Tiny comparisons for tests: stripes, NAS-Bench-201 with a table of made-up accuracies."""

import json
from dataclasses import asdict, replace

from searching import stripes

from xnas import CompareConfig
from xnas.records import ComparedRun
from xnas.runs.comparison.summaries import compared

SEARCH = {"epochs": 1, "cells": 1, "channels": 2, "batch_size": 20}
TRAIN = {"recipe": "quick", "epochs": 1, "cells": 1, "channels": 2, "batch_size": 20}


def images(count=40):
    """Stripes with a test part."""
    test = stripes(count=10, seed=1)
    return replace(stripes(count=count), test_images=test.images, test_labels=test.labels)


def settings(**more):
    usual = {
        "space": "nasbench201",
        "device": "cpu",
        "search": SEARCH,
        "methods": "xnas,darts",
        "seeds": "0-1",
        "test": False,
        "quiet": True,
        "report": False,
    }
    return usual | more


def saved(out):
    """comparison.json without what depends on the machine."""
    whole = json.loads((out / "comparison.json").read_text(encoding="utf8"))
    for one in (*whole["runs"], *whole["summaries"]):
        del one["minutes"], one["memory_bytes"]
    del whole["config"]["out"], whole["made_with"]
    return whole


def run(entry="xnas", seed=0, accuracy=90.0, **more):
    """A finished run, made up."""
    usual = {
        "name": f"{entry}-{seed}",
        "entry": entry,
        "data": "digits",
        "space": "darts",
        "seed": seed,
        "state": "done",
        "accuracy": accuracy,
        "cell": "4 sep_conv_3x3",
        "curve": ((1, 80.0), (2, accuracy)) if accuracy is not None else (),
        "minutes": 1.5,
        "memory_bytes": 2**30,
    }
    return ComparedRun(**usual | more)


def failed(entry="darts", seed=0, reason="the loss is nan", **more):
    nothing = dict.fromkeys(("cell", "minutes", "memory_bytes"))
    return run(entry, seed, None, state="failed", reason=reason, **nothing, **more)


def found(*runs, **more):
    """A comparison of made-up runs."""
    return compared(
        runs,
        **{
            "entries": list(dict.fromkeys(one.entry for one in runs)),
            "reference": "xnas",
            "measure": "true",
            "random_means": {},
            "random_words": "",
            "test": None,
        }
        | more,
    )


def folder(path, *, data=(("digits", "digits"),), finished=True, comparison=None, **settings):
    """The folder of a comparison, by default of two methods of which one failed; and what it holds."""
    path.mkdir(parents=True)
    comparison = comparison or found(run("xnas"), failed("darts"), test="welch")
    saved = {"format": "xnas-comparison", "version": 1, "state": "finished"}
    saved |= {"config": asdict(CompareConfig(**{"methods": "xnas,darts", "seeds": "0"} | settings))}
    saved |= {"data": [{"label": label, "place": place, "fingerprint": ""} for label, place in data]}
    whole = saved | asdict(comparison) | {"made_with": {"xnas": "0.1.0"}}
    (path / "comparison.json").write_text(json.dumps(whole, default=str), encoding="utf8")
    if finished:
        (path / "comparison.md").touch()
    return path, comparison
