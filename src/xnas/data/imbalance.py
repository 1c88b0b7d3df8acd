"""Classes of unequal size: how unequal they are, and an order that draws them equally often."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Generator, Tensor

TELLING_RATIO = 2  # of the largest to the smallest class; below it nothing is said


def imbalance(labels: Tensor, classes: Sequence[str]) -> str:
    """One line about the largest and the smallest class; empty if they differ by less than twice."""
    counts = torch.bincount(labels.cpu(), minlength=len(classes)).tolist()
    most, fewest = max(counts), min(counts)
    if most < TELLING_RATIO * fewest or most == fewest:
        return ""
    largest, smallest = classes[counts.index(most)], classes[counts.index(fewest)]
    return f"classes are unequal: {largest!r} has {most:,} images and {smallest!r} {fewest:,}"


def balanced_order(labels: Tensor, wanted: int, generator: Generator) -> Tensor:
    """Positions in `labels`, shuffled, with every class equally often, or once more than another.

    Within a class every image comes once before any comes again. Labels are on the CPU.
    """
    present = torch.bincount(labels).nonzero().view(-1)
    share, rest = divmod(wanted, len(present))
    favoured = set(present[torch.randperm(len(present), generator=generator)[:rest]].tolist())
    drawn = []
    for label in present.tolist():
        members = (labels == label).nonzero().view(-1)
        need = share + (label in favoured)
        times = -(-need // len(members))
        rounds = [members[torch.randperm(len(members), generator=generator)] for _ in range(times)]
        drawn.append(torch.cat([members[:0], *rounds])[:need])
    order = torch.cat(drawn)
    return order[torch.randperm(wanted, generator=generator)]
