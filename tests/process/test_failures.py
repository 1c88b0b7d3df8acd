import pytest
import torch

from xnas.errors import DatasetError, RoundError
from xnas.process.failures import explain_failures, failure


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (MemoryError(), "memory ran out (MemoryError); use a smaller --batch-size"),
        (torch.OutOfMemoryError("CUDA out of memory"), "memory ran out (CUDA out of memory)"),
        (RuntimeError("can't allocate memory: 8 bytes"), "memory ran out (can't allocate"),
        (RuntimeError("CUDA error: an illegal\naddress"), "the device failed (CUDA error: an illegal a"),
        (RuntimeError("NCCL error " + "x" * 500), "x...); look at it with nvidia-smi"),
    ],
)
def test_memory_and_devices_are_distinguished(error, words):
    assert words in failure(error)
    assert "\n" not in failure(error)


@pytest.mark.parametrize("error", [RuntimeError("shape mismatch"), ValueError("out of memory")])
def test_other_errors_are_no_failure_of_the_machine(error):
    assert failure(error) is None
    with pytest.raises(type(error), match=str(error)), explain_failures(str, str):
        raise error


@pytest.mark.parametrize("error", [DatasetError("bad"), RoundError("bad"), MemoryError("bad")])
def test_a_failure_says_where_it_occurred_and_what_is_saved(error):
    kind = DatasetError if isinstance(error, DatasetError) else RoundError
    with (
        pytest.raises(kind, match=r"^round 3: .*bad.*; nothing is lost$"),
        explain_failures(lambda: "round 3", lambda: "nothing is lost"),
    ):
        raise error
