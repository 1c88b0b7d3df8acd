"""Commands that outlive the call that started them."""

import tarfile
import time

import pytest

import detached


@pytest.fixture
def queue(tmp_path):
    def write(*lines):
        path = tmp_path / "queue.txt"
        path.write_text("\n".join(lines), encoding="utf8")
        return path

    return write


def played(queue, folder, seconds):
    """The logs of a queue that is played in this process."""
    (folder / detached.LOGS).mkdir(parents=True)
    blocks = detached.blocks_of(queue.read_text(encoding="utf8"))
    detached.play(blocks, folder, time.monotonic() + seconds)
    return [log.read_text(encoding="utf8") for log in sorted((folder / detached.LOGS).iterdir())]


def test_blank_lines_divide_blocks_and_comments_are_left_out():
    assert detached.blocks_of("\n# first\na\nb\n\n\n  c\n") == [["a", "b"], ["c"]]


def test_a_block_waits_for_the_one_before(tmp_path, queue):
    words = f"test -e {tmp_path}/made && echo there"
    logs = played(queue(f"touch {tmp_path}/made", "", words), tmp_path / "run", seconds=60)
    assert logs[1] == f"$ {words}\nthere\n"


def test_commands_know_the_seconds_that_are_left(tmp_path, queue):
    (log,) = played(queue("echo {left}"), tmp_path / "run", seconds=60)
    assert log.splitlines()[1] in {"59", "60"}


def test_what_still_runs_at_the_end_is_stopped_as_by_ctrl_c(tmp_path, queue):
    program = "import time; time.sleep(30)"
    began = time.monotonic()
    logs = played(queue(f'python3 -c "{program}"', "", "echo never"), tmp_path / "run", seconds=0.6)
    assert time.monotonic() - began < 10
    assert "KeyboardInterrupt" in logs[0]
    assert len(logs) == 1


def test_a_queue_outlives_the_call_that_started_it(tmp_path, queue, capsys):
    folder, packed = tmp_path / "run", tmp_path / "packed.tar.gz"
    (folder / "checkpoints").mkdir(parents=True)
    (folder / "checkpoints" / "large").touch()
    words = ["--folder", str(folder), "--seconds", "20"]
    assert detached.main(["start", str(queue("echo hello")), *words]) == 0
    assert detached.main(["wait", *words, "--pack", str(packed)]) == 0
    assert capsys.readouterr().out == "[01] $ echo hello\nhello\n"
    with tarfile.open(packed) as archive:
        assert {"run/logs/01.log", "run/ended"} < {*archive.getnames()}
        assert "run/checkpoints/large" not in archive.getnames()


def test_one_that_has_not_ended_is_said_to_run(tmp_path, capsys):
    (tmp_path / detached.LOGS).mkdir()
    assert detached.main(["wait", "--folder", str(tmp_path), "--seconds", "0.1"]) == 3
    assert not capsys.readouterr().out.strip()


@pytest.mark.parametrize(
    ("lines", "before", "words"),
    [
        (["# nothing"], False, "has no command; write one per line"),
        (["echo hello"], True, "has logs already; give a folder of its own"),
    ],
)
def test_queues_that_cannot_start_are_refused(tmp_path, queue, lines, before, words):
    folder = tmp_path / "run"
    if before:
        (folder / detached.LOGS).mkdir(parents=True)
    with pytest.raises(SystemExit, match=words):
        detached.main(["start", str(queue(*lines)), "--folder", str(folder), "--seconds", "1"])


def test_waiting_for_no_queue_is_refused(tmp_path):
    with pytest.raises(SystemExit, match="has no queue; begin with"):
        detached.main(["wait", "--folder", str(tmp_path), "--seconds", "1"])
