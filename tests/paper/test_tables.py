"""The paper's tables, typed in again, and our columns next to them."""

from dataclasses import replace

import pytest

from xnas.paper import cell_depths
from xnas.paper import tables as paper_tables
from xnas.paper.compared_rows import ComparedRow
from xnas.paper.found_here import FoundHere
from xnas.records import DepthRow
from xnas.report.tables import table_csv, table_page
from xnas.space import list_cells, zoo_cell

# As printed in arXiv:1906.08031v1: architecture, errors, parameters (M), search cost.
TABLES = {
    1: """
        AutoAugment 1.48 26 20
        NAONet-WS 3.53 2.5 0.3
        PNAS 3.41 3.2 150
        Amoeba-A 3.34 3.2 3150
        DSO-NAS 2.95 3 1
        DARTS(1nd) 2.94 2.9 0.4
        ENAS 2.89 4.6 0.5
        SNAS 2.85 2.8 1.5
        DARTS(2nd) 2.67 3.4 1
        NASNet-A 2.65 3.3 1800
        Amoeba-B 2.55 2.8 3150
        PDARTS 2.50 3.4 0.3
        NAONet 2.11 128 200
        ProxylessNAS 2.08 5.7 10
        ASAP + ET 1.94 3.7 0.2
        SharpDarts 1.93 3.6 0.8
        XNAS-Small 1.81 3.7 0.3
        XNAS-Medium 1.73 5.6 0.3
        XNAS-Large 1.60 7.2 0.3
    """,
    2: """
        SNAS 27.3 4.3 1.5
        ASAP 26.7 5.1 0.2
        DARTS 26.7 4.9 1
        NASNet-A 26.0 5.3 1800
        PNAS 25.8 5.1 150
        Amoeba-A 25.5 5.1 3150
        RandWire 25.3 5.6 0
        SharpDarts 25.1 4.9 0.8
        Amoeba-C 24.3 6.4 3150
        XNAS 24.0 5.2 0.3
    """,
    3: """
        Known SotA 10.7 3.65 1.02 10.7 6.83 26 -
        PDARTS 15.9 - - - - 3.6 0.3
        NAONet-1 15.7 - - - - 10.8 200
        NAONet-2 14.7 - - - - 128 200
        PDARTS-L 14.6 - - - - 11 0.3
        SNAS† 16.5 3.72 1.98 14.7 7.13 2.8 1.5
        PNAS† 15.9 3.72 1.83 12.3 7.03 3.4 150
        Amoeba-A† 15.9 3.8 1.93 11.8 7.18 3.2 3150
        NASNet† 15.8 3.71 1.96 13.4 6.93 3.3 1800
        DARTS† 15.7 3.68 1.95 10.8 6.88 3.4 1
        ASAP† 15.6 3.71 1.81 10.7 6.83 2.5 0.2
        XNAS-Small 13.6 3.64 1.72 6.3 6.0 3.7 0.3
    """,
}
DEPTHS = {
    "SNAS": 0.625,
    "PNAS": 0.5,
    "Amoeba-A": 0.9,
    "NASNet": 0.4,
    "DARTS": 0.625,
    "ASAP": 0.875,
    "XNAS": 1.375,
}


def printed(number):
    """Rows of one of the paper's tables: name, then entries, - for none."""
    columns = {1: 3, 2: 3, 3: 7}[number]
    return [
        (" ".join(words[:-columns]), *words[-columns:])
        for words in map(str.split, TABLES[number].strip().splitlines())
    ]


@pytest.fixture(scope="module")
def tables():
    return {number: paper_tables.table_with_claims(number)[:2] for number in TABLES}


@pytest.mark.parametrize("number", TABLES)
def test_the_first_columns_are_the_papers(tables, number):
    expected = printed(number)
    rows, table = tables[number]
    papers = [line for row, line in zip(rows, table.rows, strict=True) if isinstance(row, ComparedRow)]
    shown = [tuple(entry or "-" for entry in line[: len(expected[0])]) for line in papers]
    assert list(dict.fromkeys(shown)) == expected


@pytest.mark.parametrize("number", TABLES)
def test_every_row_has_a_counted_network_or_a_reason(tables, number):
    rows, table = tables[number]
    assert len(table.rows) == len(rows)
    for row in (row for row in rows if isinstance(row, ComparedRow)):
        if row.cell is None:
            assert row.paper.note.startswith("not ")
            assert row.counted is None
        else:
            assert 0 < row.counted.parameters < row.counted.macs
            assert row.depth == zoo_cell(row.cell).depth
            assert (row.agrees == "no") <= bool(row.paper.note)


FOUND = FoundHere(
    row="XNAS, searched here",
    searches=3,
    search_minutes=7.2,
    device="a GPU",
    seeds=3,
    error=6.5,
    deviation=0.125,
    recipe="quick, 24 epochs",
    network="cifar, 5 cells",
    channels=40,
    parameters=892_810,
    macs=162_996_480,
    depth=1.25,
)


