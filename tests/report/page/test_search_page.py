"""The page of a search in all its states."""

from dataclasses import replace

import pages
import pytest
from pages import story

from xnas.records import Judgement
from xnas.report.page.blocks import Command, DataTable, Facts, Notice, Text
from xnas.report.page.graphs import CellGraphs
from xnas.report.page.search_page import NO_MIXTURES, search_page
from xnas.report.page.stories import CellSize, DrawnCell, RunHead


def full(**changes):
    sizes = (
        CellSize(name="this cell", parameters=2_000_000, macs=300_000_000, depth=1.5, own=True),
        CellSize(name="xnas", parameters=3_793_438, macs=None, depth=1.375, error=1.81),
    )
    head = RunHead(path="run", data="digits", next_command="xnas train run")
    choices = tuple(pages.choices())
    given = {"head": head, "method": "xnas", "space": "darts", "epochs_planned": 3, "sizes": sizes}
    given |= {"ledgers": dict.fromkeys(pages.KINDS, pages.ledger()), "compared": 16}
    return search_page(story(**given | {"undecided": choices[:2]} | changes))


def facts(page):
    (block,) = [block for block in page.summary if isinstance(block, Facts)]
    return {fact.name: fact for fact in block.facts}


def of_kind(page, kind):
    return [b for s in page.sections for b in s.blocks if isinstance(b, kind)]


def test_the_first_screen_says_what_was_found_how_good_how_sure_and_what_next():
    page = full()
    found = facts(page)
    assert found["Sure"].value == "14 of 16"
    assert found["Validation accuracy"].note == "30.0 % with the cell alone, before any training"
    assert found["True accuracy"].value == "90.00 %"
    assert found["Experts alive"].value == "195 of 196"
    assert found["Experts alive"].note == "1 removed during the search"
    assert found["Time"].value == "9 s"
    assert "×" in found["Found"].value
    assert any(isinstance(block, CellGraphs) for block in page.summary)
    assert page.summary[-1] == Command("Next", "xnas train run")


def test_the_epoch_of_an_earlier_gap_is_named():
    first, second, third = pages.epochs()
    epochs = (replace(first, gap=third.gap), second, replace(third, gap=None))
    note = facts(full(epochs=epochs))["Validation accuracy"].note
    assert note == "30.0 % with the cell alone after epoch 1, before any training"
    none = tuple(replace(epoch, gap=None) for epoch in epochs)
    assert "while it learned" in facts(full(epochs=none))["Validation accuracy"].note


def test_nothing_is_said_of_removed_experts_where_all_are_alive():
    (first, *_) = pages.epochs()
    fact = facts(full(epochs=(first,)))["Experts alive"]
    assert (fact.value, fact.note) == ("196 of 196", "")


@pytest.mark.parametrize(
    ("operations", "value", "note"),
    [
        ("aab", "2 × a", "in the cell, with 1 × b"),
        ("aabbc", "2 × a, 2 × b", "in the cell, with 1 × c"),
        ("abc", "3 operations", "in the cell: 1 × a, 1 × b, 1 × c"),
    ],
)
def test_operations_that_are_equally_frequent_stand_side_by_side(operations, value, note):
    (first, *_) = pages.choices()
    choices = tuple(replace(first, operation=name, kept=True) for name in operations)
    fact = facts(full(choices=choices, undecided=()))["Found"]
    assert (fact.value, fact.note) == (value, note)


def test_the_title_names_a_folder_shortly_and_the_page_has_its_path():
    page = full(head=RunHead(path="run", data="/data/w/photos"))
    assert page.title == "A cell for photos"
    (made,) = [t for t in of_kind(page, DataTable) if t.caption == "Made with"]
    assert ("data", "/data/w/photos") in made.rows


def test_the_strength_of_an_edge_that_lost_experts_is_explained():
    table = next(t for t in of_kind(full(), DataTable) if t.caption.startswith("Why"))
    told = [row[:2] for row in table.rows if "as if no expert had been wiped out" in row[-1]]
    assert told == [("normal", "in 1 → 2")]


