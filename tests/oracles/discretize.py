"""Discretization as Sec. 2.1 words it, in plain loops over nodes, edges and experts.

For every node the two strongest incoming edges are found one after the other, by asking of each edge
left whether it beats the best so far. Nothing is sorted, and nothing is shared with the package.
"""

from __future__ import annotations

from collections.abc import Sequence


def discretize_cell(
    strengths: Sequence[Sequence[float]],
    alive: Sequence[Sequence[bool]],
    operations: Sequence[str],
    nodes: int,
    sums: Sequence[Sequence[float]] | None = None,
) -> list[list[tuple[str, int]]]:
    """For each node its two edges, as (operation, source), in the order of their sources."""
    cell = []
    row = 0
    for node in range(2, 2 + nodes):
        rows = {source: row + source for source in range(node)}
        row += node
        kept: list[int] = []
        while len(kept) < 2:
            best = None
            for source in range(node):
                if source in kept:
                    continue
                if best is None or beats(
                    rows[source], rows[best], strengths, alive, operations, sums=sums
                ):
                    best = source
            assert best is not None
            kept.append(best)
        cell.append(
            [
                (operations[operation_of(strengths[rows[s]], alive[rows[s]], operations)], s)
                for s in sorted(kept)
            ]
        )
    return cell


def operation_of(u: Sequence[float], alive: Sequence[bool], operations: Sequence[str]) -> int:
    """The strongest living expert that is not `none`; the first of equals; a dead one if none lives."""
    for must_live in (True, False):
        best = None
        for i, name in enumerate(operations):
            if name == "none" or (must_live and not alive[i]):
                continue
            if best is None or u[i] > u[best]:
                best = i
        if best is not None:
            return best
    raise AssertionError("a space has an operation that is not none")


def beats(one: int, other: int, strengths, alive, operations, *, sums) -> bool:
    """Whether edge `one` is kept rather than `other`, which comes from a lower source."""
    lives = [
        any(a and name != "none" for a, name in zip(alive[e], operations, strict=True))
        for e in (one, other)
    ]
    if lives[0] != lives[1]:
        return lives[0]
    strength = []
    for e in (one, other):
        largest = -float("inf")
        for i, name in enumerate(operations):
            if name != "none" and strengths[e][i] > largest:
                largest = strengths[e][i]
        strength.append(largest)
    if strength[0] != strength[1]:
        return strength[0] > strength[1]
    if sums is None:
        return False
    lead = []
    for e in (one, other):
        leader = operation_of(strengths[e], alive[e], operations)
        best_other = -float("inf")
        for i in range(len(operations)):
            if i != leader and sums[e][i] > best_other:
                best_other = sums[e][i]
        lead.append(sums[e][leader] - best_other)
    return lead[0] > lead[1]
