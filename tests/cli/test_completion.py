"""The shell completes commands, options and choices."""

import shutil
import subprocess

import pytest
from commands import call
from cyclopts.completion import detect

from xnas.cli import COMMANDS

COMPLETE = """
. {script}
function=$(complete -p xnas | sed 's/.*-F \\([^ ]*\\).*/\\1/')
COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
$function
echo "${{COMPREPLY[@]}}"
"""


@pytest.fixture(scope="module")
def script(tmp_path_factory):
    return tmp_path_factory.mktemp("completion") / "xnas.bash"


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("xnas sea", {"search"}),
        ("xnas ''", {*COMMANDS}),
        ("xnas search --res", {"--resume", "--resize"}),
        ("xnas search --resize ''", {"crop", "pad", "stretch"}),
        ("xnas bench se", {"search"}),
    ],
)
def test_bash_offers_commands_options_and_choices(capsys, script, words, offered):
    if not script.exists():
        assert call(capsys, "--install-completion", "--shell", "bash", "--out", script)[0] == 0
    code = COMPLETE.format(script=script, words=words)
    done = subprocess.run(["bash", "-c", code], capture_output=True, text=True, check=True)
    assert offered <= {*done.stdout.split()}


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_accept_their_script(capsys, tmp_path, shell):
    path = tmp_path / "script"
    status, out, _ = call(capsys, "--install-completion", "--shell", shell, "--out", path)
    assert status == 0
    assert out.splitlines()[0] == f"written: {path}"
    assert "search" in path.read_text()
    if shutil.which(shell):
        subprocess.run([shell, "-n", path], check=True)


def test_the_startup_file_loads_the_script_once(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    for _ in range(2):
        status, out, _ = call(capsys, "--install-completion", "--shell", "bash")
        assert status == 0
    path = tmp_path / ".local/share/bash-completion/completions/xnas"
    assert out.splitlines()[0] == f"written: {path}"
    assert (tmp_path / ".bashrc").read_text().count(f'. "{path}"') == 1


def test_the_shell_is_found(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("FISH_VERSION", "3.7")
    for name in ("ZSH_VERSION", "BASH_VERSION"):
        monkeypatch.delenv(name, raising=False)
    assert call(capsys, "--install-completion", "--out", tmp_path / "script")[0] == 0
    assert (tmp_path / "script").read_text().startswith("# Fish completion")


@pytest.mark.parametrize("found", [None, "powershell"])
def test_an_unknown_shell_is_one_line(capsys, monkeypatch, found):
    def shell():
        if found is None:
            raise detect.ShellDetectionError
        return found

    monkeypatch.setattr(detect, "detect_shell", shell)
    status, out, err = call(capsys, "--install-completion")
    assert (status, out) == (2, "")
    assert "give --shell bash, zsh or fish\n" in err


def test_a_script_that_cannot_be_written_is_one_line(capsys, tmp_path):
    (tmp_path / "file").touch()
    status, _, err = call(
        capsys, "--install-completion", "--shell", "bash", "--out", tmp_path / "file" / "script"
    )
    assert status == 2
    assert err.startswith("xnas: cannot write to")
    assert err.count("\n") == 1
