"""A line whenever nothing was printed for some time."""

import os
import threading
import time

from xnas.runs.pulse import SECONDS, Pulse


def until(true):
    end = time.monotonic() + 5
    while not true() and time.monotonic() < end:
        time.sleep(0.005)
    assert true()


def test_silence_is_broken_again_and_again():
    said = []
    pulse = Pulse(lambda: f"line {len(said)}", said.append, seconds=0.02)
    pulse.start()
    until(lambda: len(said) >= 3)
    pulse.stop()
    assert said[:3] == ["line 0", "line 1", "line 2"]
    assert "xnas-pulse" not in {thread.name for thread in threading.enumerate()}


def test_what_was_printed_puts_the_next_line_off():
    said = []
    pulse = Pulse(lambda: "alive", said.append, seconds=0.5)
    pulse.start()
    for _ in range(30):
        pulse.beat()
        time.sleep(0.02)
    pulse.stop()
    assert said == []


def test_the_thread_is_gone_while_a_process_is_forked_and_back_in_the_parent():
    said = []
    pulse = Pulse(lambda: "alive", said.append, seconds=0.05)
    pulse.start()
    child = os.fork()
    if child == 0:
        os._exit(threading.active_count() - 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    until(lambda: said)
    pulse.stop()


def test_a_line_that_cannot_be_printed_ends_nothing():
    tried = []

    def fail(line):
        tried.append(line)
        raise BrokenPipeError

    pulse = Pulse(lambda: "alive", fail, seconds=0.01)
    pulse.start()
    until(lambda: len(tried) >= 2)
    pulse.stop()


def test_the_silence_is_below_half_a_minute():
    assert SECONDS < 30
