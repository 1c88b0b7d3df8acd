"""Claims on the tables: the paper's entries give these verdicts, and other entries would give others."""

from dataclasses import replace

import pytest

from xnas.paper import cell_depths, size_tables
from xnas.paper.compared_rows import compared_rows
from xnas.paper.network_sizes import CIFAR, counted_network
from xnas.paper.table_claims import (
    depth_claims,
    size_claims,
    table_1_claims,
    table_2_claims,
    table_3_claims,
)


@pytest.fixture(scope="module")
def rows():
    return {number: list(compared_rows(number)) for number in (1, 2, 3)}


def found(claims, start):
    (claim,) = [claim for claim in claims if claim.statement.startswith(start)]
    return claim


def changed(rows, name, **changes):
    """The rows with other printed entries in those of that name."""
    return [
        replace(row, paper=replace(row.paper, **changes)) if row.paper.row == name else row
        for row in rows
    ]


def test_the_first_tables_claims(rows):
    claims = table_1_claims(rows[1])
    twenty = found(claims, "1.60 %")
    assert twenty.verdict == "does not hold"
    assert "1.60 against 1.93 of SharpDarts, which is 17.1 % less" in twenty.measured  # 1 - 1.60 / 1.93
    margin = found(claims, "XNAS-Small outperforms")
    assert margin.verdict == "holds in part"
    # Variances 1.81 x 98.19 and 1.93 x 98.07 over 10,000 images: 0.12 points over 0.191.
    assert "0.12 points, 0.6 standard errors" in margin.measured
    assert found(claims, "XNAS-Large").verdict == "holds"
    less = found(claims, "... with 4 times")
    assert (less.verdict, "is 3.61" in less.measured) == ("holds in part", True)
    fastest = found(claims, "XNAS is among")
    assert fastest.verdict == "holds"
    assert "1 less (ASAP + ET 0.2), 2 as much (NAONet-WS, PDARTS)" in fastest.measured
    assert "Amoeba-A 8.6" in found(claims, "Earlier searches").measured  # 3150 days
    search = found(claims, "A search of 50")
    assert (search.verdict, "7.08 hours, 0.295 days" in search.measured) == ("holds", True)


@pytest.mark.parametrize(
    ("name", "error", "start", "verdict"),
    [
        ("XNAS-Large", 1.54, "1.60 %", "holds"),
        ("XNAS-Small", 1.40, "XNAS-Small outperforms", "holds"),
        ("XNAS-Small", 1.95, "XNAS-Small outperforms", "does not hold"),
        ("XNAS-Large", 1.40, "XNAS-Large", "does not hold"),
    ],
)
def test_other_errors_would_give_other_verdicts(rows, name, error, start, verdict):
    claims = table_1_claims(changed(rows[1], name, errors={"cifar10": error}))
    assert found(claims, start).verdict == verdict


@pytest.mark.parametrize(
    ("millions", "verdict"), [(6.5, "holds"), (7.2, "holds in part"), (9.0, "does not hold")]
)
def test_four_times_less_is_judged_by_the_ratio(rows, millions, verdict):
    claims = table_1_claims(changed(rows[1], "XNAS-Large", parameters=millions))
    assert found(claims, "... with 4 times").verdict == verdict


def test_the_second_tables_claims(rows):
    claims = table_2_claims(rows[2])
    assert [claim.verdict for claim in claims] == ["holds", "holds"]
    assert "24.0 against 24.3 of Amoeba-C" in claims[0].measured
    assert "568.8 M multiply-accumulates" in claims[1].measured
    worse = [
        replace(row, counted=replace(row.counted, macs=601_000_000)) if row.paper.row == "XNAS" else row
        for row in changed(rows[2], "XNAS", errors={"imagenet": 24.4})
    ]
    verdicts = [claim.verdict for claim in table_2_claims(worse)]
    assert verdicts == ["does not hold", "holds in part"]


def test_the_third_tables_claims(rows):
    everything = rows[1] + rows[2] + rows[3]
    claims = table_3_claims(everything)
    assert [claim.verdict for claim in claims] == ["holds"] * 4 + ["holds in part"] * 2
    assert "14.6 of PDARTS-L: 1.0 points" in claims[0].measured
    assert "Fashion-MNIST 3.64 against 3.65" in claims[2].measured
    assert "SVHN 1.72 against 1.81" in claims[3].measured
    assert "Fashion-MNIST 0.0, Freiburg 3.5, CINIC10 7.2, CIFAR-10 1.8" in claims[4].measured
    assert "not: PDARTS 3.4 and 3.6 M, PNAS 3.2 and 3.4 M" in claims[5].measured
    lost = changed(everything, "Known SotA", errors={**rows[3][0].paper.errors, "fashion_mnist": 3.6})
    assert table_3_claims(lost)[2].verdict == "holds in part"


def test_claims_on_depths():
    cells, random = cell_depths.depth_rows(), cell_depths.random_depths(1.375, cells=10)
    claims = depth_claims(cells, random)
    assert [claim.verdict for claim in claims] == ["holds in part"] * 3 + ["holds"]
    assert "renumbered: PNAS; by no numbering: SNAS" in claims[0].measured
    assert "amoebanet_b 1.6, amoebanet_b_google 1.4" in claims[1].measured
    assert "4 as deep or deeper" in claims[2].measured
    assert "0.43 standard deviations less, and 27 % of them are deeper" in claims[2].measured
    deeper = [replace(row, depth=9.0) if row.cell == "xnas" else row for row in cells]
    assert [claim.verdict for claim in depth_claims(deeper, random)[1:]] == ["holds"] * 3


def test_claims_on_sizes():
    claims = size_tables.xnas_size_claims(size_tables.xnas_variants())
    assert [claim.verdict for claim in claims] == ["holds in part", "does not hold"]
    assert "3.7 M for 3,793,438 at 36 channels (yes, truncated)" in claims[0].measured
    assert "4,886,148 with a stem of 56" in claims[1].measured  # the paper's text, without excitation
    small = counted_network("xnas", CIFAR, with_macs=False)
    assert [claim.verdict for claim in size_claims({3.8: small}, [small], 3.8)] == ["holds", "holds"]
