"""The page of a comparison in all its states."""

from comparing import failed, found, run

from xnas.records import ListedRun
from xnas.report.page.blocks import Command, DataTable, Facts, Link, Notice, Text
from xnas.report.page.charts import Chart
from xnas.report.page.comparison_page import MANY, NO_COMMAND, comparison_page
from xnas.report.page.frame import render
from xnas.report.page.stories import ComparisonStory, RunHead

HEAD = RunHead(path="c1", command="xnas compare digits", settings=(("seeds", "0-3"),))
MEANS = {("digits", "darts"): 88.0}


def compared(*more, **settings):
    values = {"xnas": (90, 91, 92, 93), "darts": (80, 81, 82, 83), "gaea": (90, 91, 92, 93.5)}
    runs = [run(name, seed, float(v)) for name, own in values.items() for seed, v in enumerate(own)]
    usual = {"test": "welch", "random_means": MEANS, "random_words": "20 cells"}
    return found(*runs, *more, **usual | settings)


def page(comparison, **more):
    return comparison_page(ComparisonStory(**{"head": HEAD, "comparison": comparison} | more))


def of_kind(drawn, kind, title=None):
    blocks = [*drawn.summary] if title is None else []
    blocks += [b for s in drawn.sections if title in {None, s.title} for b in s.blocks]
    return [block for block in blocks if isinstance(block, kind)]


def facts(drawn):
    (block,) = of_kind(drawn, Facts)
    return {fact.name: fact for fact in block.facts}


def test_the_first_screen_says_who_is_ahead_and_whether_that_is_noise():
    drawn = page(compared(failed("gaea", 4)))
    assert drawn.title == "xnas, darts and gaea compared"
    assert drawn.subtitle.startswith("by true accuracy, 5 seeds each, on digits in the space darts")
    told = facts(drawn)
    assert (told["Highest mean"].value, told["Highest mean"].note) == (
        "91.62 %",
        "gaea, 4 seeds, ± 1.49",
    )
    assert (told["Runs"].value, told["Runs"].note, told["Runs"].tone) == (
        "12 of 13",
        "1 failed",
        "warning",
    )
    assert (told["Random cells"].value, told["Random cells"].note) == ("88.00 %", "20 cells")
    assert told["More than noise"].value == "1 of 2"
    assert told["Device time"].value == "18 min 0 s"
    assert any("1 run of 13 failed" in block.text for block in of_kind(drawn, Notice))
    assert any("points) differs from xnas by more than noise" in t.text for t in of_kind(drawn, Text))


def test_the_table_has_mean_spread_gains_and_cost():
    table = of_kind(page(compared()), DataTable)[0]
    assert table.header == (
        "entry",
        "runs",
        "mean ± std",
        "range",
        "over random",
        "over xnas",
        "device min",
        "GiB",
    )
    assert table.rows[1][:6] == ("darts", "4", "81.50 ± 1.29", "80.00 to 83.00", "-6.50", "-10.00")
    assert table.strong == (2,)


def test_differences_have_the_test_its_correction_effect_sizes_and_intervals():
    drawn = page(compared())
    (table,) = of_kind(drawn, DataTable, "Differences")
    assert table.header[1:] == ("points", "95 % interval", "g", "p", "p (Holm)", "more than noise")
    assert table.strong == (0,)
    assert "Holm's correction for 2 tests" in of_kind(drawn, Text, "Differences")[0].text
    assert len(of_kind(drawn, Chart, "Accuracy")) == 2


def test_every_run_is_listed_failed_ones_with_their_reason_and_pages_are_linked():
    runs = (run("xnas"), failed("darts"), run("xnas", 1, None, state="waiting", cell=None, minutes=None))
    pages = {"xnas-0": ("runs/xnas-0/report.html", ""), "darts-0": ("", "")}
    (table,) = of_kind(page(found(*runs), pages=pages), DataTable, "Runs")
    assert table.header == ("run", "seed", "state", "accuracy", "minutes", "cell, or why it failed")
    assert table.rows[0][0] == Link("xnas-0", "runs/xnas-0/report.html")
    assert table.rows[1] == ("darts-0", "0", "failed", "", "", "the loss is nan")
    assert table.rows[2][1:3] == ("1", "waiting")
    assert table.warned == (1,)


def test_trainings_of_cells_have_links_of_their_own():
    pages = {
        "xnas-0": ("runs/xnas-0/report.html", "runs/xnas-0-training/report.html"),
        "darts-0": ("", ""),
    }
    (table,) = of_kind(page(found(run("xnas"), run("darts")), pages=pages), DataTable, "Runs")
    assert table.rows[0][5] == Link("training", "runs/xnas-0-training/report.html")
    assert table.rows[1][5] == ""


def test_a_long_list_of_runs_is_folded():
    (table,) = of_kind(page(found(*[run("xnas", seed) for seed in range(MANY + 1)])), DataTable, "Runs")
    assert table.folded


def test_supernets_are_warned_of():
    drawn = page(found(run("xnas"), run("darts"), measure="supernet"))
    (notice,) = of_kind(drawn, Notice)
    assert notice.text.startswith("Supernet accuracies do not compare")
    assert notice.tone == "warning"
    assert "More than noise" not in facts(drawn)


def test_several_data_sets_have_no_single_best_entry():
    drawn = page(found(run("xnas"), run("darts"), run("xnas", data="pets"), run("darts", data="pets")))
    assert "Highest mean" not in facts(drawn)
    assert of_kind(drawn, DataTable)[0].left == (0, 1, 2)


def test_a_comparison_that_no_command_makes_says_so():
    assert of_kind(page(compared()), Command, "This run") == [Command("Command", "xnas compare digits")]
    drawn = page(compared(), head=RunHead(path="c1"))
    assert of_kind(drawn, Text, "This run") == [Text(NO_COMMAND)]


def test_nothing_finished_is_a_page():
    drawn = page(found(failed("xnas"), failed("darts")))
    assert facts(drawn)["Runs"].value == "0 of 2"
    assert [s.title for s in drawn.sections if s.blocks] == ["Runs", "This run"]


def test_of_a_damaged_comparison_its_runs_are_left():
    listed = (
        ListedRun(path="c1/runs/xnas-0", kind="search", state="finished", validation=0.5, changed=0.0),
    )
    head = RunHead(path="c1", state="damaged", faults=("comparison.json is damaged",))
    drawn = page(None, head=head, listed=listed)
    (table,) = of_kind(drawn, DataTable)
    assert table.rows == (("xnas-0", "search", "finished", "", "50.00 %", ""),)
    assert Notice("comparison.json is damaged") in drawn.summary


def test_names_cannot_add_markup():
    evil = '"><script>alert(1)</script>'
    pages = {f"{evil}-0": ("runs/a%22/report.html", "")}
    html = render(page(found(run(evil), run("xnas")), pages=pages))
    assert "<script>alert" not in html
    assert 'href="runs/a%22/report.html"' in html
