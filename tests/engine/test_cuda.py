"""On a GPU: a whole round is captured in a CUDA graph, and replays what eager rounds compute."""

import gc
import json
import os
import signal
from dataclasses import replace

import pytest
import torch
from datasets_made import make_image
from hooked import Corrected, Sampled, SecondOrder, hooked
from searching import stripes, tiny

from xnas import resume_search, search
from xnas.bench.search import keep_experts
from xnas.data import load_data
from xnas.data.sometimes import Sometimes
from xnas.engine import captured_round, end_epoch, play_round, search_state
from xnas.engine.capture import copied
from xnas.methods import METHODS
from xnas.process.interrupt import Interrupted
from xnas.runs.displays import Silence
from xnas.runs.prepare import prepare
from xnas.space.benchmark_supernet import BenchmarkSupernet
from xnas.space.supernet import Supernet

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]

MIXTURES = {"rtol": 1e-3, "atol": 1e-4}  # the same kernels, but some add up in any order
SUMS = {"rtol": 1e-2, "atol": 1e-3}
IN_BFLOAT16 = {"rtol": 1e-2, "atol": 1e-2}


@pytest.fixture(autouse=True)
def same_kernels(monkeypatch):
    """The library's deterministic kernels: small networks make much of small differences."""
    monkeypatch.setattr(torch.backends.cudnn, "deterministic", True)
    monkeypatch.setattr(torch.backends.cudnn, "benchmark", False)


def begun(images=None, **arguments):
    """A search on plain modules, unless stated otherwise, in its first epoch."""
    settings = {"device": "cuda", "backend": "reference", "channels": 8, "batch_size": 16}
    found = prepare(tiny(**settings | arguments), images or stripes(160)).search
    found.begin_epoch()
    return found


def wipe_out(found, kind, forecaster, expert):
    """Make the method believe that an expert was wiped out."""
    found.method.state[found.mixtures[kind]]["wiped_at"][forecaster, expert] = 1
    with torch.no_grad():
        found.mixtures[kind][forecaster, expert] = 0
        found.mixtures[kind].div_(found.mixtures[kind].sum(-1, keepdim=True))


def play(found, epochs, *, capture, doomed=()):
    """Whole epochs; `doomed` experts leave after the first, and what is left is captured anew."""
    play_one = None
    for _ in range(epochs):
        if found.round_in_epoch == 0 and found.epoch:
            found.begin_epoch()
        if play_one is None:
            play_one = captured_round(found) if capture else lambda: play_round(found)
        for _ in range(found.settings.rounds_per_epoch):
            play_one()
        if found.epoch == 0:
            for one in doomed:
                wipe_out(found, *one)
        record = end_epoch(found, seconds=1.0, memory_bytes=0, gap=None)
        if record.deleted:
            play_one = None
    return record


def alike(captured, eager, mixtures=MIXTURES, sums=SUMS):
    for kind, mixture in eager.mixtures.items():
        torch.testing.assert_close(captured.mixtures[kind], mixture, **mixtures)
        earned = [s.method.comparable_sums(s.mixtures[kind]) for s in (captured, eager)]
        torch.testing.assert_close(*earned, **sums)


def tensors(state):
    """Tensors of a nested state, by where they stand."""
    items = state.items() if isinstance(state, dict) else enumerate(state)
    found = {}
    for key, value in items:
        if isinstance(value, torch.Tensor):
            found[str(key)] = value
        elif isinstance(value, dict | list):
            found |= {f"{key}/{inner}": tensor for inner, tensor in tensors(value).items()}
    return found


@pytest.mark.parametrize("method", ["xnas", "darts"])
@pytest.mark.parametrize("played", [0, 2])
def test_a_capture_leaves_the_search_as_it_was(method, played):
    found = begun(method=method, skip_dropout="0.5")
    for _ in range(played):
        play_round(found)
    before = copied(search_state(found))
    captured_round(found)
    after, known = tensors(search_state(found)), tensors(before)
    for name, tensor in after.items():
        expected = known.get(name, torch.zeros_like(tensor))  # momenta before the first round
        assert torch.equal(tensor, expected.to(tensor)), name
    assert known.keys() <= after.keys()
    assert found.round_in_epoch == played
    assert all(p.grad is None for p in found.supernet.parameters())


@pytest.mark.parametrize(
    "settings", [{}, {"skip_dropout": "0.6:0"}, {"space": "nasbench201", "cells": 1}]
)
def test_captured_epochs_are_the_eager_ones_with_a_deletion_between(settings):
    doomed = [("normal", 0, 1), ("normal", 3, 2)]
    eager, captured = begun(**settings), begun(**settings)
    plain = play(eager, 2, capture=False, doomed=doomed)
    replayed = play(captured, 2, capture=True, doomed=doomed)
    alike(captured, eager)
    assert set(doomed) <= set(captured.deleted)
    assert captured.deleted == eager.deleted
    assert captured.rounds == eager.rounds == 10
    assert captured.method.ledger(captured.mixtures["normal"]).rounds == 10
    assert replayed.train_loss == pytest.approx(plain.train_loss, rel=1e-2)
    assert replayed.learning_rate == plain.learning_rate


