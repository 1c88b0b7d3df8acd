"""Which combinations of parameters kernel tests run: all on a GPU, a covering few on a CPU.

Triton's interpreter is slow, and it neither rounds nor compares bfloat16 as a GPU does. On a CPU every
pair of values of two parameters is tried once, in float32, and one combination in bfloat16.
"""

from itertools import combinations, product

import pytest
import torch

TYPES = (torch.float32, torch.bfloat16)


def covering(everything):
    """Few of these tuples that hold every pair of values that two of their places take."""
    chosen, missing = [], {pair for values in everything for pair in _pairs(values)}
    while missing:
        best = max(everything, key=lambda values: len(missing.intersection(_pairs(values))))
        missing.difference_update(_pairs(best))
        chosen.append(best)
    return chosen


def cases(*, narrow=None, **axes):
    """Parametrize over all combinations of the axes; those that a CPU can spare are marked `gpu`.

    With `narrow`, a value of the first axis, tests have a `dtype` as well: a CPU computes in bfloat16
    with that value alone. Values may be `pytest.param`s with marks of their own.
    """
    names, values = list(axes), [[_value(one) for one in axis] for axis in axes.values()]
    everything = list(product(*(range(len(axis)) for axis in values)))
    kept = {(torch.float32, *places) for places in covering(everything)}
    if narrow is not None:
        first = values[0].index(narrow)
        kept.add((torch.bfloat16, *next(one for one in covering(everything) if one[0] == first)))
    found = []
    for dtype in TYPES if narrow is not None else TYPES[:1]:
        for places in everything:
            given = [axis[place] for axis, place in zip(axes.values(), places, strict=True)]
            marks = [mark for one in given for mark in getattr(one, "marks", ())]
            marks += [] if (dtype, *places) in kept else [pytest.mark.gpu]
            arguments = [_value(one) for one in given] + [dtype] * (narrow is not None)
            found.append(pytest.param(*arguments, marks=marks))
    return pytest.mark.parametrize([*names, "dtype"] if narrow is not None else names, found)


def _pairs(values):
    placed = list(enumerate(values))
    return set(combinations(placed, 2)) if len(placed) > 1 else {tuple(placed)}


def _value(one):
    return one.values[0] if hasattr(one, "marks") else one
