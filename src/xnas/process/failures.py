"""What can end a run from outside its mathematics: memory that is not enough, a device that fails.

Neither is skipped. The run stops where it is, and one line says where that was, what is kept of it, and
what to try.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch

from xnas.errors import DatasetError, RoundError

NO_MEMORY = ("out of memory", "can't allocate memory", "not enough memory", "ALLOC_FAILED")
NO_DEVICE = ("CUDA error", "CUDA driver", "cuDNN error", "CUBLAS", "NCCL error", "HIP error")
"""What torch writes into a RuntimeError when a device has failed."""
SMALLER = "use a smaller --batch-size, or fewer --channels or --cells"
ANOTHER_DEVICE = "look at it with nvidia-smi, restart it, or choose another with --device"


def failure(error: BaseException) -> str | None:
    """Memory or device: what failed and what to try, in one line; None if it is something else."""
    words = " ".join(str(error).split())
    told = f"{words[:150]}..." if len(words) > 150 else words or type(error).__name__
    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return f"memory ran out ({told}); {SMALLER}"
    if not isinstance(error, RuntimeError):
        return None
    if any(sign in words for sign in NO_MEMORY):
        return f"memory ran out ({told}); {SMALLER}"
    if isinstance(error, torch.AcceleratorError) or any(sign in words for sign in NO_DEVICE):
        return f"the device failed ({told}); {ANOTHER_DEVICE}"
    return None


@contextmanager
def told_with(where: Callable[[], str], kept: Callable[[], str]) -> Iterator[None]:
    """Let errors of rounds, images, memory and devices say where they came up and what is kept."""
    try:
        yield
    except (DatasetError, RoundError) as error:
        raise type(error)(f"{where()}: {error}; {kept()}") from error
    except (MemoryError, RuntimeError) as error:
        told = failure(error)
        if told is None:
            raise
        raise RoundError(f"{where()}: {told}; {kept()}") from error
