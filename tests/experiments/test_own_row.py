"""What tables of the package show of small searches."""

from small_lines import by_variant, measured

from own_row import searched_rows
from small_searches import declared


def test_small_searches_of_each_system_are_rows_that_name_their_size(tmp_path):
    jobs = [*declared("small"), *declared("small-darts")]
    change = by_variant("true", rival_snas=[80.0, 82.0], rival_pdarts=94.0)
    rows = searched_rows(measured(tmp_path, jobs, change, left_out=["small-darts-rival-pdarts-1"]))
    told = {(row.command, row.text) for row in rows}
    snas = "81.00 ± 1.41 (2 searches, 4 epochs, 800 images, 16x16, NAS-Bench-201)"
    assert ("xnas search --method snas", snas) in told
    pdarts = "94.00 (1 search, 4 epochs, 800 images, 16x16, DARTS space, judged)"
    assert ("xnas search --method pdarts", pdarts) in told
    assert len([row for row in rows if row.command == "xnas search"]) == 2
    assert not any("late" in row.command for row in rows)
