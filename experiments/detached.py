"""Runs commands in processes that outlive the call, for a GPU that is at hand for some minutes.

    python experiments/detached.py start QUEUE --folder DIR --seconds 1400
    python experiments/detached.py wait --folder DIR --seconds 540 --pack FILE.tar.gz

QUEUE has a command per line. Those of a block run in parallel, and a blank line waits for all
before it; a line that begins with # is left out. `{left}` in a command becomes the seconds that are
left, so that scripts with `--seconds` end in time; at the end of the time what still runs is stopped as
by Ctrl-C. Each command writes its log to DIR/logs.

`wait` prints the last lines of every log, ends when all have ended or its time is over, and packs what
the folder holds apart from checkpoints. It exits with 0 when all have ended, and with 3 otherwise.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tarfile
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Sequence
from pathlib import Path

from jobs import positive_seconds, script

LOGS, ENDED = "logs", "ended"
POLL = 0.5
GRACE = 20.0  # seconds in which a stopped command saves what it has
LINES = 3


def blocks_of(text: str) -> list[list[str]]:
    """Commands that are played together, block after block."""
    blocks: list[list[str]] = [[]]
    for line in map(str.strip, text.splitlines()):
        if not line:
            blocks.append([])
        elif not line.startswith("#"):
            blocks[-1].append(line)
    return [block for block in blocks if block]


def play(blocks: Sequence[Sequence[str]], folder: Path, until: float) -> None:
    """Play all blocks, or as many as begin before `until`, a time of `time.monotonic`."""
    number = 0
    for block in blocks:
        running = []
        for command in block:
            number += 1
            left = max(0, round(until - time.monotonic()))
            log = folder / LOGS / f"{number:02}.log"
            running.append(_started(command.replace("{left}", str(left)), log))
        _await(running, until)
        if time.monotonic() >= until:
            break
    (folder / ENDED).touch()


def _started(command: str, log: Path) -> subprocess.Popen[bytes]:
    with log.open("wb") as file:
        file.write(f"$ {command}\n".encode())
        file.flush()
        return subprocess.Popen(  # noqa: S603 - the user's own commands
            ["bash", "-c", command],  # noqa: S607
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            start_new_session=True,
        )


def _await(running: Sequence[subprocess.Popen[bytes]], until: float) -> None:
    """Wait for all; at the end of the time stop them as by Ctrl-C, then for good."""
    for stop, end in (
        (None, until),
        (signal.SIGINT, until + GRACE),
        (signal.SIGKILL, until + 2 * GRACE),
    ):
        for process in running:
            if stop is not None and process.poll() is None:
                os.killpg(process.pid, stop)
        while time.monotonic() < end:
            if all(process.poll() is not None for process in running):
                return
            time.sleep(POLL)


def start(queue: Path, folder: Path, seconds: float) -> None:
    """Play the commands of a file in a process of its own."""
    if not blocks_of(queue.read_text(encoding="utf8")):
        raise SystemExit(f"{queue} has no command; write one per line")
    if (folder / LOGS).exists():
        raise SystemExit(f"{folder} has logs already; give a folder of its own to every queue")
    (folder / LOGS).mkdir(parents=True)
    words = [sys.executable, __file__, "play", str(queue), "--folder", str(folder)]
    closed = subprocess.DEVNULL
    subprocess.run(  # noqa: S603 - ourselves
        ["setsid", "--fork", *words, "--seconds", str(seconds)],  # noqa: S607
        check=True,
        stdin=closed,
        stdout=closed,
        stderr=closed,
    )


def wait(folder: Path, seconds: float) -> bool:
    """Whether all commands have ended; waits at most so many seconds for it."""
    if not (folder / LOGS).is_dir():
        raise SystemExit(f"{folder} has no queue; begin with: detached.py start QUEUE --folder {folder}")
    until = time.monotonic() + seconds
    while not (folder / ENDED).exists() and time.monotonic() < until:
        time.sleep(min(POLL, max(0.0, until - time.monotonic())))
    return (folder / ENDED).exists()


def endings(folder: Path) -> Iterable[str]:
    """The command of every log, and its last lines."""
    for log in sorted((folder / LOGS).iterdir()):
        lines = log.read_text(encoding="utf8", errors="replace").splitlines()
        yield "\n".join([f"[{log.stem}] {''.join(lines[:1])}", *lines[1:][-LINES:]])


def pack(folder: Path, path: Path) -> None:
    """Write what the folder holds, without checkpoints."""

    def small(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
        return None if "checkpoints" in Path(entry.name).parts else entry

    with tarfile.open(path, "w:gz") as archive:
        archive.add(folder, folder.name, filter=small)


def _arguments(words: Sequence[str]) -> Namespace:
    parser = ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    actions = parser.add_subparsers(dest="action", required=True)
    for action in ("start", "play", "wait"):
        one = actions.add_parser(action)
        if action != "wait":
            one.add_argument("queue", type=Path, help="file with a command per line")
        one.add_argument("--folder", type=Path, required=True, help="where logs and results are")
        one.add_argument("--seconds", type=positive_seconds, required=True, help="time that may be used")
        if action == "wait":
            one.add_argument("--pack", type=Path, help="archive to write: all but checkpoints")
    arguments = parser.parse_args(words)
    if arguments.action != "wait" and not arguments.queue.is_file():
        parser.error(f"there is no file {arguments.queue}; give one with a command per line")
    return arguments


def main(given: Sequence[str] | None = None) -> int:
    """Start a queue, or wait for it; 3 if it has not ended yet."""
    arguments = _arguments(list(sys.argv[1:] if given is None else given))
    folder = arguments.folder
    if arguments.action == "start":
        start(arguments.queue, folder, arguments.seconds)
        return 0
    if arguments.action == "play":
        blocks = blocks_of(arguments.queue.read_text(encoding="utf8"))
        play(blocks, folder, time.monotonic() + arguments.seconds)
        return 0
    ended = wait(folder, arguments.seconds)
    print("\n".join(endings(folder)))
    if arguments.pack is not None:
        pack(folder, arguments.pack)
    return 0 if ended else 3


if __name__ == "__main__":
    script(main)
