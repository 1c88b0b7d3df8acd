"""Both backends play the same rounds; in float64, where rounding has no time to grow, many of them."""

from dataclasses import replace

import pytest
import torch
from searching import small, stripes

from xnas.engine import play_round
from xnas.runs.prepare import prepare

pytestmark = pytest.mark.usefixtures("small_space")

ROUNDS = 8


def exact_search(*, fused, guards=None, **space):
    """A search in float64, in its first epoch."""
    settings = small(backend="reference", batch_size=8, **space)
    search = prepare(settings, stripes(2 * 8 * ROUNDS)).search
    search.settings = replace(search.settings, **guards or {})
    search.supernet.double()
    if fused:
        search.supernet.fuse()
    for batch in ("train_batch", "valid_batch"):
        images, labels = getattr(search, batch)
        setattr(search, batch, (images.double(), labels))
    search.begin_epoch()
    return search


@pytest.mark.parametrize("space", [{}, {"space": "nasbench201", "cells": 1, "channels": 4}])
def test_fused_rounds_stay_the_reference_s(space):
    plain, fused = exact_search(fused=False, **space), exact_search(fused=True, **space)
    assert fused.supernet.fused
    assert not plain.supernet.fused
    for _ in range(ROUNDS):
        play_round(plain)
        play_round(fused)
    for kind, mixture in plain.mixtures.items():
        assert mixture.std() > 1e-4  # something was learned
        torch.testing.assert_close(fused.mixtures[kind], mixture, rtol=1e-7, atol=1e-9)
    state = fused.supernet.state_dict()
    for name, tensor in plain.supernet.state_dict().items():
        torch.testing.assert_close(state[name], tensor, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize(
    "guards",
    [
        {"expert_dropout": 0.5},
        pytest.param({"best_temperature": True}, marks=pytest.mark.slow),
    ],
)
def test_fused_rounds_stay_the_reference_s_with_experimental_guards(guards):
    plain, fused = (exact_search(fused=on, guards=guards) for on in (False, True))
    default = exact_search(fused=False)
    for _ in range(ROUNDS):
        for search in (plain, fused, default):
            play_round(search)
    for kind, mixture in plain.mixtures.items():
        torch.testing.assert_close(fused.mixtures[kind], mixture, rtol=1e-7, atol=1e-9)
        assert not torch.allclose(default.mixtures[kind], mixture, rtol=1e-4)  # they do something
