"""Random search is the encoding's draws, in order."""

from random import Random

from xnas.samplers import SAMPLERS
from xnas.space import encoding_of


def test_it_asks_the_draws_of_the_encoding_and_never_ends():
    encoding, draw = encoding_of("nasbench201"), Random(7)
    sampler = SAMPLERS["random"](encoding, 7, {})
    for _ in range(20):
        assert sampler.ask().genotype == encoding.decode(encoding.draw(draw))
    assert not sampler.finished
