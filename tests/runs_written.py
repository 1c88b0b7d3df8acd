"""Run folders as runs leave them, written by hand: small, and without a run."""

import json
import os

WHOLE = {"format": "xnas-run", "version": 1, "data": "digits", "data_fingerprint": "", "processes": 1}
ARCH = "|nor_conv_3x3~0|+|nor_conv_3x3~0|skip_connect~1|+|none~0|none~1|none~2|"
GENOTYPE = {"format": "xnas-genotype", "version": 1, "space": "nasbench201", "arch": ARCH}


def written(folder, kind, files=None, *, age=0.0, **settings):
    """A folder of a run of that kind; `files` by name hold objects, or lists of lines."""
    folder.mkdir(parents=True)
    config = WHOLE | {"kind": kind, "config": {"seed": 0} | settings}
    for name, content in {"config.json": config, **(files or {})}.items():
        lines = content if isinstance(content, list) else [content]
        (folder / name).write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf8")
        os.utime(folder / name, (1e9 - age, 1e9 - age))
    return folder


def search(folder, *, epochs=2, finished=True, **more):
    """A search of three epochs."""
    lines = [
        {"valid_accuracy": 0.1 * k, "truth": {"arch": ARCH, "test_200": 90 + k}}
        for k in range(1, epochs + 1)
    ]
    files = {"metrics.jsonl": lines} | ({"genotype.json": GENOTYPE} if finished else {})
    return written(folder, "search", files, epochs=3, method="xnas", **more)


def training(folder, **more):
    """A finished training of two epochs."""
    files = {
        "metrics.jsonl": [{"valid_accuracy": 0.75}, {"valid_accuracy": 0.5}],
        "test.json": {"format": "xnas-test", "version": 1, "top1": 0.7},
        "model.json": {"trained_on": "digits"},
    }
    return written(folder, "train", files, epochs=2, cell="darts_v2", **more)


def sampling(folder, **more):
    """A stopped sampling of four evaluations."""
    told = [{"event": "tell", "number": k, "value": v} for k, v in enumerate((0.5, None, 0.625))]
    files = {"ledger.jsonl": [{"event": "begin"}, {"event": "ask"}, *told]}
    return written(folder, "sample", files, evaluations=4, sampler="evolution", **more)
