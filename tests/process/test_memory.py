"""Memory is measured in bytes, and grows by what is held."""

import mmap

import torch

from xnas.process.memory import memory_in_use, peak_of_process

HELD = 2**26


def test_memory_is_counted_in_bytes():
    before = memory_in_use(torch.device("cpu"))
    with mmap.mmap(-1, HELD) as held:  # new pages: an allocation may reuse what was freed before
        held.write(bytes([1]) * HELD)
        assert memory_in_use(torch.device("cpu")) - before > HELD // 2
    assert 2**34 > peak_of_process() >= HELD
