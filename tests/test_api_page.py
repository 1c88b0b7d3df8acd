"""docs/api.md lists the public names as they are."""

import importlib
import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "api.md").read_text("utf-8")


@pytest.fixture(scope="module")
def api():
    spec = importlib.util.spec_from_file_location("api", ROOT / ".ci" / "api.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_has_every_public_name_and_what_runs_return(api):
    stable, written = (text.split("## Packages")[0] for text in (api.page(), PAGE))
    assert written == stable, "write the page again: python .ci/api.py"


def test_constants_are_described_by_the_docstring_below_their_assignment():
    rows = dict(re.findall(r"^\| `(\w+)` \| (.*) \|$", PAGE, flags=re.MULTILINE))
    assert rows["SPACES"] == "Search spaces by name; add your own with `SPACES.add`"
    assert not [name for name, text in rows.items() if not text.strip()]


def test_the_page_lists_the_names_of_every_package_that_it_mentions(api):
    packages = PAGE.split("## Packages")[1]
    sections = dict(part.split("`", 1) for part in packages.split("### `xnas.")[1:])
    assert list(sections) == list(api.PACKAGES)
    for name, text in sections.items():
        missing = [
            key for key in importlib.import_module(f"xnas.{name}").__all__ if f"| `{key}` |" not in text
        ]
        assert not missing, f"xnas.{name}: {missing}; write the page again: python .ci/api.py"
