"""Rounds and steps as CUDA graphs: recorded once, replayed with one call of the host.

A replay runs the same kernels on the same addresses. So everything that changes lives in tensors that
keep their places, and what recording has changed is put back in place. Memory of a graph is its own as
long as the graph lives: let go of it before the next one is recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from typing import Any

import torch
from torch import Generator, Tensor

from xnas.engine.search import Search, draw_batches, play_batches
from xnas.engine.search_state import search_state
from xnas.errors import RoundError

WARM_UPS = 3  # before a capture: libraries choose their kernels and allocate


def captured_round(search: Search) -> Callable[[], None]:
    """`play_round` as a CUDA graph, in an epoch that has begun; the search is left as it was.

    Batches that come from the host are drawn before each replay, all others inside it. A method that
    rests in some rounds gets a second graph, recorded in the first round that needs it. Capture anew
    after experts were deleted, and once the search has settled.
    """
    inside = search.train.capturable and search.valid.capturable
    on_gpu = search.device.type == "cuda"
    pool = torch.cuda.graph_pool_handle() if on_gpu else None
    graphs: dict[bool, Callable[[], None]] = {}

    def replay() -> None:
        learning = search.learning
        if learning not in graphs:
            graphs[learning] = _captured_batches(search, inside=inside, pool=pool)
        graphs[learning]()

    def play() -> None:
        if not inside:
            draw_batches(search)
        replay()
        search.round_in_epoch += 1

    graphs[search.learning] = _captured_batches(search, inside=inside, pool=pool)
    return play


def _captured_batches(
    search: Search,
    *,
    inside: bool,
    pool: Any,  # noqa: ANN401 - a handle of torch's
) -> Callable[[], None]:
    """What the coming round does with its batches as a graph, and, if `inside`, drawing them."""

    def learn() -> None:
        if inside:
            draw_batches(search)
        play_batches(search)

    generators = [search.dropout]
    if inside:
        generators += [search.train.generator, search.valid.generator]
    return capture(
        learn,
        search.device,
        restore=_restorer(search, batches=inside),
        generators=generators,
        pool=pool,
    )


def capture(
    step: Callable[[], None],
    device: torch.device,
    *,
    restore: Callable[[], None],
    generators: Sequence[Generator] = (),
    pool: Any = None,  # noqa: ANN401 - a handle of torch's
) -> Callable[[], None]:
    """`step` as a CUDA graph, to be replayed. It draws from `generators` and the device's own.

    Graphs of one `pool` share their memory, and may then be replayed in any order but not concurrently:
    none finds anything there that another one has left.

    Its kernels are compiled first, all together. The steps that warm up really happen: `restore` undoes
    one, in place, and lets go of gradients, so that those of the graph lie in its own memory.
    """
    from xnas.kernels.language import rehearsal  # noqa: PLC0415 - brings Triton

    with torch.cuda.device(device):
        torch.cuda.empty_cache()  # what the graph before this one held
        stream = _stream(device)
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            with rehearsal(), suppress(RoundError):  # rewards are what memory held: anything
                step()
            restore()
            for _ in range(WARM_UPS):
                step()
                restore()
        torch.cuda.current_stream().wait_stream(stream)
        torch.cuda.empty_cache()  # what warming up held
        graph = torch.cuda.CUDAGraph()
        for generator in generators:
            graph.register_generator_state(generator)
        # Threads that pin streamed batches allocate meanwhile, which by default would end the capture.
        with torch.cuda.graph(graph, pool, stream, capture_error_mode="thread_local"):
            step()
        restore()
    return graph.replay


@cache
def _stream(device: torch.device) -> torch.cuda.Stream:
    """One for all captures: libraries keep working memory for every stream that they have seen."""
    return torch.cuda.Stream(device)  # type: ignore[no-untyped-call]


def copied(state: Any) -> Any:  # noqa: ANN401 - any state
    """A nested state with tensors of its own."""
    if isinstance(state, Tensor):
        return state.clone()
    if isinstance(state, dict):
        return {key: copied(item) for key, item in state.items()}
    return [copied(item) for item in state] if isinstance(state, list) else state


@torch.no_grad()
def put_back(live: Any, before: Any) -> None:  # noqa: ANN401 - any state
    """Copy saved tensors into those of a live state; one that was not there before becomes zero.

    That is what momenta and averages of optimizers begin with.
    """
    if isinstance(live, Tensor):
        if before is None:
            live.zero_()
        else:
            live.copy_(before)
    elif isinstance(live, dict):
        for key, item in live.items():
            put_back(item, None if before is None else before.get(key))
    elif isinstance(live, list):
        for index, item in enumerate(live):
            put_back(item, None if before is None else before[index])


def _restorer(search: Search, *, batches: bool) -> Callable[[], None]:
    """A function that restores the present state in place, with the batch sources if `batches`."""
    before: dict[str, Any] = copied(search_state(search))

    def restore() -> None:
        live = search_state(search)
        for part in ("supernet", "method", "weight_optimizer", "tally"):
            put_back(live[part], before[part])
        search.dropout.set_state(before["dropout"])
        if batches:
            search.train.load_state_dict(before["train"])
            search.valid.load_state_dict(before["valid"])
        for leaf in (*search.supernet.parameters(), *search.leaves):
            leaf.grad = None

    return restore
