"""What the pages of all runs share."""

import pytest

from xnas.report.page.blocks import Command, DataTable
from xnas.report.page.run_sections import duration, head_notices, page_of, run_section
from xnas.report.page.stories import RunHead


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.4, "0 s"), (59, "59 s"), (185, "3 min 5 s"), (7800, "2 h 10 min")]
)
def test_times_are_in_two_units_at_most(seconds, words):
    assert duration(seconds) == words


def test_faults_and_an_early_end_are_said_first():
    head = RunHead(path="run", state="stopped", faults=("metrics.jsonl is damaged in line 3",))
    first, second = head_notices(head)
    assert first.text == "metrics.jsonl is damaged in line 3"
    assert "stopped before its end" in second.text
    assert "under way" in head_notices(RunHead(path="run", state="running"))[0].text
    assert head_notices(RunHead(path="run")) == ()


def test_a_run_can_be_made_again_by_what_the_page_says():
    head = RunHead(
        path="run",
        command="xnas search digits",
        seed=3,
        versions=(("xnas", "0.1.0"),),
        machine="two cores",
        settings=(("epochs", "3"), ("seed", "3")),
        changed=("epochs",),
    )
    command, made, settings = run_section(head).blocks
    assert isinstance(command, Command)
    assert isinstance(made, DataTable)
    assert made.rows == (("seed", "3"), ("machine", "two cores"), ("xnas", "0.1.0"))
    assert settings.strong == (0,)
    assert run_section(RunHead(path="run")).blocks == ()


def test_the_subtitle_names_the_folder():
    page = page_of(
        RunHead(path="runs/a"), kind="Search", title="", subtitle="method xnas", summary=(), sections=()
    )
    assert page.subtitle == "method xnas, run runs/a"
