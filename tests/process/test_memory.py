import torch

from xnas.process.memory import memory_in_use, peak_of_process


def test_memory_is_counted_in_bytes():
    before = memory_in_use(torch.device("cpu"))
    held = torch.ones(2**24)  # 64 MiB, touched
    assert memory_in_use(torch.device("cpu")) - before > 2**25
    assert 2**34 > peak_of_process() >= held.nbytes
