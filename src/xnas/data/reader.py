"""Worker processes that decode images ahead of who needs them, in the order of requests."""

from __future__ import annotations

import atexit
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Generator, Tensor
from torch.utils.data import DataLoader, Dataset

from xnas.data.image_files import ImageFiles
from xnas.errors import DatasetError

Indices = np.ndarray[tuple[int, ...], np.dtype[np.int64]]
KILL_SECONDS = 5.0  # that a killed worker may take to go
CHECK_SECONDS = 1.0  # between two looks at the workers while a batch is waited for
IDLE_SECONDS = 10.0  # that the watchdog outlives the last wait
STALL_SECONDS = 10.0
"""How long a worker may be stopped (SIGSTOP), or a batch be late after a signal to stop the run."""

_stop_asked: ContextVar[Callable[[], bool]] = ContextVar("_stop_asked", default=lambda: False)


class WaitInterrupted(KeyboardInterrupt):
    """The run was asked to stop while it waited for a batch that did not come."""


@contextmanager
def stop_waiting_when(asked: Callable[[], bool]) -> Iterator[None]:
    """Let a wait for a batch in the block end by WaitInterrupted, soon after `asked()` is true."""
    token = _stop_asked.set(asked)
    try:
        yield
    finally:
        _stop_asked.reset(token)


class Request(NamedTuple):
    """Images that make a batch, and those that follow them in the order, to stand in for bad ones."""

    indices: Indices
    spares: Indices | None
    """None where a bad image is left out rather than replaced."""


class Decoded(NamedTuple):
    """What a worker sends back; a tuple, because pinning takes tuples apart."""

    images: Tensor
    labels: Tensor
    bad: list[int]
    """Indices of images that could not be read."""
    fault: str
    """What is wrong with the batch, to be raised where the search runs; empty if it is good."""


class Decoder(Dataset[Decoded]):
    """Requests in, batches out; lives in the workers. Holds tensors alone, which processes share."""

    def __init__(self, images: ImageFiles, labels: Tensor, *, skip_bad_images: bool) -> None:
        self.images, self.labels, self.skip_bad_images = images, labels, skip_bad_images

    def __getitem__(self, request: Request) -> Decoded:
        used: list[int] = request.indices.tolist()
        pixels = torch.empty((len(used), *self.images.shape), dtype=torch.uint8)
        bad = []
        for place, index in enumerate(used):
            try:
                pixels[place] = self.images.read(index)
            except DatasetError as error:
                if not self.skip_bad_images:
                    return self._faulty(f"{error} (--skip-bad-images leaves it out)")
                bad.append(place)
        named = [used[place] for place in bad]
        if request.spares is None:
            good = [place for place in range(len(used)) if place not in bad]
            return Decoded(pixels[good], self.labels[request.indices[good]], named, "")
        for place in reversed(bad):  # so that the image after a bad one is good by then
            if place + 1 < len(used):
                used[place], pixels[place] = used[place + 1], pixels[place + 1]
                continue
            spare = self._first_good(request.spares.tolist(), pixels[place])
            if spare is None:
                return self._faulty(
                    f"{1 + len(request.spares)} images in a row cannot be read, the first of them "
                    f"{self.images.paths[used[place]]}; fix the files"
                )
            used[place] = spare
        return Decoded(pixels, self.labels[used], named, "")

    def _first_good(self, spares: list[int], out: Tensor) -> int | None:
        """Decode the first readable of these images into `out` and say which it was."""
        for index in spares:
            try:
                out.copy_(self.images.read(index))
            except DatasetError:
                continue
            return index
        return None

    def _faulty(self, fault: str) -> Decoded:
        return Decoded(
            torch.empty((0, *self.images.shape), dtype=torch.uint8), self.labels[:0], [], fault
        )


class _Ahead:
    """What is still to be decoded of an epoch; the loader walks through it, ahead of the search."""

    def __init__(self) -> None:
        self.requests: Sequence[Request] = ()
        self.position = 0

    def __iter__(self) -> Iterator[Request]:
        return iter(self.requests[self.position :])


class Reader:
    """Worker processes, and the batches that come from them in the order of the requests.

    `position` is the batch to start from if the workers have to be restarted; the user of a batch
    advances it when the batch is done.
    """

    def __init__(self, decoder: Decoder, *, workers: int, prefetch: int, pinned: bool) -> None:
        self.decoder, self.workers, self.prefetch, self.pinned = decoder, workers, prefetch, pinned
        self._ahead = _Ahead()
        self._loader: DataLoader[Decoded] | None = None
        self._batches: Iterator[Decoded] | None = None

    def like(self, *, workers: int) -> Reader:
        """Another reader of the same images."""
        return Reader(self.decoder, workers=workers, prefetch=self.prefetch, pinned=self.pinned)

    @property
    def position(self) -> int:
        """Batches done with."""
        return self._ahead.position

    @position.setter
    def position(self, position: int) -> None:
        self._ahead.position = position

    def begin(self, requests: Sequence[Request], *, position: int) -> None:
        """Begin to decode; the workers stay if there are any, and drop what they were at."""
        self._ahead.requests, self._ahead.position = requests, position
        try:
            with _watched(self._batches), _deaths_reported():
                self._start()
        except BaseException:
            self.close()
            raise

    def next(self) -> Decoded:
        """The next batch, as soon as it is decoded."""
        batches = self._start() if self._batches is None else self._batches
        with _watched(batches), _deaths_reported():
            batch = next(batches)
        if batch.fault:
            raise DatasetError(batch.fault)
        return batch

    def close(self) -> None:
        """End the workers. Letting go of them would do, were they not held by an error's traceback.

        torch asks them to end, waits some seconds, and sends SIGTERM, which they do not get.
        """
        batches, self._batches, self._loader = self._batches, None, None
        shut_down = getattr(batches, "_shutdown_workers", None)
        if shut_down is None:
            return
        shut_down()
        for worker in getattr(batches, "_workers", ()):
            if worker.is_alive():
                worker.kill()
                worker.join(KILL_SECONDS)
        atexit.unregister(self.close)

    def _start(self) -> Iterator[Decoded]:
        if self._loader is None:
            self._loader = DataLoader(
                self.decoder,
                sampler=self._ahead,
                batch_size=None,  # a request is a batch already
                num_workers=self.workers,
                collate_fn=_as_it_is,
                pin_memory=self.pinned,
                prefetch_factor=self.prefetch if self.workers else None,
                persistent_workers=self.workers > 0,
                generator=Generator(),  # or it would draw from everybody's
            )
            with _signals_kept():
                self._batches = iter(self._loader)
            atexit.register(self.close)  # before multiprocessing waits for workers to obey SIGTERM
        else:
            self._batches = iter(self._loader)
        return self._batches


