"""What a terminal shows of a comparison."""

import os
import pty
import sys

from comparing import failed, found, run

from xnas.runs.comparison.display import CompareProgress, Watches


def test_runs_are_lines(capsys):
    comparison = found(run("xnas"), failed("darts"))
    with CompareProgress(quiet=False) as shown:
        shown.begin(comparison, left=2)
        shown.after_run(comparison.runs[0], comparison)
        shown.after_run(comparison.runs[1], comparison)
    told = capsys.readouterr().out.splitlines()
    assert told[0] == "comparing xnas, darts by true accuracy, 1 seed each: 2 runs, 2 to do"
    assert told[1] == "the time left for all is shown once the first run is under way; Ctrl-C stops it"
    assert told[-2] == "2/2  xnas, seed 0 on digits, darts: 90.00 % in 1.5 min"
    assert told[-1] == "2/2  darts, seed 0 on digits, darts: failed: the loss is nan"


def test_a_quiet_one_shows_nothing(capsys):
    comparison = found(run("xnas"), failed("darts"))
    with CompareProgress(quiet=True) as shown:
        shown.begin(comparison, left=2)
    assert capsys.readouterr().out == ""


class Halfway:
    """A run that is half done."""

    def words(self):
        return "xnas-0: epoch 2/4; about 9 min left for all"

    def steps(self):
        return [("xnas-0: epoch 2/4", 0.5)]


def test_a_log_says_what_is_computed_and_how_long_it_will_take(capsys):
    comparison = found(run("xnas", 0, None, state="waiting"), run("darts", 0, None, state="waiting"))
    with CompareProgress(quiet=False) as shown:
        assert isinstance(shown, Watches)
        assert shown.standing().startswith("preparing for")
        shown.begin(comparison, left=2)
        assert shown.standing() == "run 0/2"
        shown.watch(Halfway())
        assert shown.standing() == "run 0/2; xnas-0: epoch 2/4; about 9 min left for all"
        shown.pulse.say(shown.pulse.line())  # as after 25 seconds of silence
    assert "epoch 2/4; about 9 min left" in capsys.readouterr().out


def test_a_terminal_moves_its_bar_within_a_run(monkeypatch):
    screen, terminal = pty.openpty()
    monkeypatch.setenv("TERM", "xterm")
    comparison = found(run("xnas", 0, None, state="waiting"), run("darts", 0, None, state="waiting"))
    with os.fdopen(terminal, "w") as stderr:
        monkeypatch.setattr(sys, "stderr", stderr)
        with CompareProgress(quiet=False, stderr=True) as shown:
            shown.begin(comparison, left=2)
            shown.watch(Halfway())
            shown._refresh("")
            task = shown.bar.tasks[0]
            assert (task.completed, task.fields["state"]) == (0.5, Halfway().words())
            assert task.fields["speed"] == ""
    os.close(screen)
