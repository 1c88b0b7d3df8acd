"""CITATION.cff is what citation tools read: it must parse, be complete and name this version."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

import xnas

ROOT = Path(__file__).parents[1]
REQUIRED = ("cff-version", "message", "title", "authors")  # by the CFF 1.2.0 schema
REQUIRED_OF_REFERENCES = ("authors", "title", "type")


@pytest.fixture
def citation() -> dict[str, Any]:
    return yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))


@pytest.fixture
def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def test_citation_has_the_keys_that_the_format_requires(citation: dict[str, Any]) -> None:
    assert [key for key in REQUIRED if not citation.get(key)] == []
    assert citation["cff-version"] == "1.2.0"
    for reference in citation["references"]:
        assert [key for key in REQUIRED_OF_REFERENCES if not reference.get(key)] == []


def test_citation_and_project_agree(citation: dict[str, Any], project: dict[str, Any]) -> None:
    remedy = "edit CITATION.cff in the commit that changes pyproject.toml"
    assert citation["version"] == xnas.__version__, remedy
    assert citation["license"] == project["license"], remedy
    assert [a["name"] for a in citation["authors"]] == [a["name"] for a in project["authors"]], remedy


def test_citation_names_the_paper(citation: dict[str, Any]) -> None:
    (paper,) = citation["references"]
    assert paper["title"] == "XNAS: Neural Architecture Search with Expert Advice"
    assert [a["family-names"] for a in paper["authors"]] == [
        "Nayman",
        "Noy",
        "Ridnik",
        "Friedman",
        "Jin",
        "Zelnik-Manor",
    ]
    assert paper["identifiers"][0]["value"] == "arXiv:1906.08031"