@contextmanager
def _watched(batches: Iterator[Decoded] | None) -> Iterator[None]:
    """End the wait for a batch if a worker is stopped, or if the run is asked to stop and it is late.

    torch waits for ever for a worker that does not continue, perhaps in the middle of a message. So a
    thread checks the workers and kills them, which ends the wait.
    """
    workers = getattr(batches, "_workers", ())
    if not workers:
        yield
        return
    wait = _Wait(workers, _stop_asked.get())
    _watchdog.watch(wait)
    try:
        yield
    except Exception as error:
        if wait.reason is not None:
            raise wait.reason from error
        raise
    finally:
        _watchdog.watch(None)


@dataclass(slots=True, eq=False)
class _Wait:
    """A wait for a batch, and why it was ended if it was."""

    workers: Sequence[Any]
    asked: Callable[[], bool]
    stopped_for: float = 0.0
    late_for: float = 0.0
    reason: BaseException | None = None

    def check(self) -> None:
        """Kill the workers if the wait is to end; called every CHECK_SECONDS."""
        stopped = [worker.pid for worker in self.workers if _is_stopped(worker.pid)]
        self.stopped_for = self.stopped_for + CHECK_SECONDS if stopped else 0.0
        self.late_for = self.late_for + CHECK_SECONDS if self.asked() else 0.0
        if self.late_for > STALL_SECONDS or (self.late_for and stopped):
            self.reason = WaitInterrupted()
        elif self.stopped_for > STALL_SECONDS:
            self.reason = DatasetError(
                f"the process {stopped[0]}, which decodes images, was stopped (SIGSTOP) for more "
                f"than {STALL_SECONDS:g} s; resume the run, and continue such a process (kill -CONT)"
            )
        if self.reason is not None:
            for worker in self.workers:
                worker.kill()


class _Watchdog:
    """One thread that checks the present wait, if there is one.

    To start and join a thread for each batch took 130 us. The thread ends before a process is forked,
    as threads do not survive that, and when there was no wait for IDLE_SECONDS; a wait starts it again.
    """

    def __init__(self) -> None:
        self.wait: _Wait | None = None
        self.lock, self.end = threading.Lock(), threading.Event()
        self.thread: threading.Thread | None = None

    def watch(self, wait: _Wait | None) -> None:
        """Check this wait from now on; None for none."""
        with self.lock:  # so that no worker is killed once its batch has come
            self.wait = wait
            if wait is not None and self.thread is None:
                self.end.clear()
                self.thread = threading.Thread(target=self._run, name="xnas-watchdog", daemon=True)
                self.thread.start()

    def stop(self) -> None:
        """End the thread."""
        thread = self.thread
        if thread is not None and thread is not threading.current_thread():
            self.end.set()
            thread.join()
            self.thread = None

    def _run(self) -> None:
        idle_for = 0.0
        while not self.end.wait(CHECK_SECONDS):
            with self.lock:
                idle_for = 0.0 if self.wait is not None else idle_for + CHECK_SECONDS
                if self.wait is not None and self.wait.reason is None:
                    self.wait.check()
                elif idle_for > IDLE_SECONDS:
                    self.thread = None
                    return


_watchdog = _Watchdog()
os.register_at_fork(before=_watchdog.stop)


def _is_stopped(pid: int) -> bool:
    """Whether a process was stopped by a signal; False where the system does not say."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf8").rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return False
    return state in ("T", "t")


@contextmanager
def _signals_kept() -> Iterator[None]:
    """Start workers that get neither Ctrl-C nor SIGTERM, and whose deaths interrupt nothing.

    Signals to all processes of a run are meant for this one, which ends its workers; they inherit what
    is blocked here. At a death torch would raise an error wherever this process is, even in the middle
    of a checkpoint. `next` finds a dead worker within seconds without that.
    """
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM))
    at_death = signal.getsignal(signal.SIGCHLD)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread() and at_death is not None:
            signal.signal(signal.SIGCHLD, at_death)
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)


@contextmanager
def _deaths_reported() -> Iterator[None]:
    """Report the death of a worker in one line; torch uses many, or an error of a broken pipe."""
    try:
        yield
    except (RuntimeError, EOFError, OSError) as error:
        if isinstance(error, RuntimeError) and "DataLoader worker" not in str(error):
            raise
        why = " ".join(str(error).split("\n", 1)[0].split()).rstrip(". ") or type(error).__name__
        raise DatasetError(
            f"a process that decodes images died ({why}), as when memory runs out: free some and resume "
            "the run, or start a new one with a smaller --image-size or --batch-size, or --no-stream"
        ) from error


def _as_it_is(batch: Any) -> Any:  # noqa: ANN401 - a batch, which torch types as a list
    return batch
