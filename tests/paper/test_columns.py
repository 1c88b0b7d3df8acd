from xnas.paper.columns import Column, table_of


def test_a_column_is_a_title_and_an_entry_of_every_row():
    columns = (
        Column("word", str.upper, lambda number: f"{number} words"),
        Column("letters", len),
    )
    table = table_of("Words", columns, ["a", "bcd"], [2], note="n")
    assert table.header == ("word", "letters")
    assert table.rows == (("A", 1), ("BCD", 3), ("2 words", None))
    assert (table.title, table.note) == ("Words", "n")
