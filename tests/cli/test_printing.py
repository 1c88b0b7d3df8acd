"""No name reaches a terminal as a control character, and every command prints through one module."""

import ast
import json
import os
import pty
import sys
from pathlib import Path

import pytest

import xnas.cli
from xnas.cli.printing import REPORT, report_lines, say, say_document, say_json, warn, watched
from xnas.runs.reports.write import NAME

HERE = Path(xnas.cli.__file__).parent
OWN = {"__init__.py", "printing.py"}  # the former escapes its two lines itself


def test_lines_stay_lines_and_all_else_is_escaped(capsys):
    say("a\nb\x1b[31m\r")
    warn("x\ny")
    captured = capsys.readouterr()
    assert captured.out == "a\nb\\x1b[31m\\r\n"
    assert captured.err == "warning: x\\ny\n"


def test_a_report_is_named_if_there_is_one(tmp_path):
    assert REPORT == NAME
    assert report_lines(tmp_path) == []
    (tmp_path / NAME).touch()
    assert report_lines(str(tmp_path)) == [f"report: {tmp_path / 'report.html'}"]


def test_json_stays_json(capsys):
    value = {"é\u202e": "\x9b\n\udcff\U000e0001"}
    say_json(value)
    out = capsys.readouterr().out
    assert out.startswith('{"é')
    assert out.rstrip("\n").isprintable()
    assert json.loads(out) == value


def test_a_document_says_what_it_is(capsys):
    say_document("show", {"cell": "xnas"})
    out = capsys.readouterr().out
    assert json.loads(out) == {"format": "xnas-show", "version": 1, "cell": "xnas"}


def test_no_command_prints_by_itself():
    prints = [
        f"{path.name}:{node.lineno}"
        for path in HERE.glob("*.py")
        if path.name not in OWN
        for node in ast.walk(ast.parse(path.read_text(encoding="utf8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    ]
    assert prints == []


@pytest.mark.parametrize("quiet", [False, True])
def test_progress_leaves_standard_output_to_results(monkeypatch, capsys, quiet):
    screen, terminal = pty.openpty()
    monkeypatch.setenv("TERM", "xterm")
    with os.fdopen(terminal, "w") as stderr:
        monkeypatch.setattr(sys, "stderr", stderr)
        with watched("image", quiet=quiet) as advance:
            advance(1, 3)
            say("result")
            advance(2, 3)
    shown = os.read(screen, 10_000) if not quiet else b""
    os.close(screen)
    assert capsys.readouterr().out == "result\n"
    assert (b"image" in shown) is not quiet
