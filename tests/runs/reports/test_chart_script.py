"""The script of charts is bundled once and kept for other processes."""

import pytest

from xnas.runs.reports import chart_script as module
from xnas.runs.reports.chart_script import LEAST_BYTES, chart_script


@pytest.fixture
def bundles(monkeypatch, tmp_path):
    """How often the script was bundled, with a cache of its own."""
    made = []
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(module, "has_charts", lambda: True)
    monkeypatch.setattr(module, "version", lambda: "vega-1")
    monkeypatch.setattr(module, "script", lambda: made.append(1) or "x" * LEAST_BYTES)
    chart_script.cache_clear()
    yield made
    chart_script.cache_clear()


def test_another_process_takes_the_kept_script(bundles):
    first = chart_script()
    chart_script.cache_clear()
    assert chart_script() == first
    assert len(bundles) == 1


def test_a_torn_script_is_made_again(bundles, tmp_path):
    chart_script()
    (tmp_path / "xnas/vega-1.js").write_text("x" * 10, encoding="utf8")
    chart_script.cache_clear()
    assert len(chart_script()) == LEAST_BYTES
    assert len(bundles) == 2


def test_a_cache_that_cannot_be_written_does_no_harm(bundles, tmp_path):
    (tmp_path / "xnas").write_text("a file", encoding="utf8")
    assert len(chart_script()) == LEAST_BYTES
    assert len(bundles) == 1


def test_without_the_extra_there_is_no_script(bundles, monkeypatch):
    monkeypatch.setattr(module, "has_charts", lambda: False)
    assert chart_script() is None
    assert bundles == []
