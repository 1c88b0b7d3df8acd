"""Write docs/api.md: every public name with its signature and the first lines of its docstring.

    python .ci/api.py

`tests/test_api_page.py` compares the page with what this script would write.
"""

import ast
import importlib
import inspect
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import xnas

PAGE = Path(__file__).parents[1] / "docs" / "api.md"
HEAD = """# Public names

Written by `python .ci/api.py` from the docstrings; a test compares. [guide.md](guide.md) explains how
the names work together, and `help(xnas.NAME)` shows the whole docstring. Names in `xnas` are stable:
from 0.1.0 on they change only under a new minor version, with an entry in the changelog.
"""
PACKAGES_HEAD = """## Packages

Building blocks for your own supernets, methods and experiments. They may change in a minor version.
"""
SECTIONS = {
    "Search and training": [
        *("fit", "resume_fit", "FitConfig"),
        *(
            "search",
            "resume_search",
            "SearchConfig",
            "faithful",
            "train",
            "resume_training",
            "TrainConfig",
        ),
        *("sample", "resume_sampling", "SampleConfig", "Callback"),
        *("compare", "resume_comparison", "CompareConfig"),
        *("write_report", "write_figures"),
        *("load", "Classifier"),
    ],
    "Data": ["ImageData"],
    "Cells and networks": [
        *("Genotype", "Wiring", "discretize", "cell_depth", "create_model", "list_cells"),
        *("count_parameters", "count_macs"),
    ],
    "The optimizer": ["ExpertsOptimizer", "Forecaster", "split_parameters", "uniform_mixture"],
    "Theory": ["replay", "Replay", "optimal_learning_rate", "effective_horizon", "normalized_entropy"],
    "Errors": ["XnasError", "ConfigError", "DatasetError", "GenotypeError", "RoundError"],
}
PACKAGES = ("theory", "nn", "space", "methods", "samplers", "engine", "data", "benchmarks")
WIDTH = 100


def page() -> str:
    """Return the text of the page."""
    listed = {name for names in SECTIONS.values() for name in names} | {"__version__"}
    if listed != set(xnas.__all__):
        raise SystemExit(f"SECTIONS and xnas.__all__ differ in {sorted(listed ^ set(xnas.__all__))}")
    parts = [HEAD]
    for title, names in SECTIONS.items():
        parts.append(f"## {title}\n")
        parts += [_entry(name, getattr(xnas, name)) for name in names]
    parts += [PACKAGES_HEAD, *map(_package, PACKAGES)]
    return "\n".join(parts)


def _entry(name: str, value: object) -> str:
    """Describe one name: signature and the first paragraph of the docstring."""
    return f"```python\n{_signature(name, value)}\n```\n\n{_first_paragraph(value)}\n"


def _signature(name: str, value: object) -> str:
    if inspect.isclass(value) and issubclass(value, Exception):
        return f"class {name}({', '.join(base.__name__ for base in value.__bases__)})"
    signature = inspect.signature(value)
    returned = "" if inspect.isclass(value) else f" -> {_annotation(signature.return_annotation)}"
    parameters = _parameters(signature)
    text = f"{name}({', '.join(parameters)}){returned}"
    if len(text) <= WIDTH:
        return text
    lines = ",\n    ".join(parameters)
    return f"{name}(\n    {lines},\n){returned}"


def _parameters(signature: inspect.Signature) -> list[str]:
    texts, starred = [], False
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and not starred:
            texts.append("*")
        starred |= parameter.kind in (parameter.KEYWORD_ONLY, parameter.VAR_POSITIONAL)
        stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
        text = f"{stars}{parameter.name}: {_annotation(parameter.annotation)}"
        texts.append(text if parameter.default is parameter.empty else f"{text} = {parameter.default!r}")
    return texts


def _annotation(annotation: object) -> str:
    """Return an annotation as it is written in the code."""
    return annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)


def _first_paragraph(value: object) -> str:
    return " ".join((inspect.getdoc(value) or "").split("\n\n")[0].split())


def _package(name: str) -> str:
    """Describe the names of one package, one line each."""
    module = importlib.import_module(f"xnas.{name}")
    rows = []
    for key in module.__all__:
        first = _summary(module, key)
        if not first:
            raise SystemExit(f"xnas.{name}.{key} has no docstring")
        rows.append(f"| `{key}` | {first.rstrip('.').replace('|', chr(92) + '|')} |")
    summary = (inspect.getdoc(module) or "").split("\n")[0]
    return f"### `xnas.{name}`\n\n{summary}\n\n| name | |\n| --- | --- |\n" + "\n".join(rows) + "\n"


def _summary(module: ModuleType, name: str) -> str:
    """Return the first line of a docstring, for a constant that of the string below its assignment."""
    value = inspect.unwrap(getattr(module, name))
    defined = inspect.isclass(value) or inspect.isfunction(value)
    text = inspect.getdoc(value) if defined else _docstring_below(module, name)
    return (text or "").split("\n")[0]


def _docstring_below(module: ModuleType, name: str) -> str:
    """Return the string below the assignment of `name`, in the module that makes it."""
    statements = ast.parse(inspect.getsource(module)).body
    for statement, following in pairwise([*statements, ast.Pass()]):
        match statement:
            case ast.ImportFrom(module=str(origin)) if name in [alias.name for alias in statement.names]:
                return _docstring_below(importlib.import_module(origin), name)
            case (
                ast.Assign(targets=[ast.Name(id=assigned)]) | ast.AnnAssign(target=ast.Name(id=assigned))
            ):
                if assigned == name:
                    match following:
                        case ast.Expr(value=ast.Constant(value=str(text))):
                            return text
    return ""


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf8")
