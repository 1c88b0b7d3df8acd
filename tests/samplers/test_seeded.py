"""Networks and seeds that depend on what they are given alone."""

import torch
from torch import nn

from xnas.samplers.seeded import derived_seed, seeded


def test_weights_come_from_the_generator_alone_and_stay_in_bounds():
    before = torch.get_rng_state()
    one, other = (
        seeded(lambda: nn.Linear(4, 3), torch.Generator().manual_seed(seed), bound=0.1).weight
        for seed in (0, 0)
    )
    assert torch.equal(one, other)
    assert one.dtype == torch.float64
    assert one.abs().max() <= 0.1
    assert torch.equal(torch.get_rng_state(), before)


def test_parts_of_a_search_have_seeds_of_their_own():
    seeds = {derived_seed(seed, part, n) for seed in range(5) for part in ("a", "b") for n in range(5)}
    assert len(seeds) == 50
    assert derived_seed(3, "a", 1) == derived_seed(3, "a", 1)
    assert all(0 <= seed < 2**63 for seed in seeds)
