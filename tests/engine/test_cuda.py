"""On a GPU: a whole round can be captured in a CUDA graph, and replays what eager rounds compute."""

import pytest
import torch
from searching import stripes, tiny

from xnas.engine import play_round
from xnas.runs.prepare import prepare

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]

WARM_UP = 3
REPLAYS = 2


def warmed_up():
    search = prepare(tiny(device="cuda", epochs=50), stripes()).search
    search.begin_epoch()
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(WARM_UP):
            play_round(search)
    torch.cuda.current_stream().wait_stream(stream)
    return search


def test_a_captured_round_replays_what_eager_rounds_compute():
    eager, captured = warmed_up(), warmed_up()
    for _ in range(REPLAYS):
        play_round(eager)
    graph = torch.cuda.CUDAGraph()
    for generator in (captured.dropout, captured.train.generator, captured.valid.generator):
        graph.register_generator_state(generator)
    with torch.cuda.graph(graph):
        play_round(captured)
    for _ in range(REPLAYS):
        graph.replay()
    captured.method.check()
    for kind, mixture in eager.mixtures.items():
        ledger = captured.method.ledger(captured.mixtures[kind])
        assert ledger.rounds == WARM_UP + REPLAYS
        torch.testing.assert_close(captured.mixtures[kind], mixture, rtol=1e-3, atol=1e-5)
        sums = [s.method.cumulative_rewards(s.mixtures[kind]) for s in (eager, captured)]
        torch.testing.assert_close(sums[1], sums[0], rtol=1e-2, atol=1e-4)
    assert captured.tally.train[2] == (WARM_UP + REPLAYS) * 8
