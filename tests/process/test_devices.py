"""Where a run computes, and what it asks of libraries there."""

from contextlib import suppress

import pytest
import torch

from xnas.process.devices import full_fp32, repeatable


@pytest.mark.parametrize("before", [False, True])
@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_on_a_gpu_libraries_are_asked_for_kernels_that_repeat_themselves(monkeypatch, device, before):
    monkeypatch.setattr(torch.backends.cudnn, "deterministic", before)
    with repeatable(torch.device(device)):
        assert torch.backends.cudnn.deterministic == (before or device == "cuda")
    assert torch.backends.cudnn.deterministic == before


def flags():
    """Precision of convolutions, recurrences and products by torch's newer flags."""
    backends = torch.backends
    places = (backends.cudnn.conv, backends.cudnn.rnn, backends.cuda.matmul)
    return [place.fp32_precision for place in (*places, backends.mkldnn.conv, backends.mkldnn.matmul)]


def older_flags():
    """The same by its older ones; None where they cannot be read."""
    try:
        return torch.backends.cudnn.allow_tf32, torch.get_float32_matmul_precision()
    except RuntimeError:
        return None


def as_torch_has_them():
    """No change."""


def by_older_flags():
    torch.backends.cudnn.allow_tf32 = False
    torch.set_float32_matmul_precision("medium")


def by_newer_flags():
    torch.backends.cudnn.conv.fp32_precision = "ieee"
    torch.backends.cuda.matmul.fp32_precision = "tf32"


def by_one_flag_for_all():
    torch.backends.fp32_precision = "tf32"


@pytest.fixture
def _flags_put_back():
    """Put all flags back, which `fp32_precision` of a test would leave contradictory."""
    backends, saved = torch.backends, flags()
    yield
    backends.fp32_precision = "none"
    torch.backends.cudnn.allow_tf32 = True
    torch.set_float32_matmul_precision("highest")
    places = (backends.cudnn.conv, backends.cudnn.rnn, backends.cuda.matmul)
    for place, value in zip((*places, backends.mkldnn.conv, backends.mkldnn.matmul), saved, strict=True):
        place.fp32_precision = value


@pytest.mark.usefixtures("_flags_put_back")
@pytest.mark.parametrize(
    "begin", [as_torch_has_them, by_older_flags, by_newer_flags, by_one_flag_for_all]
)
def test_tf32_is_off_in_the_block_and_as_before_after_it(begin):
    begin()
    before = flags(), older_flags()
    with full_fp32():
        assert flags() == ["ieee"] * 5
        assert older_flags() == (False, "highest")
        assert not torch.backends.cuda.matmul.allow_tf32
    assert (flags(), older_flags()) == before


def test_flags_are_put_back_after_an_error():
    before = flags(), older_flags()
    with suppress(ZeroDivisionError), full_fp32():
        raise ZeroDivisionError
    assert (flags(), older_flags()) == before


def test_what_is_repeatable_is_in_full_fp32():
    with repeatable(torch.device("cpu")):
        assert flags() == ["ieee"] * 5
    assert torch.backends.cudnn.conv.fp32_precision == "tf32"  # torch's default


def test_blocks_may_lie_inside_each_other():
    with full_fp32():
        with full_fp32():
            assert flags() == ["ieee"] * 5
        assert flags() == ["ieee"] * 5
