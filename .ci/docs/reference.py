"""Pages of the reference: each names its classes and functions, and Sphinx reads their docstrings.

What is listed is what docs/api.md lists: one page per section or package of it.
"""

import importlib
import inspect
import re
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import xnas
from xnas.options import Options

sys.path.insert(0, str(Path(__file__).parents[1]))
import api

RETURNED = "What runs return"
PACKAGES = "Packages"


def write(folder: Path) -> None:
    """Write one page for each section of docs/api.md, and one for each package."""
    folder.mkdir(parents=True)
    for title, entries in pages():
        heading = f"`{title}`" if title.startswith("xnas.") else title
        text = "\n".join(_directive(importlib.import_module(module), name) for module, name in entries)
        path = folder / f"{slug(title)}.md"
        path.write_text(f"# {heading}\n\n```{{eval-rst}}\n{text}\n```\n", encoding="utf8")


def pages() -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Title of each page, and its entries as (module, name); public names are in their section alone."""
    for title, names in api.SECTIONS.items():
        yield title, [("xnas", name) for name in names]
    yield RETURNED, [(module, name) for module, names in api.RETURNED.items() for name in names]
    for package in api.PACKAGES:
        names = importlib.import_module(f"xnas.{package}").__all__
        yield f"xnas.{package}", [(f"xnas.{package}", n) for n in names if n not in xnas.__all__]


def slug(title: str) -> str:
    """The file of a page, without its ending."""
    return re.sub(r"\W+", "-", title.lower())


def _directive(module: ModuleType, name: str) -> str:
    """What makes Sphinx describe one name."""
    value = inspect.unwrap(getattr(module, name))
    if inspect.isclass(value):
        kind = "autoexception" if issubclass(value, Exception) else "autoclass"
        options = ["members", "undoc-members", "exclude-members: GROUP"]
        options += ["inherited-members"] * issubclass(value, Options)
        lines = [f".. {kind}:: {module.__name__}::{name}", *(f"   :{option}:" for option in options)]
        return "\n".join(lines).replace(": GROUP:", ": GROUP") + "\n"
    if inspect.isfunction(value):
        return f".. autofunction:: {module.__name__}::{name}\n"
    text = textwrap.indent(inspect.cleandoc(api.docstring(module, name)), "   ")
    return f".. py:data:: {module.__name__}.{name}\n\n{text}\n"
