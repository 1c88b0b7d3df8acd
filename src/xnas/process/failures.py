"""Failures from outside the mathematics of a run: memory that runs out, a device that fails.

Neither is skipped. The run stops, and one line says where it stopped, what is saved, and what to try.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from xnas.errors import DatasetError, RoundError
from xnas.words import short

NO_MEMORY = ("out of memory", "can't allocate memory", "not enough memory", "ALLOC_FAILED")
NO_DEVICE = ("CUDA error", "CUDA driver", "cuDNN error", "CUBLAS", "NCCL error", "HIP error")
"""What torch writes into a RuntimeError when a device has failed."""
LONGEST_REASON = 150
SMALLER = "use a smaller --batch-size, or fewer --channels or --cells"
ANOTHER_DEVICE = "look at it with nvidia-smi, restart it, or choose another with --device"


def failure(error: BaseException) -> str | None:
    """What failed, memory or device, and what to try, in one line; None for any other error."""
    message, reason = str(error), short(error, LONGEST_REASON)
    if isinstance(error, MemoryError) or _is_torchs(error, "OutOfMemoryError"):
        return f"memory ran out ({reason}); {SMALLER}"
    if not isinstance(error, RuntimeError):
        return None
    if any(sign in message for sign in NO_MEMORY):
        return f"memory ran out ({reason}); {SMALLER}"
    if _is_torchs(error, "AcceleratorError") or any(sign in message for sign in NO_DEVICE):
        return f"the device failed ({reason}); {ANOTHER_DEVICE}"
    return None


def _is_torchs(error: BaseException, kind: str) -> bool:
    """Whether an error is torch's of that name; torch, which takes seconds, is not imported to know."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(error, getattr(torch, kind))


@contextmanager
def explain_failures(where: Callable[[], str], saved: Callable[[], str]) -> Iterator[None]:
    """Add to errors of rounds, images, memory and devices where they occurred and what is saved."""
    try:
        yield
    except (DatasetError, RoundError) as error:
        raise type(error)(f"{where()}: {error}; {saved()}") from error
    except (MemoryError, RuntimeError) as error:
        reason = failure(error)
        if reason is None:
            raise
        raise RoundError(f"{where()}: {reason}; {saved()}") from error
