"""Write docs/api.md: every public name with the first line of its docstring.

    python .ci/api.py

`.ci/site.py` makes the reference of the same names, with signatures, fields and attributes, and
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

Written by `python .ci/api.py` from the docstrings; a test compares. The site (`make docs`) has a
reference with signatures, fields and attributes, and so has `help(xnas.NAME)`. Names in `xnas` are
stable: from 0.1.0 on they change only under a new minor version, with an entry in the changelog.
"""
RETURNED_HEAD = """## What runs return

Classes of `xnas.runs` and `xnas.records`: what `fit`, `search`, `train`, `sample` and `compare` return,
and what callbacks are given.
"""
PACKAGES_HEAD = """## Packages

Building blocks for your own supernets, methods and experiments. They may change in a minor version.
"""
SECTIONS = {
    "Search and training": [
        *("fit", "resume_fit", "FitConfig"),
        *("search", "resume_search", "SearchConfig", "faithful"),
        *("train", "resume_training", "TrainConfig"),
        *("sample", "resume_sampling", "SampleConfig"),
        *("compare", "resume_comparison", "CompareConfig"),
        *("Callback", "write_report", "write_figures"),
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
RETURNED = {
    "xnas.runs.results": ["FitResult", "SearchResult", "TrainResult", "SampleResult"],
    "xnas.runs.comparison.compare": ["CompareResult"],
    "xnas.records": [
        *("SearchEpoch", "EdgeChoice", "Deletion", "Gap", "Truth", "Judgement", "Ledger", "Wipeout"),
        *("TrainEpoch", "Evaluation", "CalibrationBin", "EpochCost", "Prediction", "Sampled"),
        *("FitPlan", "FitSummary", "FitRow", "RunComparison", "ComparedRun", "EntrySummary"),
        "Difference",
    ],
}
PACKAGES = ("theory", "nn", "space", "methods", "samplers", "engine", "data", "benchmarks")


def page() -> str:
    """Return the text of the page."""
    listed = {name for names in SECTIONS.values() for name in names} | {"__version__"}
    if listed != set(xnas.__all__):
        raise SystemExit(f"SECTIONS and xnas.__all__ differ in {sorted(listed ^ set(xnas.__all__))}")
    parts = [HEAD]
    for title, names in SECTIONS.items():
        parts.append(f"## {title}\n\n{_table(xnas, names)}")
    parts.append(RETURNED_HEAD)
    for path, names in RETURNED.items():
        parts.append(f"### `{path}`\n\n{_table(importlib.import_module(path), names)}")
    parts += [PACKAGES_HEAD, *map(_package, PACKAGES)]
    return "\n".join(parts)


def _package(name: str) -> str:
    module = importlib.import_module(f"xnas.{name}")
    summary = (inspect.getdoc(module) or "").split("\n")[0]
    return f"### `xnas.{name}`\n\n{summary}\n\n{_table(module, module.__all__)}"


def _table(module: ModuleType, names: list[str]) -> str:
    """Describe names of a module, one line each."""
    rows = []
    for name in names:
        first = docstring(module, name).split("\n")[0]
        if not first:
            raise SystemExit(f"{module.__name__}.{name} has no docstring")
        rows.append(f"| `{name}` | {first.rstrip('.').replace('|', chr(92) + '|')} |")
    return "| name | |\n| --- | --- |\n" + "\n".join(rows) + "\n"


def docstring(module: ModuleType, name: str) -> str:
    """Return the docstring of a name, for a constant the string below its assignment."""
    value = inspect.unwrap(getattr(module, name))
    text = inspect.getdoc(value) if is_defined(value) else _docstring_below(module, name)
    return text or ""


def is_defined(value: object) -> bool:
    """Whether a value is a class or a function, which has a docstring of its own."""
    return inspect.isclass(value) or inspect.isfunction(value)


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
