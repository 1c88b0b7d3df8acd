"""Where a run computes, and what it asks of libraries there."""

import pytest
import torch

from xnas.process.devices import repeatable


@pytest.mark.parametrize("before", [False, True])
@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_on_a_gpu_libraries_are_asked_for_kernels_that_repeat_themselves(monkeypatch, device, before):
    monkeypatch.setattr(torch.backends.cudnn, "deterministic", before)
    with repeatable(torch.device(device)):
        assert torch.backends.cudnn.deterministic == (before or device == "cuda")
    assert torch.backends.cudnn.deterministic == before
