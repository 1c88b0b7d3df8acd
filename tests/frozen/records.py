"""Each frozen name with the function that makes its record anew."""

import contextlib
import inspect
import io
import json
import os
import sys
import tempfile
from pathlib import Path
from unittest import mock

import numpy as np
import onnxruntime
import torch

import xnas
from frozen.digests import differences, digest, files, machine, run_record
from frozen.runs import RUNS, image_folder
from xnas.cli import main

COMMANDS = (
    "search",
    "train",
    "evaluate",
    "predict",
    "export",
    "show",
    "data",
    "methods",
    "report",
    "reproduce",
    "bench",
)
BENCHES = ("theory", "search", "train", "data")


def command(*arguments: str) -> str:
    """What the command line prints, 80 columns wide."""
    out = io.StringIO()
    environment = mock.patch.dict(os.environ, {"COLUMNS": "80", "TERM": "dumb"})
    with environment, contextlib.redirect_stdout(out), contextlib.suppress(SystemExit):
        main(arguments)
    return out.getvalue()


def help_texts() -> dict[str, object]:
    """The `--help` of every command, line by line."""
    asked = [(), *((name,) for name in COMMANDS), *(("bench", name) for name in BENCHES)]
    return {
        " ".join(("xnas", *words)): [line.rstrip() for line in command(*words, "--help").splitlines()]
        for words in asked
    }


def public_names() -> dict[str, object]:
    """Public names with their signatures, and for classes those of their public methods."""
    return {name: _signature(getattr(xnas, name)) for name in sorted(xnas.__all__)}


def _signature(value: object) -> object:
    if inspect.isclass(value):
        members = {
            name: _signature(getattr(value, name))
            for name in dir(value)
            if name == "__init__" or (not name.startswith("_") and _is_own(value, name))
        }
        return {"kind": "class", **members}
    if callable(value):
        try:
            return str(inspect.signature(value))
        except ValueError:
            return "builtin"
    return "property" if isinstance(value, property) else type(value).__name__


def _is_own(value: type, name: str) -> bool:
    return any(name in vars(parent) for parent in value.__mro__ if parent.__module__.startswith("xnas"))


def run(name: str, root: Path) -> dict[str, object]:
    """The record of a whole run, after a look that the resumed one ends with the same."""
    whole, resumed = (
        run_record(folder, root) for folder in (RUNS[name].whole(root), RUNS[name].resumed(root))
    )
    apart = differences(whole, resumed)
    if apart:
        raise AssertionError(f"{name}: the resumed run differs from the whole one in {apart}")
    return {"machine": machine(), **whole}


def after_training(root: Path) -> dict[str, object]:
    """What evaluate, predict and export give for a trained run on images of a folder."""
    trained, data = RUNS["train-folder"].whole(root), image_folder(root)
    command("evaluate", str(trained), "--out", str(root / "evaluation"), "--device", "cpu")
    evaluation = json.loads((root / "evaluation/evaluation.json").read_text(encoding="utf8"))
    images = str(Path(data) / "test" / "rose")
    answers = command("predict", str(trained), images, "--json", "--top", "2", "--device", "cpu")
    command("export", str(trained), "--out", str(root / "exported"))
    inputs = np.random.default_rng(0).standard_normal((3, 3, 8, 8)).astype(np.float32)
    session = onnxruntime.InferenceSession(root / "exported/model.onnx")
    onnx = session.run(None, {session.get_inputs()[0].name: inputs})
    program = torch.export.load(root / "exported/model.pt2").module()
    with torch.no_grad():
        exported = program(torch.from_numpy(inputs))
        loaded = xnas.load(trained, "cpu").model(torch.from_numpy(inputs))
    return {
        "machine": machine(),
        "files": {folder: files(root / folder) for folder in ("evaluation", "exported")},
        "digests": {
            "evaluation.json": {key: digest(_placeless(part, root)) for key, part in evaluation.items()},
            "predictions": digest(_placeless(answers, root)),
            "onnx": [digest([torch.from_numpy(part)]) for part in onnx],
            "torch.export": digest([exported]),
            "xnas.load": digest([loaded]),
        },
    }


def _placeless(value: object, root: Path) -> object:
    return json.loads(json.dumps(value).replace(str(root), "ROOT"))


QUICK = {"help": help_texts, "names": public_names}
NAMES = (*QUICK, *RUNS, "after-training")
FAST = (*QUICK, "search-default", "train-quick")


def record(name: str) -> dict[str, object]:
    """The record of a name, made anew."""
    if name in QUICK:
        return QUICK[name]()
    with tempfile.TemporaryDirectory() as folder, _one_thread():
        root = Path(folder).resolve()
        with mock.patch.dict(os.environ, {"XNAS_CACHE": str(root / "cache")}):
            return after_training(root) if name == "after-training" else run(name, root)


@contextlib.contextmanager
def _one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def show(line: str) -> None:
    """Print a line of the comparison."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