@pytest.mark.parametrize("guards", [{"expert_dropout": 0.5}, {"best_temperature": True}])
def test_captured_epochs_are_the_eager_ones_with_experimental_guards(guards):
    eager, captured = begun(), begun()
    for found in (eager, captured):
        found.settings = replace(found.settings, **guards)
    play(eager, 2, capture=False)
    play(captured, 2, capture=True)
    alike(captured, eager)


def test_the_chance_of_an_augmentation_reaches_a_captured_round():
    found = begun()
    chance = torch.zeros((), device="cuda")
    found.train.augment = Sometimes(lambda images, _: torch.zeros_like(images), chance)
    play_one = captured_round(found)
    for value in (0.0, 1.0):
        chance.fill_(value)
        play_one()
        assert (found.train_batch[0].std() < 1e-6).item() == bool(value)


def test_darts_is_captured_with_adam_s_count_of_steps():
    eager, captured = begun(method="darts"), begun(method="darts")
    play(eager, 2, capture=False)
    play(captured, 2, capture=True)
    alike(captured, eager, sums=MIXTURES)
    steps = [state["step"].item() for state in captured.method.adam.state.values()]
    assert set(steps) == {10.0}


def test_rates_and_dropout_reach_a_captured_round():
    found = begun(skip_dropout="0.6:0")
    play_one = captured_round(found)
    weights = [p.clone() for p in found.weights]
    found.rate.zero_()
    play_one()
    assert all(torch.equal(p, w) for p, w in zip(found.weights, weights, strict=True))
    drawn = found.dropout.get_state()
    play_one()
    assert not torch.equal(found.dropout.get_state(), drawn)  # draws continue from replay to replay


def test_streamed_images_are_drawn_outside_the_graph(tmp_path):
    for number in range(64):
        colour = (3 * number, 5, number % 2 * 90)
        make_image(tmp_path / "data" / f"class {number % 2}" / f"{number}.png", colour)
    eager, captured = (begun(load_data(str(tmp_path / "data"), stream=True)) for _ in range(2))
    assert not captured.train.capturable
    play(eager, 2, capture=False)
    play(captured, 2, capture=True)
    alike(captured, eager)
    for found in (eager, captured):
        found.train.close()
        found.valid.close()


@pytest.mark.filterwarnings("ignore:Synchronization debug mode")
def test_replayed_rounds_never_wait_for_the_device():
    found = begun()
    play_one = captured_round(found)
    play_one()
    torch.cuda.set_sync_debug_mode("error")
    try:
        for _ in range(3):
            play_one()
    finally:
        torch.cuda.set_sync_debug_mode("default")
    assert found.round_in_epoch == 4
    assert int(found.train.position) == 4


def test_captures_do_not_add_up():
    found, held = begun(stripes(320), backend="fused"), []
    for _ in range(6):
        play_one = captured_round(found)
        play_one()
        torch.cuda.synchronize()
        del play_one
        gc.collect()
        torch.cuda.empty_cache()
        held.append(torch.cuda.memory_reserved())
    assert held[-1] == held[1], held


def test_memory_shrinks_when_what_is_left_is_captured():
    gc.collect()  # graphs of other tests
    torch.cuda.empty_cache()
    others = torch.cuda.memory_reserved()
    found = begun(cells=5, channels=16, batch_size=32, epochs=50)
    play_one = captured_round(found)
    play_one()
    torch.cuda.synchronize()
    before = torch.cuda.memory_reserved() - others
    del play_one
    keep_experts(found, ("skip_connect",))
    play_one = captured_round(found)
    play_one()
    torch.cuda.synchronize()
    after = torch.cuda.memory_reserved() - others
    assert after < 0.9 * before  # libraries' own memory stays


SPACES = [("darts", 3, Supernet), ("nasbench201", 1, BenchmarkSupernet)]


@pytest.mark.parametrize(("space", "cells", "kind"), SPACES)
def test_fused_rounds_are_the_same_captured_and_eager(space, cells, kind):
    if not hasattr(kind, "fuse"):
        pytest.skip(f"{kind.__name__} has no fused form")
    settings = {"space": space, "cells": cells, "channels": 16, "weights_lr": 1e-3}
    eager, captured = (begun(**settings, backend="fused", precision="bf16") for _ in range(2))
    play_one = captured_round(captured)
    for _ in range(3):
        play_round(eager)
        play_one()
    captured.method.check()
    alike(captured, eager, mixtures=IN_BFLOAT16, sums=IN_BFLOAT16)
    losses = [float(s.tally.train[0] / s.tally.train[2]) for s in (captured, eager)]
    assert losses[0] == pytest.approx(losses[1], rel=0.05)


