"""`make docs` builds the pages and the reference as a site; warnings and dead links fail it."""

import re
import subprocess
import sys
from dataclasses import fields
from html import unescape
from pathlib import Path

import pytest

import xnas
from xnas.options import help_of

ROOT = Path(__file__).parents[1]
BUILD = ROOT / ".ci" / "docs"

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    out = tmp_path_factory.mktemp("site") / "out"
    command = [sys.executable, BUILD / "build.py", out]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    return out


def text_of(page):
    words = unescape(re.sub(r"<[^>]+>", "", page.read_text("utf-8")))
    return " ".join(words.split())


def test_the_reference_has_every_public_name(site):
    reference = "".join(path.read_text("utf-8") for path in (site / "reference").glob("*.html"))
    names = [name for name in xnas.__all__ if name != "__version__"]
    assert [name for name in names if f'id="xnas.{name}"' not in reference] == []
    assert 'id="xnas.Callback.after_epoch"' in reference
    assert 'id="xnas.runs.results.SearchResult.undecided"' in reference


@pytest.mark.parametrize("config", [xnas.SearchConfig, xnas.TrainConfig, xnas.FitConfig])
def test_the_reference_has_every_setting_with_its_help(site, config):
    page = site / "reference" / "search-and-training.html"
    source, text = page.read_text("utf-8"), text_of(page)
    for field in fields(config):
        assert f'id="xnas.{config.__name__}.{field.name}"' in source
        assert help_of(config)[field.name].replace("`", "") in text


def test_names_in_the_list_of_names_lead_to_the_reference(site):
    page = (site / "docs" / "api.html").read_text("utf-8")
    for target in ("search-and-training.html#xnas.search", "xnas-methods.html#xnas.methods.Method"):
        assert f'href="../reference/{target}"' in page


def test_no_page_loads_anything_from_elsewhere(site):
    pages = [*site.rglob("*.html")]
    assert len(pages) > 30
    for page in pages:
        loaded = re.findall(r"<(?:script|link|img|iframe)\b[^>]*", page.read_text("utf-8"))
        assert [tag for tag in loaded if re.search(r"(?:src|href)=.(?:https?:)?//", tag)] == []
    styles = "".join(path.read_text("utf-8") for path in site.rglob("*.css"))
    assert not re.search(r"url\(.?(?:https?:)?//", styles)


def test_the_site_opens_with_the_readme(site):
    assert (site / "index.html").read_bytes() == (site / "README.html").read_bytes()
    assert "docs/guide.html" in (site / "index.html").read_text("utf-8")


@pytest.mark.parametrize("link", ["missing.md", "#none-such", "README.md#none-such"])
def test_a_dead_link_or_anchor_fails(link, tmp_path):
    pages = tmp_path / "pages"
    (pages / "docs").mkdir(parents=True)
    (pages / "README.md").write_text(f"# A\n\n[b]({link})\n")
    (pages / "docs" / "README.md").write_text("# Documentation\n")
    command = [sys.executable, "-m", "sphinx", "--fail-on-warning", "-c", BUILD, pages, tmp_path / "out"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert link.split("#")[-1].removesuffix(".md") in done.stderr
