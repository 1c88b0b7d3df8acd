"""How many threads a CPU computes with during a fit.

The networks of a fit are small. More threads than they can use wait for one another, and on a machine
with other work they wait long: a round can take ten times its time. So a few numbers are tried.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch

from xnas.runs.fit.probes import SearchProbe, TrainProbe

TURNS = 4
WORTH = 0.9
"""More threads are used if they take at most this share of the time that fewer take."""
HOPELESS = 3.0
"""Times the seconds with fewer threads."""

AnyProbe = SearchProbe | TrainProbe


@contextmanager
def computing_with(threads: int | None) -> Iterator[None]:
    """Let the CPU compute with so many threads in the block; None leaves their number as it is."""
    before = torch.get_num_threads()
    if threads is not None:
        torch.set_num_threads(threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def candidates(most: int) -> tuple[int, ...]:
    """Numbers of threads to try, in rising order.

    >>> candidates(16)
    (1, 4, 8, 16)
    """
    return tuple(sorted({1, max(1, most // 4), max(1, most // 2), most}))


def fastest_threads(probes: Sequence[AnyProbe], most: int) -> int:
    """The number of threads with which steps of all probes together take the least time.

    Numbers are tried in turn, and the fastest steps count. A number with which the first step takes far
    longer than with fewer threads is not tried again. What was timed is forgotten.
    """
    numbers = list(candidates(most))
    if len(numbers) == 1:
        return numbers[0]
    fastest = {number: [float("inf")] * len(probes) for number in numbers}
    for _ in range(TURNS):
        for number in list(numbers):
            least = [min(fastest[fewer][place] for fewer in numbers) for place in range(len(probes))]
            with computing_with(number):
                for place, probe in enumerate(probes):
                    seconds = probe.time_step()
                    fastest[number][place] = min(fastest[number][place], seconds)
                    if number != numbers[0] and seconds > HOPELESS * least[place]:
                        numbers.remove(number)
                        break
    for probe in probes:
        probe.times.clear()
    best = numbers[0]
    for number in numbers[1:]:
        if sum(fastest[number]) <= WORTH * sum(fastest[best]):
            best = number
    return best
