"""Signals: heeded from the first import to the end, and never by a traceback."""

import importlib
import os
import signal
import subprocess
import sys
import time

import pytest

from xnas.cli import main
from xnas.process import interrupt
from xnas.process.interrupt import (
    Interrupted,
    finish,
    heed_signals,
    stop_at_round,
    stopped_at_once,
    unwound_by_signals,
)

SIGNALS = [signal.SIGINT, signal.SIGTERM]


def send(number):
    os.kill(os.getpid(), number)


@pytest.fixture(autouse=True)
def handlers():
    """Signals mean what they do in a terminal (in a script's background they may be ignored)."""
    before = {number: signal.getsignal(number) for number in SIGNALS}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def test_another_interrupt_ends_at_once(monkeypatch):
    monkeypatch.setattr(interrupt, "SAME_SECONDS", -1.0)
    with stop_at_round() as stopped:
        send(signal.SIGINT)
        assert stopped()
        with pytest.raises(KeyboardInterrupt):
            send(signal.SIGINT)


@pytest.mark.parametrize("number", SIGNALS)
def test_a_long_computation_between_two_rounds_is_stopped_at_once(number):
    with stop_at_round() as stopped:
        with pytest.raises(Interrupted), stopped_at_once():
            send(number)
        assert not stopped()
        send(number)  # a round is finished, as before
        assert stopped()


def test_signals_that_come_together_are_one():
    with stop_at_round() as stopped:
        for number in (*SIGNALS, *SIGNALS):
            send(number)
        assert stopped()
    with unwound_by_signals():
        with pytest.raises(KeyboardInterrupt):
            send(signal.SIGTERM)
        send(signal.SIGTERM)  # in the middle of removing what was made


@pytest.mark.parametrize(
    ("number", "module", "words"),
    [
        *((number, "cyclopts", "stopped before anything was begun") for number in SIGNALS),
        (signal.SIGTERM, "torch", "interrupted"),  # which is imported later
    ],
)
def test_a_signal_during_imports_ends_a_command_in_one_line(number, module, words):
    code = f"""
import os, sys
class Finder:
    def find_spec(self, name, *_):
        if name == "{module}":
            os.kill(os.getpid(), {int(number)})
sys.meta_path.insert(0, Finder())
sys.argv = ["xnas", "search", "digits"]
from xnas.__main__ import main
main()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr == f"xnas: {words}\n"


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_outside_of_rounds_ends_a_command_in_one_line(number, monkeypatch, capsys):
    monkeypatch.setattr("xnas.paper.reproduce.reproduce", lambda *_, **__: send(number))
    with pytest.raises(SystemExit) as end:
        main(["reproduce"])
    assert end.value.code == 130
    assert capsys.readouterr().err == "xnas: interrupted\n"
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_the_status_is_130_though_the_signal_came_in_code_that_was_executed_from_text():
    """Python would end itself by SIGINT after a KeyboardInterrupt that passed through `exec`."""
    code = f"""
import os, sys
from xnas.process.interrupt import unwound_by_signals
try:
    with unwound_by_signals():
        exec("import os; os.kill(os.getpid(), {int(signal.SIGINT)})")
except KeyboardInterrupt:
    sys.exit(130)
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 130


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_changes_nothing_once_a_command_is_done(number):
    heed_signals()
    with unwound_by_signals():
        finish()
        send(number)
    send(number)
    heed_signals()
    with pytest.raises(KeyboardInterrupt), unwound_by_signals():
        send(number)
    send(number)
    heed_signals()
    with pytest.raises(ValueError, match="mine"), unwound_by_signals():
        raise ValueError("mine")
    assert signal.getsignal(number) is signal.SIG_DFL


def test_an_error_that_a_signal_became_is_an_interrupt():
    with pytest.raises(KeyboardInterrupt), unwound_by_signals():  # noqa: PT012 - one step in two
        try:
            send(signal.SIGINT)
        except KeyboardInterrupt as error:
            raise ImportError("initialization failed") from error


def test_signals_that_somebody_else_sees_to_are_left_to_him():
    def own(*_):
        pass

    signal.signal(signal.SIGTERM, own)
    with unwound_by_signals():
        assert signal.getsignal(signal.SIGTERM) is own
    assert signal.getsignal(signal.SIGTERM) is own


def test_a_signal_waits_for_the_end_of_an_import(tmp_path, monkeypatch):
    """Where Python's own callbacks would lose what it raises."""
    (tmp_path / "told_to_stop.py").write_text(
        "import os, signal\nos.kill(os.getpid(), signal.SIGTERM)\nwhole = True\n", encoding="utf8"
    )
    monkeypatch.syspath_prepend(tmp_path)

    def load_and_wait():
        assert importlib.import_module("told_to_stop").whole
        time.sleep(10)

    with unwound_by_signals(), pytest.raises(KeyboardInterrupt):
        load_and_wait()
    assert signal.getitimer(signal.ITIMER_REAL)[0] == 0
