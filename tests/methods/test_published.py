"""Published figures are data about registered methods; none of their values is asserted."""

from xnas.methods import METHODS
from xnas.methods.published import BENCHMARK, CIFAR10, SOURCES, BenchmarkFigure, Cifar10Figure


def test_figures_belong_to_registered_methods_and_have_a_source():
    for table in (CIFAR10, BENCHMARK):
        assert set(table) <= set(METHODS)
        assert {figure.source for figure in table.values()} <= set(SOURCES)


def test_how_figures_read():
    assert str(Cifar10Figure(error=2.5, spread=0.06, source="code")) == "2.50 ± 0.06"
    assert str(Cifar10Figure(error=2.5, source="code")) == "2.50"
    assert str(BenchmarkFigure(cifar10=90.0, source="code", imagenet16=40.0)) == "90.00 / - / 40.00"
