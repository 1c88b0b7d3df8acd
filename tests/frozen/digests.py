"""What is frozen of a run folder: its files, its settings, and a digest of each file's content.

A digest leaves out what depends on the machine or the time: costs, versions and paths.
"""

import hashlib
import json
import platform
import re
from pathlib import Path

import torch
from safetensors.torch import load_file

HERE = Path(__file__).parent
VARYING = ("cost", "made_with")


def machine() -> dict[str, str]:
    """Where a run's floats are comparable bit for bit."""
    model = platform.processor()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        found = re.search(r"model name\s*: (.*)", cpuinfo.read_text(encoding="utf8"))
        model = found[1] if found else model
    return {
        "torch": torch.__version__,
        "capability": torch.backends.cpu.get_cpu_capability(),
        "architecture": platform.machine(),
        "processor": model,
    }


def run_record(run: Path, root: Path) -> dict[str, object]:
    """All that is frozen of the run folder `run`; paths under `root` count as equal."""
    config = _without_varying(_json(run / "config.json", root))
    settings = {name: value for name, value in config["config"].items() if name != "out"}
    return {
        "files": files(run),
        "settings": {**{k: v for k, v in config.items() if not isinstance(v, dict)}, **settings},
        "digests": dict(sorted(_digests(run, root).items())),
    }


def files(folder: Path) -> list[str]:
    """Names of the files in a folder; those that carry a time or a checksum are given as patterns."""
    names = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    return sorted({re.sub(r"^(checkpoints|tensorboard)/.*", r"\1/*", name) for name in names})


def _digests(run: Path, root: Path):
    found = {}
    for path in run.rglob("*"):
        name = str(path.relative_to(run))
        if name == "config.json" or path.is_dir():
            continue
        if path.suffix == ".json":
            found[name] = digest(_without_varying(_json(path, root)))
        elif path.suffix == ".jsonl":
            lines = path.read_text(encoding="utf8").splitlines()
            found[name] = digest([_without_varying(json.loads(line)) for line in lines])
        elif path.suffix == ".safetensors":
            found[name] = digest(load_file(path))
    last = max(run.glob("checkpoints/*.pt"))
    for name, part in torch.load(last, map_location="cpu", weights_only=True).items():
        if list(_tensors(part)):
            found[f"checkpoint: {name}"] = digest(part, tensors_only=True)
    return found


def digest(value: object, *, tensors_only: bool = False) -> str:
    """SHA-256 of tensors, by name, and of all else as JSON."""
    summed = hashlib.sha256()
    for name, tensor in sorted(_tensors(value)):
        summed.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        summed.update(tensor.detach().contiguous().flatten().view(torch.uint8).numpy().tobytes())
    if not tensors_only:
        summed.update(json.dumps(value, sort_keys=True, default=lambda _: None).encode())
    return summed.hexdigest()[:24]


def _tensors(value: object, name: str = ""):
    if isinstance(value, torch.Tensor):
        yield name, value
    elif isinstance(value, dict | list | tuple):
        for key, part in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _tensors(part, f"{name}/{key}")


def _json(path: Path, root: Path):
    return json.loads(path.read_text(encoding="utf8").replace(str(root), "ROOT"))


def _without_varying(value):
    if isinstance(value, dict):
        return {name: _without_varying(part) for name, part in value.items() if name not in VARYING}
    return [_without_varying(part) for part in value] if isinstance(value, list) else value


def differences(frozen: object, found: object, name: str = "") -> list[str]:
    """A line for each difference, with its place."""
    if isinstance(frozen, dict) and isinstance(found, dict):
        return [
            line
            for key in sorted({*frozen, *found})
            for line in differences(frozen.get(key), found.get(key), f"{name}/{key}".lstrip("/"))
        ]
    if isinstance(frozen, list) and isinstance(found, list) and len(frozen) == len(found):
        pairs = enumerate(zip(frozen, found, strict=True), start=1)
        return [line for number, pair in pairs for line in differences(*pair, f"{name}:{number}")]
    return [] if frozen == found else [f"{name}: frozen {_brief(frozen)}, now {_brief(found)}"]


def _brief(value: object) -> str:
    text = json.dumps(value)
    return text if len(text) <= 300 else f"{text[:300]}..."


def frozen(name: str) -> dict[str, object]:
    """What is frozen under a name."""
    return json.loads((HERE / f"{name}.json").read_text(encoding="utf8"))


def comparable(frozen: dict, found: dict) -> tuple[dict, dict]:
    """Both without digests of floats if they are of different machines."""
    if frozen.get("machine") == found.get("machine"):
        return frozen, found
    return tuple(
        {key: value for key, value in record.items() if key not in {"machine", "digests"}}
        for record in (frozen, found)
    )
