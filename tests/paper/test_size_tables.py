"""Tables of the sizes of published cells and of XNAS's networks."""

import pytest

from xnas.paper import size_tables


@pytest.mark.slow
def test_sizes_are_those_of_the_networks():
    networks = size_tables.size_records(["xnas"])
    variants = size_tables.xnas_variants()
    table, others = size_tables.size_table(networks), size_tables.variant_table(variants)
    found = dict(zip(table.header, table.rows[0], strict=True))
    assert found["CIFAR 44: parameters"] == 5_594_918
    assert found["ImageNet 46, stem 56 SE: MACs"] == 568_761_264
    names = ("network", "channels", "num_classes", "in_chans", "auxiliary", "squeeze_excitation")
    counts = {tuple(getattr(n.spec, name) for name in names): n for n in variants}
    small = counts["cifar", 36, 10, 3, False, False]
    # The tower alone: 476,426 parameters at 36 channels, none of which a prediction uses.
    tower = counts["cifar", 36, 10, 3, True, False]
    assert (tower.parameters - small.parameters, tower.macs) == (476_426, small.macs)
    assert counts["cifar", 36, 100, 3, False, False].parameters == 3_845_368
    assert counts["cifar", 36, 10, 1, False, False].parameters == 3_782_926
    assert len(others.rows) == len(variants)


def test_plain_values_repeat_the_record():
    (first, *_) = records = size_tables.size_records(["xnas"])
    numbers = size_tables.size_numbers(records)
    assert len(numbers) == len(records)
    assert numbers[0]["cell"] == "xnas"
    assert (numbers[0]["parameters"], numbers[0]["macs"]) == (first.parameters, first.macs)
    assert numbers[0]["channels"] == first.spec.channels


def test_networks_without_macs_have_no_column_of_them():
    header = size_tables.size_table(size_tables.size_records(["xnas"])).header
    assert "CIFAR 36: MACs" in header
    assert "CIFAR 44: MACs" not in header
