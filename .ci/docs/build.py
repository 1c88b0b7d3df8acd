"""Build the documentation as a site: the pages of docs/, and a reference written from docstrings.

    python .ci/docs/build.py build/site

Sphinx reads a copy of the pages with the files that they link to, all in their places in the repository,
so that one relative link works here and in the site. Warnings are errors, and a dead link or anchor is a
warning.
"""

import re
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import reference
from sphinx.cmd.build import main

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PAGES = ("*.md", "docs/*.md", "experiments/README.md")


def copy_pages(folder: Path) -> None:
    """Copy all pages, and the files of the repository that they link to."""
    for page in [path for pattern in PAGES for path in sorted(ROOT.glob(pattern))]:
        _copy(page, folder)
        for target in re.findall(r"\]\(([^)#:]+)[)#]", page.read_text(encoding="utf8")):
            linked = (page.parent / target).resolve()
            if linked.is_file() and linked.is_relative_to(ROOT):
                _copy(linked, folder)


def _copy(path: Path, folder: Path) -> None:
    copied = folder / path.relative_to(ROOT)
    copied.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(path, copied)


def build(out: Path) -> int:
    """Write the site into `out`; a status other than 0 says that something was wrong, as printed."""
    with TemporaryDirectory() as scratch:
        pages, trees = Path(scratch, "pages"), Path(scratch, "trees")
        copy_pages(pages)
        reference.write(pages / "reference")
        shutil.rmtree(out, ignore_errors=True)
        options = ["--fail-on-warning", "--keep-going", "--quiet", "--fresh-env"]
        return main([*options, "-c", str(HERE), "-d", str(trees), str(pages), str(out)])


if __name__ == "__main__":
    sys.exit(build(Path(*sys.argv[1:])))
