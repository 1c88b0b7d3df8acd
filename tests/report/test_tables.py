"""Tables and the page of claims: grammar, counts and rows."""

import csv
import io

import pytest

from xnas.records import Claim, Table
from xnas.report.tables import (
    aligned_table,
    claims_page,
    count_verdicts,
    markdown_text,
    table_csv,
    table_page,
)
from xnas.words import counted


def claims(**counts):
    verdicts = {"whole": "holds", "part": "holds in part", "none": "does not hold"}
    return [
        Claim(statement=f"{name} {i}", where="Sec. 1", measured="a | b", verdict=verdicts[name])
        for name, number in counts.items()
        for i in range(number)
    ]


@pytest.mark.parametrize(
    ("counts", "told"),
    [
        ({"whole": 12, "part": 4, "none": 2}, "12 hold, 4 hold in part, 2 do not hold"),
        ({"none": 1, "part": 1, "whole": 1}, "1 holds, 1 holds in part, 1 does not hold"),
        ({"part": 2}, "2 hold in part"),
        ({}, ""),
    ],
)
def test_verdicts_are_counted_in_english(counts, told):
    assert count_verdicts(claims(**counts)) == told


def test_one_is_singular_and_all_else_plural():
    assert [counted(n, "figure") for n in (0, 1, 2)] == ["0 figures", "1 figure", "2 figures"]


def test_the_page_of_claims_says_how_many_hold():
    page = claims_page(claims(whole=2, none=1), ["picture"], "Made by hand.")
    assert "Of 3 claims: 2 hold, 1 does not hold." in page
    assert "| none 0 | Sec. 1 | a \\| b | **does not hold** |" in page
    assert page.endswith("![picture](picture.png)\n")
    assert "Of 1 claim: 1 holds." in claims_page(claims(whole=1), [], "")
    assert "No claims." in claims_page([], [], "")


def table():
    rows = (("a, b | c", 1234567, 0.12345, True), ('say "x"', None, 2.0, False))
    return Table(title="Things", header=("name", "count", "share", "good"), rows=rows, note="A note.")


def test_a_table_is_written_as_markdown():
    assert table_page(table()).splitlines() == [
        "# Things",
        "",
        "| name | count | share | good |",
        "| --- | --- | --- | --- |",
        "| a, b \\| c | 1,234,567 | 0.1235 | yes |",
        '| say "x" |  | 2 | no |',
        "",
        "A note.",
    ]


def test_a_table_is_read_back_from_csv():
    assert list(csv.reader(io.StringIO(table_csv(table())))) == [
        ["name", "count", "share", "good"],
        ["a, b | c", "1234567", "0.12345", "yes"],
        ['say "x"', "", "2.0", "no"],
    ]


def test_columns_of_words_are_aligned_to_the_left():
    lines = aligned_table(("one", "two", "three"), [("a", "1", "x"), ("bcde", "200", "yz")], left=(0, 2))
    assert lines.splitlines() == ["one   two  three", "a       1  x", "bcde  200  yz"]


def test_tables_are_linked_from_the_page_of_claims():
    assert "\nTables: [one](one.md), [two](two.md)\n" in claims_page([], [], "", tables=["one", "two"])


def test_names_in_tables_are_escaped_before_they_are_aligned():
    table = aligned_table(("class", "n"), [("a\nb", "1"), ("long name", "22")])
    assert table.splitlines() == ["class       n", "a\\nb        1", "long name  22"]


def test_a_name_is_plain_text_in_markdown():
    assert markdown_text("<img src=x> & _a_ [b](c) `d` *e* \\") == (
        "&lt;img src=x&gt; &amp; \\_a\\_ \\[b\\](c) \\`d\\` \\*e\\* \\\\"
    )
    assert markdown_text("rosé 3, 玫瑰") == "rosé 3, 玫瑰"
