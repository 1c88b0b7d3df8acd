"""Several processes of one run (`torchrun`), each with its own part of every batch.

Every process holds the whole search or training and makes the same choices: what a choice rests on is
averaged over all of them first (gradients of weights, rewards, before anything is clipped), and random
draws come from streams that all share. No module is wrapped, so experts can be deleted as ever. What may
differ in between, batch statistics and sums of an epoch, is averaged before it is read or kept
(`agree` of a search or training); after that all is equal bit for bit, which `require_same` asserts.

The first process (rank 0) alone owns the run folder and speaks.
"""

from __future__ import annotations

import atexit
import io
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from hashlib import blake2b
from typing import Any, TypeVar

import torch
from torch import Tensor
from torch import distributed as dist

from xnas.errors import ConfigError, RankError, XnasError

T = TypeVar("T")

TIMEOUT_NAME = "XNAS_RANKS_TIMEOUT"
TIMEOUT = 120.0  # seconds that processes wait for each other
LONGEST = 1e6  # seconds, eleven days: more can only be a mistake
NAMED = 4  # differences that a message names


@dataclass(frozen=True, slots=True)
class Ranks:
    """The processes of a run, seen from one of them. Alone, as by default, it does nothing."""

    rank: int = 0
    size: int = 1
    local_rank: int = 0
    """Among the processes of this machine: the number of its GPU."""
    local_size: int = 1
    timeout: float = TIMEOUT

    @property
    def first(self) -> bool:
        """Whether this process writes and speaks."""
        return self.rank == 0

    @property
    def alone(self) -> bool:
        """Whether there is no other process."""
        return self.size == 1

    @property
    def part(self) -> tuple[int, int]:
        """Which part of a batch is this process's, of how many."""
        return self.rank, self.size

    @property
    def command(self) -> str:
        """How `xnas` is called for as many processes."""
        return "xnas" if self.alone else f"torchrun --nproc-per-node {self.local_size} -m xnas"

    def require_batch(self, batch_size: int, *, parts: int = 1) -> None:
        """Raise unless a batch falls into equal shares, `parts` for each process."""
        shares = self.size * parts
        if self.alone or (batch_size % shares == 0 and batch_size > shares):
            return
        each = f" in {parts} parts each" if parts > 1 else ""
        raise ConfigError(
            f"a batch of {batch_size} images cannot be shared by {self.size} processes{each}: shares "
            "must be equal, and of 2 images at least, or there are no batch statistics; use "
            f"--batch-size {max(2, batch_size // shares) * shares}, say"
        )

    def average(self, tensors: Sequence[Tensor]) -> None:
        """Put the mean over all processes into floating-point tensors, in place; flattened into one."""
        if self.alone:
            return
        alike: dict[tuple[torch.dtype, torch.device], list[Tensor]] = {}
        for tensor in tensors:
            alike.setdefault((tensor.dtype, tensor.device), []).append(tensor)
        for group in alike.values():
            with torch.no_grad():
                flat = torch.cat([tensor.detach().reshape(-1) for tensor in group])
                with self._company("averaging"):
                    dist.all_reduce(flat)
                parts = flat.div_(self.size).split_with_sizes([tensor.numel() for tensor in group])
                for tensor, part in zip(group, parts, strict=True):
                    tensor.copy_(part.view(tensor.shape))

    def gather(self, tensor: Tensor, dim: int) -> Tensor:
        """What all processes have, joined along `dim` in their order."""
        if self.alone:
            return tensor
        mine = tensor.detach().contiguous()
        parts = [torch.empty_like(mine) for _ in range(self.size)]
        with self._company("gathering"):
            dist.all_gather(parts, mine)
        return torch.cat(parts, dim)

    def agreed(self, asked: Callable[[], bool]) -> Callable[[], bool]:
        """`asked`, true on all processes as soon as it is on one. All must call it equally often."""
        if self.alone:
            return asked

        def any_asked() -> bool:
            flag = torch.tensor(int(asked()))
            with self._company("agreeing whether to stop"):
                dist.all_reduce(flag, op=dist.ReduceOp.MAX)
            return bool(flag)

        return any_asked

    def wait(self) -> None:
        """Until all processes are here."""
        self.agreed(lambda: False)()

    def first_does(self, action: Callable[[], T]) -> T:
        """The result of `action` on the first process, or its error, on all processes."""
        if self.alone:
            return action()
        sent: list[Any] = [None, None]
        if self.first:
            try:
                sent[0] = action()
            except XnasError as error:
                sent[1] = error
        with self._company("hearing from the first process"):
            dist.broadcast_object_list(sent)
        if sent[1] is not None:
            raise sent[1]
        value: T = sent[0]
        return value

    def first_reads(
        self, read: Callable[[], dict[str, Any] | None], device: torch.device
    ) -> dict[str, Any] | None:
        """A state that the first process reads, for all of them, on each one's device."""
        if self.alone:
            return read()

        def packed() -> bytes | None:
            state = read()
            if state is None:
                return None
            file = io.BytesIO()
            torch.save(state, file)
            return file.getvalue()

        sent = self.first_does(packed)
        if sent is None:
            return None
        state: dict[str, Any] = torch.load(io.BytesIO(sent), map_location=device, weights_only=True)
        return state

    def require_same(self, state: object, when: str, saved: Callable[[], str]) -> None:
        """Raise unless a nested state of tensors and values is the same everywhere, bit for bit.

        `saved` says what the run can be resumed from.
        """
        if self.alone:
            return
        mine = dict(_digests(state, ""))
        gathered: list[Any] = [None] * self.size
        with self._company("comparing"):
            dist.all_gather_object(gathered, mine)
        theirs = gathered[0]
        for rank, found in enumerate(gathered[1:], start=1):
            other = [name for name in theirs | found if theirs.get(name) != found.get(name)]
            if other:
                more = f" and {len(other) - NAMED} more" if len(other) > NAMED else ""
                raise RankError(
                    f"rank {rank} differs from rank 0 {when} in {', '.join(other[:NAMED])}{more}; "
                    f"{saved()}: look for different data, versions or devices, then use --resume"
                )

    @contextmanager
    def _company(self, doing: str) -> Iterator[None]:
        """Tell in one line if others do not answer; they do not when they died, or hang."""
        try:
            yield
        except RuntimeError as error:
            atexit.unregister(_part)  # who leaves a group that is broken may wait for it
            raise RankError(
                f"rank {self.rank} of {self.size} lost the others while {doing}: one was ended, or did "
                f"not answer for {self.timeout:g} s ({TIMEOUT_NAME} sets that); resume from the last "
                f"checkpoint, if there is one, with --resume and {self.size} processes "
                f"({_first_sentence(error)})"
            ) from error


