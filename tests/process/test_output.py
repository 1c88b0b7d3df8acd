"""Output that is full, closed, read no further, or too narrow for a character; in real descriptors."""

import os
import subprocess
import sys

import pytest

from xnas.cli import main
from xnas.errors import ConfigError
from xnas.process.output import open_missing_streams

FULL = "xnas: cannot write to standard output: No space left on device; make room, or send it elsewhere"
CLOSED = "xnas: standard output was closed by its reader"
SEARCH = "search digits --space nasbench201 --cells 1 --channels 2 --epochs 1 --batch-size 512"
TRAINING = "train darts_v1 digits --cells 3 --channels 2 --epochs 1 --batch-size 512"


def full():
    return open("/dev/full", "w", encoding="utf8")  # noqa: PTH123 - as sys.stdout is


def unread():
    reader, writer = os.pipe()
    os.close(reader)
    return os.fdopen(writer, "w", buffering=1, encoding="utf8")  # a line at a time


@pytest.fixture
def run(capsys, monkeypatch):
    """Exit status and standard error of `xnas ARGUMENTS`, with such a standard output."""

    def command(output, *arguments, name="stdout"):
        with output as stream, monkeypatch.context() as patched:
            patched.setattr(sys, name, stream)
            try:
                main(arguments)
                status = 0
            except SystemExit as end:
                status = end.code
        return status, capsys.readouterr().err

    return command


@pytest.mark.parametrize("command", ["data", "show --zoo", "--help", "--version"])
def test_a_full_output_is_one_line_and_an_unread_one_a_quiet_end(run, command):
    assert run(full(), *command.split()) == (2, f"{FULL}\n")
    assert run(unread(), *command.split()) == (0, "")


@pytest.mark.parametrize(("command", "unit"), [(SEARCH, "round"), (TRAINING, "step")])
def test_a_run_that_cannot_speak_stops_and_says_how_to_resume(run, tmp_path, command, unit):
    out, words = tmp_path / "run", command.split()
    way = f"; stopped after {unit} 0; resume with: xnas {words[0]} --resume {out}\n"
    assert run(unread(), *words, "--device", "cpu", "--out", str(out)) == (2, f"{CLOSED}{way}")
    status, told = run(full(), words[0], "--resume", str(out))
    assert (status, told.splitlines(keepends=True)[-1]) == (2, f"{FULL}{way}")
    main([words[0], "--resume", str(out), "--quiet"])
    assert {"genotype.json", "metrics.jsonl"} < {path.name for path in out.iterdir()}


def test_what_a_command_did_not_finish_is_reported_though_nobody_reads(run, tmp_path):
    out = tmp_path / "made"
    status, told = run(unread(), "reproduce", "attenuation", "--out", str(out))
    assert (status, told) == (2, f"{CLOSED}; nothing was written to {out}: begin again\n")
    assert not out.exists()


def test_an_error_is_reported_though_what_was_printed_before_it_is_lost(run, monkeypatch):
    def fail(*_, **__):
        sys.stdout.write("half a line")
        raise ConfigError("on purpose")

    monkeypatch.setattr("xnas.paper.reproduce.reproduce", fail)
    assert run(full(), "reproduce") == (2, "xnas: on purpose\n")


def test_a_full_standard_error_stops_nothing(run):
    assert run(full(), "--version", name="stderr") == (0, "")
    assert run(full(), "no-such-command", name="stderr") == (2, "")


@pytest.mark.parametrize("errors", ["strict", "surrogateescape"])
def test_characters_that_a_terminal_cannot_show_are_replaced(run, tmp_path, errors):
    shown = tmp_path / "shown"
    assert run(shown.open("w", encoding="ascii", errors=errors), "show", "xnas") == (0, "")
    assert "???? sep_conv_3x3(1) ??" in shown.read_text(encoding="ascii")


def test_python_ends_without_a_word_of_its_own():
    """What is left of the output is flushed once more when Python ends."""
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    with full() as stream:
        done = subprocess.run(
            [sys.executable, "-m", "xnas", "data"],
            stdout=stream,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            env=buffered,
        )
    assert (done.returncode, done.stderr) == (2, f"{FULL}\n")


def test_closed_streams_lead_nowhere_and_no_file_takes_their_place():
    code = """
import os, sys
from xnas.process.output import open_missing_streams
open_missing_streams()
print("lost", flush=True)
print("lost", file=sys.stderr, flush=True)
null = os.stat(os.devnull)
sys.exit(0 if all(os.path.samestat(os.fstat(number), null) for number in range(3)) else 1)
"""
    closing = [sys.executable, "-c", f"import os; os.closerange(0, 3); os.execv({sys.executable!r}, "]
    closing[-1] += f"[{sys.executable!r}, '-c', {code!r}])"
    assert subprocess.run(closing, check=False).returncode == 0
    before = sys.stdin, sys.stdout, sys.stderr
    open_missing_streams()
    assert before == (sys.stdin, sys.stdout, sys.stderr)