def test_without_runs_of_ours_the_first_table_says_that_it_has_no_row_of_them(monkeypatch):
    monkeypatch.setattr(paper_tables, "found_here", tuple)
    rows, table, claims = paper_tables.table_with_claims(1)
    assert len(table.rows) == len(rows)
    assert table.rows[-1][0] == "XNAS-Large"
    assert "There is no row of our own searches yet" in table.note
    assert "The time was not measured here" in claims[-1].measured
    assert "our own searches" not in paper_tables.table_with_claims(2)[1].note


def test_a_row_of_our_own_searches_ends_the_first_table_alone(monkeypatch):
    monkeypatch.setattr(paper_tables, "found_here", lambda: (FOUND,))
    rows, table, _ = paper_tables.table_with_claims(1)
    assert rows[-1] == FOUND
    found = dict(zip(table.header, table.rows[-1], strict=True))
    assert found["CIFAR-10 error"] == "6.50"
    # 7.2 minutes of 1,440 a day.
    assert (found["parameters (M)"], found["search cost"]) == ("0.89", "0.005")
    assert (found["network"], found["our parameters"]) == ("cifar, 5 cells", 892_810)
    assert (
        "one took 7.2 minutes on one a GPU; recipe quick, 24 epochs, 3 trainings a cell" in found["note"]
    )
    assert "its error does not compare with theirs" in table.note
    assert "XNAS, searched here" in table_page(table)
    assert "XNAS, searched here" in table_csv(table)
    assert paper_tables.table_with_claims(2)[1].rows[-1][0] == "XNAS"


def test_our_own_row_decides_on_no_claim(monkeypatch):
    given = {}
    for name, rows in (("with", (FOUND,)), ("without", ())):
        monkeypatch.setattr(paper_tables, "found_here", lambda rows=rows: rows)
        given[name] = paper_tables.table_with_claims(1)[2]
    assert [c.verdict for c in given["with"]] == [c.verdict for c in given["without"]]
    assert given["with"][:-1] == given["without"][:-1]
    assert "A search of our own took 7.2 minutes on one a GPU" in given["with"][-1].measured


def test_rows_agree_as_their_digits_say(tables):
    found = {(r.paper.row, r.cell): r.agrees for r in tables[1][0] if isinstance(r, ComparedRow)}
    assert found["XNAS-Small", "xnas"] == "yes, truncated"  # 3,793,438 printed 3.7
    assert found["XNAS-Medium", "xnas"] == "yes, rounded"  # 5,594,918 printed 5.6
    assert found["XNAS-Large", "xnas"] == "yes, rounded"  # 7,174,760 printed 7.2
    assert found["PNAS", "pnas"] == "no"
    assert found["SNAS", "snas_moderate"] == "yes"  # 2,847,358 printed 2.8
    (row,) = [row for row in tables[2][0] if row.paper.row == "XNAS"]
    assert (row.agrees, row.counted.parameters) == ("yes, truncated", 5_258_564)
    assert (row.counted.spec.stem_channels, row.counted.spec.squeeze_excitation) == (56, True)


def test_the_depth_table_has_the_papers_depths_and_every_cell():
    rows, random = paper_tables.depth_records()
    assert {row.row: row.printed for row in rows if row.row} == DEPTHS
    assert sorted(row.cell for row in rows) == list_cells()
    table = paper_tables.depth_table(rows, random)
    assert len(table.rows) == len(list_cells()) + 1
    reached = {row.cell: row.reached for row in rows if row.row}
    # Every published SNAS cell has depth 0.5; PNAS has 1.0, and 0.7 with its inputs swapped.
    assert [reached[f"snas_{kind}"] for kind in ("mild", "moderate", "aggressive")] == ["none"] * 3
    pnas = next(row for row in rows if row.cell == "pnas")
    assert (pnas.depth, pnas.swapped, pnas.reached) == (1.0, 0.7, "renumbered")
    told = {row[2]: row[-1] for row in table.rows}
    assert told["snas_mild"].startswith("differs: half of the edges come from each input")
    assert told["pnas"].startswith("differs; another numbering")
    assert told["xnas"] == ""


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"reached": "none", "least": 0.4}, "differs: no numbering"),
        ({"reached": "inputs swapped"}, "differs, unless the inputs are swapped"),
        ({"reached": None}, ""),
    ],
)
def test_a_depth_that_differs_says_why(changes, words):
    random = cell_depths.random_depths(1.375, cells=10)
    row = replace(cell_depths.depth_rows()[0], **changes)
    assert isinstance(row, DepthRow)
    assert paper_tables.depth_table([row], random).rows[0][-1].startswith(words)
