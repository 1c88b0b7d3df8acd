"""Lines that a search and a training print per epoch, and in between."""

import os
import pty
import re
import sys
import time
from contextlib import contextmanager, suppress
from dataclasses import replace

import pytest

from xnas.records import Deletion, EpochCost, Gap, Judgement, SearchEpoch, TrainEpoch
from xnas.runs.progress import RunProgress, SearchProgress, TrainProgress, epoch_line, training_line

COST = EpochCost(seconds=3.0, seconds_per_round=0.0123, memory_bytes=5)
TRAINED = TrainEpoch(
    epoch=4,
    steps=40,
    learning_rate=0.1,
    drop_path_rate=0.0,
    train_loss=1.5,
    train_accuracy=0.4,
    valid_loss=None,
    valid_accuracy=None,
    cost=COST,
)
SEARCHED = SearchEpoch(
    epoch=2,
    rounds=40,
    learning_rate=0.02,
    skip_dropout=0.5,
    train_loss=1.5,
    train_accuracy=0.4,
    valid_loss=1.6,
    valid_accuracy=0.35,
    entropy={"normal": 0.9, "reduction": 0.8},
    skip_share={"normal": 0.25, "reduction": 0.5},
    experts_alive={"normal": 13, "reduction": 14},
    weights_alive=1234,
    rewards={},
    rewards_by_stage={},
    deleted=(),
    gap=None,
    cost=COST,
)


class Screen:
    """What a terminal was given."""

    text = ""


@pytest.fixture
def terminal(monkeypatch):
    """Standard output as a terminal with these variables."""

    @contextmanager
    def opened(**variables):
        screen = Screen()
        ours, theirs = pty.openpty()
        for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS"):
            monkeypatch.delenv(name, raising=False)
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        with os.fdopen(theirs, "w") as out, monkeypatch.context() as patch:
            patch.setattr(sys, "stdout", out)
            yield screen
            out.flush()
            os.set_blocking(ours, False)
            with suppress(BlockingIOError):
                while True:
                    screen.text += os.read(ours, 4096).decode()
        os.close(ours)

    return opened


def test_an_epoch_of_a_search_is_one_line_with_all_experts_and_entropies():
    line = epoch_line(SEARCHED, 50)
    assert line.startswith("epoch   2/50  train 1.500  40.0 %  valid 1.600  35.0 %  experts 27  ")
    assert "entropy 0.900 / 0.800  skips 25 %  12 ms/round" in line
    assert "gap" not in line


@pytest.mark.parametrize(
    ("cell", "words"), [(None, "gap: mixture 50.0, experts 40.0 %, cell unknown"), (0.3, "cell 30.0 %")]
)
def test_deletions_and_a_gap_are_added(cell, words):
    gone = (Deletion(kind="normal", forecaster=0, expert=1, operation="sep_conv_3x3"),)
    gap = Gap(mixture=0.5, experts=0.4, cell=cell)
    line = epoch_line(replace(SEARCHED, deleted=gone, gap=gap), 50)
    assert "experts 27 (-1)" in line
    assert words in line


def test_a_judged_accuracy_is_added():
    judged = replace(SEARCHED, truth=Judgement(accuracy=93.62, error=0.208, percentile=81.5))
    assert epoch_line(judged, 50).endswith("  judged accuracy 93.62 ± 0.21 %")


def test_validation_is_shown_where_there_is_some():
    assert training_line(TRAINED, 600).startswith("epoch    4/600  train 1.500  40.0 %  rate 0.1")
    checked = replace(TRAINED, valid_loss=1.7, valid_accuracy=0.5)
    assert "1.700  50.0 %" in training_line(checked, 600)


def test_a_long_training_prints_some_epochs_and_the_last(capsys):
    with TrainProgress(quiet=False) as display:
        for epoch in range(1, 101):
            display.after_epoch(replace(TRAINED, epoch=epoch), 100)
    shown = [int(line[6:10]) for line in capsys.readouterr().out.splitlines()]
    assert shown == list(range(2, 101, 2))


def test_a_quiet_display_prints_warnings_only(capsys):
    with SearchProgress(quiet=True) as display:
        display.after_epoch(SEARCHED, 50)
        display.say("hello")
        display.warn("few images")
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err == "warning: few images\n"


def test_without_a_terminal_a_slow_run_prints_where_it_is(capsys):
    display = SearchProgress(quiet=False)
    display.pulse.seconds = 0.02
    with display:
        time.sleep(0.1)
        display.advance(1, 9)
        time.sleep(0.1)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "preparing for 0 s, no round yet"
    assert lines[-1] == "round 1/9"
    time.sleep(0.05)
    assert capsys.readouterr().out == ""


def test_the_pace_and_the_time_left_are_those_since_the_first_round(monkeypatch):
    display, clock = TrainProgress(quiet=True), iter([10.0, 30.0, 70.0])
    monkeypatch.setattr("xnas.runs.progress.time.perf_counter", lambda: next(clock))
    display.advance(101, 200)  # resumed at 100, at second 10
    display.advance(110, 200)
    assert display.standing() == "step 110/200, 2.0 s each, 3 min left"  # 10 steps by second 30
    display.advance(200, 200)
    assert display.standing() == "step 200/200, finishing"


def test_a_quiet_run_has_no_pulse():
    assert SearchProgress(quiet=True).pulse is None


def test_a_terminal_shows_a_bar_with_the_time_left(terminal):
    with terminal(TERM="xterm") as screen, RunProgress("image", quiet=False) as display:
        assert display.bar is not None
        for done in range(1, 4):
            display.advance(done, 4)
        display.bar.refresh()
    assert "image" in screen.text
    assert "3/4" in screen.text
    assert re.search(r"\d:\d\d:\d\d", screen.text)  # the time left


def test_no_color_takes_colours_away(terminal):
    with (
        terminal(TERM="xterm-256color", NO_COLOR="1") as screen,
        RunProgress("image", quiet=False) as display,
    ):
        display.advance(1, 4)
        display.warn("few images")
    assert "warning: few images" in screen.text
    assert not re.search(r"\x1b\[[\d;]*m", screen.text)


def test_a_pipe_has_no_bar_even_if_colours_are_forced(monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert RunProgress("image", quiet=False).bar is None


def test_a_terminal_that_cannot_move_its_cursor_gets_lines(terminal):
    with terminal(TERM="dumb") as screen:
        display = RunProgress("image", quiet=False)
        display.pulse.seconds = 0.02
        with display:
            display.advance(1, 4)
            time.sleep(0.1)
    assert "\x1b" not in screen.text
    assert "image 1/4" in screen.text
