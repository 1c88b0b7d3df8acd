"""Settings of Sphinx, and what it does beyond reading pages: navigation, and links from docs/api.md."""

import dataclasses
import posixpath
import re
import shutil
import sys
from pathlib import Path

from sphinx.application import Sphinx

import xnas

sys.path.insert(0, str(Path(__file__).parent))
import reference

project = "xnas"
version = release = xnas.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc"]
root_doc = "README"
html_theme = "furo"  # has no fonts, scripts or styles from elsewhere
html_title = f"xnas {version}"
html_copy_source = False
html_show_copyright = False
smartquotes = False
default_role = "py:obj"  # docstrings have names in single backticks
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
python_maximum_signature_line_length = 90
toc_object_entries_show_parents = "hide"
myst_heading_anchors = 4
suppress_warnings = ["myst.header"]  # the first heading of a page of GitHub's may be of any level

LIST = "docs/README"


def setup(app: Sphinx) -> None:
    """Register what follows."""
    app.connect("source-read", add_navigation)
    app.connect("source-read", link_names)
    app.connect("autodoc-process-signature", leave_out_fields)
    app.connect("build-finished", open_with_readme)


def add_navigation(app: Sphinx, page: str, source: list[str]) -> None:
    """Add the table of contents, which is the list of pages in docs/README.md, to the first page."""
    if page != root_doc:
        return
    text = (Path(app.srcdir) / f"{LIST}.md").read_text(encoding="utf8")
    source[0] += _toctree("Documentation", [("All pages", f"/{LIST}")])
    for caption, section in re.findall(r"^## (.+?)$(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL):
        listed = re.findall(r"^- \[([^\]]+)\]\(([^)]+)\.md\)", section, flags=re.MULTILINE)
        pages = [(title, "/" + posixpath.normpath(f"docs/{target}")) for title, target in listed]
        source[0] += _toctree(caption, pages)
    titles = [title for title, _ in reference.pages()]
    source[0] += _toctree(
        "Reference", [(title, f"/reference/{reference.slug(title)}") for title in titles]
    )


def _toctree(caption: str, pages: list[tuple[str, str]]) -> str:
    entries = "\n".join(f"{title} <{page}>" for title, page in pages)
    return f"\n```{{toctree}}\n:hidden:\n:caption: {caption}\n\n{entries}\n```\n"


def link_names(app: Sphinx, page: str, source: list[str]) -> None:  # noqa: ARG001 - Sphinx's arguments
    """Link the names in docs/api.md to the reference."""
    if page != "docs/api":
        return
    module, lines = "xnas", []
    for line in source[0].splitlines():
        if heading := re.match(r"### `([\w.]+)`", line):
            module = heading[1]
        row = re.match(r"\| `(\w+)` (\|.*)", line)
        home = "xnas" if row and row[1] in xnas.__all__ else module
        lines.append(f"| {{py:obj}}`{row[1]} <{home}.{row[1]}>` {row[2]}" if row else line)
    source[0] = "\n".join(lines)


def leave_out_fields(*given: object) -> tuple[str, str] | None:
    """Give no signature to classes whose fields are described one by one, and to protocols."""
    _app, what, _name, value, *_ = given
    plain = dataclasses.is_dataclass(value) or getattr(value, "_is_protocol", False)
    return ("", "") if what == "class" and plain else None


def open_with_readme(app: Sphinx, error: Exception | None) -> None:
    """Let the site open with README.html."""
    if error is None:
        shutil.copy(Path(app.outdir) / "README.html", Path(app.outdir) / "index.html")
