"""The command line: one line and exit status 2 for an error, a traceback with --debug."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from commands import call as run

from xnas import ConfigError, __version__
from xnas.cli import COMMANDS, app, main


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("reproduce", "toy-4d"), "nothing called 'toy-4d' to reproduce; there are: forecaster, toy-3d"),
        (
            ("reproduce", "--runs", "many"),
            "--runs must be a whole number, got 'many'; see xnas reproduce --help\n",
        ),
        (("search", "--epochs", "1.5"), "--epochs must be a whole number, got '1.5'; see xnas search"),
        (("search", "--epochs=1.0e400"), "--epochs must be a whole number, got '1.0e400'"),
        (("train", "xnas", "--batch-size", "1.5"), "--batch-size must be a whole number, got '1.5'"),
        (("predict", "run", "image", "--top", "1.5"), "--top must be a whole number, got '1.5'; see"),
        (("bench", "theory", "--mixtures", "2.5"), "--mixtures must be a whole number, got '2.5'"),
        (("bench", "theory", "--repetitions", "2.0"), "repetitions must be at least 3, got 2"),
        (
            ("search", "--experts-lr", "foo"),
            "--experts-lr must be paper, matched, matched-by-kind or a number above 0 and below",
        ),
        (("search", "--wipeout=maybe"), "--wipeout must be true or false, got 'maybe'"),
        (("reproduce", "--runs", "0"), "runs must be at least 2, got 0"),
        (
            ("reproduce", "--runz", "3"),
            "xnas reproduce has no option --runz; did you mean --runs? see xnas reproduce --help\n",
        ),
        (("search", "--pretrained"), "xnas search has no option --pretrained; see xnas search --help\n"),
        (
            ("search", "--backend", "fast"),
            "--backend must be auto, reference, captured or fused, got 'fast'; see xnas search --help\n",
        ),
        (("repro",), "xnas has no command 'repro'; did you mean reproduce? there are: fit, search"),
        (("evaluate",), "xnas: xnas evaluate needs RUN; see xnas evaluate --help\n"),
        (("search", "--epochs"), "xnas: --epochs needs a value; see xnas search --help\n"),
        (("search", "--resume"), "xnas: --resume needs a value; see xnas search --help\n"),
        (("bench", "theory", "--mixtures"), "--mixtures needs a value; see xnas bench theory --help\n"),
        (("bench", "theory", "--repetitions", "0"), "repetitions must be at least 3, got 0"),
        (
            ("bench", "cooking"),
            "xnas bench has no command 'cooking'; there are: theory, search, methods, data, train; see",
        ),
        (
            ("search", "digits", "extra"),
            "takes the argument 'extra'; leave it out, or see xnas search --h",
        ),
        (
            ("data", "--data-dir", "~/no-such-file", "~/none"),
            "no dataset or folder called '/home/me/none'",
        ),
        (("show", "xnas", "--svg=~/cell.png"), "--svg draws an SVG, got /home/me/cell.png"),
    ],
)
def test_errors_are_one_line_and_exit_2(capsys, monkeypatch, arguments, words):
    monkeypatch.setenv("HOME", "/home/me")
    status, out, err = run(capsys, *arguments)
    assert status == 2
    assert out == ""
    assert err.startswith("xnas: ")
    assert words in err
    assert err.count("\n") == 1


def test_debug_shows_the_traceback():
    with pytest.raises(ConfigError, match="runs must be at least 2"):
        main(["reproduce", "--runs", "0", "--debug"])


def test_help_is_complete_and_names_every_item(capsys):
    status, out, _ = run(capsys, "reproduce", "--help")
    assert status == 0
    for flag in ("--out", "--overwrite", "--runs", "--rounds", "--seed", "--quiet"):
        assert flag in out
    text = " ".join(out.replace("│", " ").split())
    assert "forecaster, toy-3d, toy-2d, attenuation, stochastic, adam, memory" in text
    assert "Monte-Carlo runs of the stochastic study." in text


def test_version_is_reported(capsys):
    assert run(capsys, "--version")[1].strip() == __version__


def test_help_imports_nothing_slow():
    """A user who asks what there is should not wait for torch; one process asks for every help."""
    slow = ("torch", "matplotlib", "sklearn", "numpy", "PIL")
    asked = [["--help"], ["--version"], ["serch"]]
    asked += [[name, "--help"] for name in COMMANDS]
    asked += [["bench", part, "--help"] for part in ("theory", "search", "methods", "data", "train")]
    code = (
        "import sys\nfrom xnas.cli import main\n"
        f"for words in {asked}:\n"
        "    try:\n        main(words)\n    except SystemExit:\n        pass\n"
        f"    found = [name for name in {slow} if name in sys.modules]\n"
        "    assert not found, (words, found)\n"
    )
    subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)


def test_every_command_has_a_summary_and_an_example_that_parses(capsys):
    out = run(capsys, "--help")[1]
    for name, (summary, _, example) in COMMANDS.items():
        assert name in out
        assert summary.split()[0] in out
        command, bound, _ = app.parse_args(example.split()[1:], exit_on_error=False)
        assert command.__name__ == example.split()[1 if name != "bench" else 2]
        assert bound is not None


def test_no_command_shows_the_commands(capsys):
    status, out, _ = run(capsys)
    assert status == 0
    assert "reproduce" in out
    assert "bench" in out


def test_python_dash_m_is_the_same_command():
    done = subprocess.run(
        [sys.executable, "-m", "xnas", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == __version__


def test_an_interrupt_is_reported_in_one_line(capsys, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("xnas.paper.reproduce.reproduce", interrupt)
    status, _, err = run(capsys, "reproduce")
    assert status == 130
    assert err == "xnas: interrupted\n"


def started(code, **variables):
    """A process that runs some code with `xnas.cli` as `cli`; torch is not imported."""
    environment = {**os.environ, **variables}
    return subprocess.run(
        [sys.executable, "-c", f"import xnas.cli as cli\n{code}"],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )


STOPPED = (
    "import signal\n"
    "cli.app.command(lambda: signal.raise_signal(signal.{}), name='wait')\n"
    "cli.main(['wait'])"
)


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("cli.main(['--version'])", 0),
        ("cli.main(['--help'])", 0),
        ("cli.app.command(lambda: 1 / 0, name='fault')\ncli.main(['fault'])", 1),
        ("cli.main(['serch'])", 2),
        ("cli.main(['search', '--epochs', 'many'])", 2),
        (STOPPED.format("SIGINT"), 130),
        (STOPPED.format("SIGTERM"), 130),
    ],
)
def test_the_exit_status_is_what_the_page_says(code, status):
    done = started(code)
    assert done.returncode == status, done.stderr
    page = (Path(__file__).parents[2] / "docs" / "command-line.md").read_text(encoding="utf8")
    assert f"| {status} |" in page
    assert ("Traceback" in done.stderr) is (status == 1)


def test_no_escape_code_reaches_a_pipe():
    for words in (["--help"], ["search", "--help"], ["serch"]):
        done = started(f"cli.main({words})", TERM="xterm-256color")
        assert "\x1b" not in done.stdout + done.stderr


def test_no_color_takes_colours_and_bold_letters_from_help():
    code = (
        "import os, pty\n"
        "pid, screen = pty.fork()\n"
        "if pid == 0:\n    cli.main(['search', '--help'])\n    os._exit(0)\n"
        "shown = b''\n"
        "try:\n    while part := os.read(screen, 65536):\n        shown += part\n"
        "except OSError:\n    pass\n"
        "print(b'\\x1b' in shown, b'--epochs' in shown)\n"
    )
    assert started(code, TERM="xterm-256color").stdout == "True True\n"
    assert started(code, TERM="xterm-256color", NO_COLOR="1").stdout == "False True\n"
