"""Results: short to print, with the cell as a genotype."""

from xnas import Genotype
from xnas.runs.results import SearchResult, TrainResult


def test_results_are_printed_in_one_short_line():
    cell = Genotype.random("darts", 0)
    search = SearchResult(
        out="runs/a", genotype=cell, epochs=(), rounds=40, settled_at=0, ledgers={"normal": "long" * 999}
    )
    assert repr(search) == "SearchResult(out='runs/a', space='darts', epochs=0, rounds=40)"
    train = TrainResult(out="runs/b", epochs=(), test=None, parameters=12, macs=34)
    assert repr(train) == (
        "TrainResult(out='runs/b', epochs=0, test_accuracy=None, parameters=12, macs=34)"
    )