def test_depth_is_explained_as_it_is_computed():
    assert any("the mean source of the normal cell's edges" in b.text for b in of_kind(full(), Text))


def test_a_search_that_could_not_decide_warns():
    choices = tuple(pages.choices())
    page = full(undecided=choices[:9])
    assert any(
        "Too few rounds to decide: on 9 of 16" in b.text for b in page.summary if isinstance(b, Notice)
    )
    assert facts(page)["Sure"].tone == "warning"


def test_a_collapse_warns():
    page = full(warning="Skip connections lead 90 % of the edges.")
    assert Notice("Skip connections lead 90 % of the edges.") in page.summary


def test_a_search_under_way_shows_how_far_it_is():
    page = full(head=RunHead(path="run", state="running", data="digits"), choices=(), compared=0)
    assert page.title == "Searching a cell for digits"
    assert facts(page)["Epochs"].value == "3 of 3"
    assert "Sure" not in facts(page)


def test_a_search_without_an_epoch_has_a_page():
    page = full(epochs=(), choices=(), ledgers={}, sizes=(), compared=0)
    assert facts(page)["Epochs"].value == "0"


def test_a_search_of_an_earlier_version_has_a_page_without_graphs():
    old = tuple(replace(epoch, mixtures=None) for epoch in pages.epochs())
    page = full(epochs=old)
    assert Text("This run recorded no mixtures, so its cells cannot be drawn here.") in page.summary


def test_the_cell_is_drawn_though_its_epochs_are_lost():
    cell = DrawnCell(inputs=2, kinds={"normal": ((0, 2, "sep_conv_3x3"),)}, concat={"normal": (2,)})
    page = full(epochs=(), graph=cell)
    (graphs,) = [block for block in page.summary if isinstance(block, CellGraphs)]
    assert graphs.title == "The cell that was found"
    assert Text(NO_MIXTURES) in page.summary


def test_a_judged_accuracy_has_its_error():
    judged = Judgement(accuracy=93.0, error=0.5, percentile=80.0)
    page = full(epochs=tuple(replace(e, truth=judged) for e in pages.epochs()))
    assert facts(page)["Judged accuracy"].note == "± 0.50; better than 80 % of random cells"


def test_every_edge_has_its_reason_in_a_table():
    table = next(t for t in of_kind(full(), DataTable) if t.caption.startswith("Why"))
    assert len(table.rows) == 28
    assert len(table.strong) == 16
    assert sum("In doubt" in row[-1] for row in table.rows) == 2


def test_the_ledger_says_what_it_means_and_what_not():
    texts = [block.text for block in of_kind(full(), Text)]
    assert any("the theory promises" in text for text in texts)
    assert any("nothing about the accuracy" in text for text in texts)
    assert any("1.2 % (normal)" in text for text in texts)
    none = pages.ledger(regret_bound=None, bound_note="no bound: the rate changed")
    texts = [b.text for b in of_kind(full(ledgers={"normal": none}), Text)]
    assert "Normal cell: no bound: the rate changed." in texts


def test_what_the_bound_covers_is_said_beside_it():
    note = "the bound covers living experts only: with relaxation 0.02 a wiped expert may be the best"
    page = full(ledgers={"normal": pages.ledger(bound_note=note)})
    texts = [block.text for block in of_kind(page, Text)]
    assert f"Normal cell: {note}." in texts
    assert any("less than its best living expert" in text for text in texts)
    assert not any("in hindsight" in text for text in texts)


def test_the_cell_stands_beside_published_ones():
    table = next(t for t in of_kind(full(), DataTable) if t.caption.startswith("The cell beside"))
    assert table.rows[0][:2] == ("this cell", "2.00 M")
    assert table.strong == (0,)
    assert table.rows[1][2:] == ("", "1.375", "1.81 %")
