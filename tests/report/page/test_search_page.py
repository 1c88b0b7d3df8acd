"""The page of a search in all its states."""

from dataclasses import replace

import pages
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
    assert found["Time"].value == "9 s"
    assert "×" in found["Found"].value
    assert any(isinstance(block, CellGraphs) for block in page.summary)
    assert page.summary[-1] == Command("Next", "xnas train run")


def test_a_search_that_could_not_decide_warns():
    choices = tuple(pages.choices())
    page = full(undecided=choices[:9])
    assert any(
        "Too few rounds to decide: 9 of 16" in b.text for b in page.summary if isinstance(b, Notice)
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
    assert any("as the theory promises" in text for text in texts)
    assert any("nothing about the accuracy" in text for text in texts)
    assert any("1.2 % (normal)" in text for text in texts)
    none = pages.ledger(regret_bound=None, bound_note="the rate changed")
    texts = [b.text for b in of_kind(full(ledgers={"normal": none}), Text)]
    assert "The normal mixture has no bound: the rate changed" in texts


def test_the_cell_stands_beside_published_ones():
    table = next(t for t in of_kind(full(), DataTable) if t.caption.startswith("The cell beside"))
    assert table.rows[0][:2] == ("this cell", "2.00 M")
    assert table.strong == (0,)
    assert table.rows[1][2:] == ("", "1.375", "1.81 %")