ALONE = Ranks()


def several_wanted() -> bool:
    """Whether this process was started by torchrun (or the like) as one of several."""
    names = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
    return all(name in os.environ for name in names) and _whole("WORLD_SIZE", "1") > 1


def speaks() -> bool:
    """Whether this process is the one that talks to the user."""
    return not several_wanted() or _whole("RANK", "0") == 0


def join_ranks() -> Ranks:
    """Meet the other processes: gloo on the CPU, NCCL for tensors on GPUs. Alone without torchrun.

    A process group that is there already is used as it is; it also needs a backend for the CPU.
    """
    if not dist.is_available():
        return ALONE
    if not dist.is_initialized():
        if not several_wanted():
            return ALONE
        _meet(_timeout())
    if dist.get_world_size() == 1:
        return ALONE
    backends = dist.get_backend_config()
    if "cpu:" not in backends:
        raise ConfigError(
            f"the process group that is there has the backend {backends}, and none for the CPU; begin "
            "it with cpu:gloo,cuda:nccl"
        )
    return Ranks(
        rank=dist.get_rank(),
        size=dist.get_world_size(),
        local_rank=_whole("LOCAL_RANK", str(dist.get_rank())),
        local_size=_whole("LOCAL_WORLD_SIZE", str(dist.get_world_size())),
        timeout=_timeout(),
    )


def _meet(timeout: float) -> None:
    gpus = torch.cuda.is_available() and dist.is_nccl_available()
    ways = "cpu:gloo,cuda:nccl" if gpus else "gloo"
    try:
        dist.init_process_group(ways, timeout=timedelta(seconds=timeout))
    except (RuntimeError, ValueError) as error:
        raise RankError(
            f"the {os.environ['WORLD_SIZE']} processes did not meet within {timeout:g} s "
            f"({_first_sentence(error)}); start all of them with torchrun"
        ) from error
    atexit.register(_part)


def _first_sentence(error: Exception) -> str:
    """What torch says has happened, without the line of its source before that and the advice after."""
    words = re.sub(r"^\[\S+:\d+\] ", "", " ".join(str(error).split()))
    return words.split(". ")[0].rstrip(".")[:100]


def _part() -> None:
    if dist.is_initialized():
        dist.destroy_process_group()


def _timeout() -> float:
    given = os.environ.get(TIMEOUT_NAME, str(TIMEOUT))
    try:
        seconds = float(given)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= LONGEST:
        raise ConfigError(
            f"{TIMEOUT_NAME} must be a number of seconds above 0 and at most {LONGEST:g}, got {given!r}"
        )
    return seconds


def _whole(name: str, otherwise: str) -> int:
    given = os.environ.get(name, otherwise)
    try:
        return int(given)
    except ValueError:
        raise ConfigError(
            f"the environment variable {name} must be a whole number, got {given!r}; torchrun sets it"
        ) from None


def _digests(state: object, name: str) -> Iterator[tuple[str, str]]:
    """A digest of every tensor and value of a nested state, by its path."""
    if isinstance(state, dict):
        for key, item in state.items():
            yield from _digests(item, f"{name}.{key}" if name else str(key))
    elif isinstance(state, list | tuple):
        for index, item in enumerate(state):
            yield from _digests(item, f"{name}.{index}")
    elif isinstance(state, Tensor):
        tensor = state.detach().cpu().contiguous().reshape(-1)
        digest = blake2b(tensor.view(torch.uint8).numpy().data, digest_size=8).hexdigest()
        yield name, f"{tensor.dtype}{tuple(state.shape)}{digest}"
    else:
        yield name, repr(state)
