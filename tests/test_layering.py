"""Each layer imports only from layers above it; the core needs torch and numpy alone."""

import ast
import sys
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "src" / "xnas"

LAYERS = [
    "errors",
    "records",
    "words",
    "registry",
    "files",
    "options",
    "data_options",
    "theory",
    "toys",
    "optim",
    "kernels",
    "nn",
    "space",
    "methods",
    "samplers",
    "engine",
    "data",
    "benchmarks",
    "report",
    "process",
    "workers",
    "model",
    "runs",
    "bench",
    "paper",
    "cli",
    "timm",
    "public",
]
ABOVE = {layer: set(LAYERS[:index]) for index, layer in enumerate(LAYERS)}
ABOVE["records"] = set()  # stdlib only
ABOVE["registry"] = ABOVE["options"] = {"errors", "words"}
ABOVE["data_options"] = {"errors", "options"}
ABOVE["files"] = ABOVE["words"] = set()
ABOVE["report"] = {"errors", "records", "words"}
ABOVE["samplers"] = {"errors", "records", "registry", "words", "options", "space"}
ABOVE["engine"] -= {"data", "benchmarks"}
ABOVE["data"] = {"errors", "records", "registry", "files", "words", "options", "data_options"}
ABOVE["methods"] -= {"space", "nn", "kernels", "toys"}
ABOVE["toys"] = {"errors", "records", "theory"}
ABOVE["optim"] = {"errors", "records", "theory"}
ABOVE["nn"] = {"errors", "registry", "theory", "kernels"}
ABOVE["kernels"] = {"errors"}
ABOVE["timm"] = {"errors", "registry", "space", "data"}

STDLIB_ONLY = {"errors", "records", "registry", "files", "words", "options", "data_options"}
CORE = {"theory", "toys", "optim", "nn", "kernels", "space", "methods", "samplers", "engine"}


def imports(path):
    """Every module that a file imports anywhere, with the line."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf8"))):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: imports are absolute here"
            if node.module == "xnas":
                yield from ((f"xnas.{alias.name}", node.lineno) for alias in node.names)
            else:
                yield node.module, node.lineno


def layer_of(path):
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def offences(files):
    for path in files:
        layer = layer_of(path)
        if layer in {"__init__", "__main__"}:
            continue
        for module, line in imports(path):
            top, *rest = module.split(".")
            where = f"{path.relative_to(SOURCE.parent)}:{line} imports {module}"
            if top != "xnas":
                if layer in STDLIB_ONLY and top not in sys.stdlib_module_names:
                    yield f"{where}: the layer {layer} is for the standard library"
                if layer in CORE and top not in sys.stdlib_module_names | {"torch", "numpy", "triton"}:
                    yield f"{where}: the core needs torch and numpy alone"
            elif rest[0] != layer and rest[0] not in ABOVE[layer] and rest != ["__version__"]:
                yield f"{where}: {layer} may not import {rest[0]}"


def test_every_import_goes_up():
    files = sorted(SOURCE.rglob("*.py"))
    assert len(files) > 20
    assert list(offences(files)) == []


def test_every_folder_is_a_layer():
    found = {layer_of(path) for path in SOURCE.rglob("*.py")} - {"__init__", "__main__"}
    assert found <= set(LAYERS)


def test_the_check_sees_a_wrong_import(tmp_path, monkeypatch):
    package = tmp_path / "src" / "xnas"
    (package / "theory").mkdir(parents=True)
    bad = package / "theory" / "bad.py"
    lines = ("import scipy", "from xnas.optim import ExpertsOptimizer", "from xnas import Forecaster")
    bad.write_text("\n".join(lines), encoding="utf8")
    monkeypatch.setattr(f"{__name__}.SOURCE", package)
    found = list(offences([bad]))
    assert len(found) == 3
    assert "theory/bad.py:2 imports xnas.optim: theory may not import optim" in found[1]


def test_no_file_is_called_utils():
    assert not list(SOURCE.rglob("*util*"))