@pytest.mark.parametrize(("space", "cells", "kind"), SPACES)
def test_what_memory_held_before_is_never_read(space, cells, kind, monkeypatch):
    """Neither by kernels, nor by the method while kernels are compiled: new memory is full of NaN."""
    if not hasattr(kind, "fuse"):
        pytest.skip(f"{kind.__name__} has no fused form")
    found = begun(space=space, cells=cells, channels=16, backend="fused", precision="bf16")
    monkeypatch.setattr(torch.utils.deterministic, "fill_uninitialized_memory", True)
    torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        assert torch.empty(8, device="cuda").isnan().all()
        play_one = captured_round(found)
        for _ in range(3):
            play_one()
        found.method.check()
    finally:
        torch.use_deterministic_algorithms(False)
    assert all(torch.isfinite(p).all() for p in found.supernet.parameters())


class Stopping(Silence):
    """Asks to stop after a round."""

    def __init__(self, after):
        self.after, self.lines = after, []

    def say(self, line):
        self.lines.append(line)

    def after_round(self, search):
        if search.rounds == self.after:
            os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.parametrize(("space", "cells", "kind"), SPACES)
def test_a_whole_fused_search_stops_in_an_epoch_and_resumes(tmp_path, space, cells, kind):
    if not hasattr(kind, "fuse"):
        pytest.skip(f"{kind.__name__} has no fused form")
    settings = {"device": "cuda", "space": space, "cells": cells, "channels": 16, "relaxation": 0.05}
    display = Stopping(after=7)
    with pytest.raises(Interrupted, match="stopped after round 7"):
        search(tiny(out=tmp_path / "run", **settings), stripes(), display=display)
    assert "chosen: backend fused, for a GPU" in display.lines
    resumed = resume_search(tmp_path / "run", data=stripes())
    assert resumed.rounds == 15
    assert len(resumed.epochs) == 3
    assert any(e.deleted for e in resumed.epochs[:-1])
    search(tiny(out=tmp_path / "whole", **settings), stripes())
    assert told(tmp_path / "run") == told(tmp_path / "whole")


def told(run):
    """Metrics without what they cost, and the cell: losses and mixtures to the last digit."""
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    found = [{name: value for name, value in line.items() if name != "cost"} for line in lines]
    return found, json.loads((run / "genotype.json").read_text())


@pytest.mark.parametrize(("space", "cells"), [one[:2] for one in SPACES])
def test_the_same_seed_is_the_same_search_twice(tmp_path, monkeypatch, space, cells):
    monkeypatch.setattr(torch.backends.cudnn, "deterministic", False)  # a run sees to it by itself
    settings = {"device": "cuda", "space": space, "cells": cells, "channels": 16, "relaxation": 0.05}
    for name in ("one", "two"):
        search(tiny(out=tmp_path / name, **settings), stripes())
    assert told(tmp_path / "one") == told(tmp_path / "two")


@pytest.mark.parametrize("backend", ["reference", "fused"])
@pytest.mark.parametrize("method", [Sampled, SecondOrder, Corrected])
def test_captured_rounds_of_methods_with_hooks_are_the_eager_ones(method, backend):
    eager, captured = (
        hooked(
            method,
            device="cuda",
            backend=backend,
            precision="fp32",  # SecondOrder takes differences
            channels=8,
            batch_size=16,
            images=160,
        )
        for _ in range(2)
    )
    for found in (eager, captured):
        found.method.resting = {(0, 1)}  # where a method rests: a second graph
    play_one = captured_round(captured)
    for _ in range(3):
        play_round(eager)
        play_one()
    alike(captured, eager, sums=MIXTURES)
    counts = [
        {name: int(b) for name, b in found.supernet.named_buffers() if "num_batches" in name}
        for found in (captured, eager)
    ]
    assert counts[0] == counts[1]


def test_rounds_without_kernels_are_captured_by_default():
    plan = prepare(tiny(device="cuda", channels=8, batch_size=16, space="nasnet"), stripes(160)).plan
    assert (plan.backend, plan.precision) == ("captured", "bf16")
    eager, captured = (begun(backend="auto", space="nasnet") for _ in range(2))
    play_one = captured_round(captured)
    for _ in range(3):
        play_round(eager)
        play_one()
    for kind, mixture in eager.mixtures.items():
        torch.testing.assert_close(captured.mixtures[kind], mixture, **IN_BFLOAT16)


@pytest.mark.parametrize("space", [("darts", 3), ("nasbench201", 1)])
@pytest.mark.parametrize("name", [name for name in METHODS if METHODS[name].stages == ()])
def test_rounds_of_every_method_are_captured(name, space):
    settings = {"space": space[0], "cells": space[1], "channels": 16, "epochs": 50}
    settings |= {"method": name, "backend": "fused"}
    eager, captured = (begun(**settings) for _ in range(2))
    for found in (eager, captured):
        found.epoch = 40  # nobody rests any more
        found.begin_epoch()
    play_one = captured_round(captured)
    for _ in range(2):
        play_round(eager)
        play_one()
    captured.method.check()
    for kind, mixture in eager.mixtures.items():
        torch.testing.assert_close(captured.mixtures[kind], mixture, **IN_BFLOAT16)
