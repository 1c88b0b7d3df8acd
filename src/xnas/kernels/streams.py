"""Work on a second CUDA stream, in parallel with the current one.

Many kernels are too small for a GPU; two at a time fill it better. In a CUDA graph such work becomes a
branch. It computes the same numbers, at another time.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import torch
from torch import Tensor


class SideStream:
    """A stream that branches off the current stream and joins it again; on a CPU, nothing happens.

    Branches of one `line` run one after another, those of different lines in parallel. Memory of a
    branch is used again when later branches, which wait for it, are launched.
    """

    def __init__(self, device: torch.device, line: int = 0) -> None:
        self.stream = _stream(device, line) if device.type == "cuda" else None
        self._under_way: list[tuple[torch.cuda.Event, tuple[Tensor, ...]]] = []

    @contextmanager
    def branch(self, *reading: Tensor) -> Iterator[None]:
        """Launch kernels that read what is there so far; `reading` is kept until they are waited for.

        Memory that is released may be given to the current stream's next tensor, which does not wait.
        """
        if self.stream is None:
            yield
            return
        self.stream.wait_stream(torch.cuda.current_stream(self.stream.device))
        with torch.cuda.stream(self.stream):
            yield
        self._under_way.append((self.stream.record_event(), reading))

    def keep(self, tensor: Tensor) -> None:
        """Do not give the memory of a tensor to others before the stream of the branch is done with it.

        For what autograd saves in a branch: it is released once the backward pass, on the same stream,
        is launched. In a capture such memory is not used again before the end.
        """
        if self.stream is not None:
            tensor.record_stream(self.stream)

    def join(self, *, but_last: int = 0) -> None:
        """Let the current stream wait for all branches but the last ones."""
        if self.stream is None:
            return
        main = torch.cuda.current_stream(self.stream.device)
        while len(self._under_way) > but_last:
            event, _ = self._under_way.pop(0)
            main.wait_event(event)


@cache
def _stream(device: torch.device, _line: int) -> torch.cuda.Stream:
    return torch.cuda.Stream(device)
