"""`xnas --install-completion`: the shell completes commands, options and their choices after Tab."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from xnas.cli.printing import say
from xnas.errors import ConfigError
from xnas.process.folder import storage_errors
from xnas.words import printable

Shell = Literal["bash", "zsh", "fish"]
RELOAD = {
    "bash": "open a new shell, or: source ~/.bashrc",
    "zsh": "open a new shell, or: exec zsh (compinit has to run in ~/.zshrc)",
    "fish": "open a new shell",
}
"""How the script of each shell takes effect."""


def install_completion(*, shell: Shell | None = None, out: Path | None = None) -> None:
    """Complete commands and options after Tab: write a script for your shell, and have it loaded.

    For bash and zsh a line in ~/.bashrc or ~/.zshrc loads the script.

    Parameters
    ----------
    shell
        bash, zsh or fish. Default: the shell that this command was typed into.
    out
        Only write the script, into this file, and change no other.
    """
    from xnas.cli import app  # noqa: PLC0415 - it has this command

    chosen = shell or _present_shell()
    with storage_errors(out or Path.home(), "choose another file with --out"):
        path = app.install_completion(shell=chosen, output=out, add_to_startup=out is None)
    say(f"written: {printable(path)}")
    say(f"next: {RELOAD[chosen]}" if out is None else f"next: source {printable(path)}")


def _present_shell() -> Shell:
    from cyclopts.completion.detect import ShellDetectionError, detect_shell  # noqa: PLC0415

    try:
        found = detect_shell()
    except ShellDetectionError:
        found = None
    if found is None or found == "powershell":
        given = "none that is known" if found is None else found
        raise ConfigError(f"no completion for this shell ({given}); give --shell bash, zsh or fish")
    return found
