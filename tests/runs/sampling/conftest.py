import pytest
from benchmark_files import read_once
from nasbench201 import rows, write_table

from xnas import SampleConfig
from xnas.runs.sampling import sample_job


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    return write_table(tmp_path_factory.mktemp("table") / "table.csv", rows())


@pytest.fixture(scope="module")
def _read_once():
    with read_once():
        yield


@pytest.fixture
def no_figure(monkeypatch):
    """Figures take a second each."""
    monkeypatch.setattr(sample_job, "_draw", lambda *_: None)


@pytest.fixture
def config(table, _read_once, tmp_path, request):
    """A search of twelve cells, three at a time, on a made table."""
    if "figure" not in request.node.name:
        request.getfixturevalue("no_figure")
    return SampleConfig(
        space="nasbench201",
        evaluator="table",
        truth=table,
        settings="population=5,sample=2",
        evaluations=12,
        at_once=3,
        out=tmp_path / "run",
    )
