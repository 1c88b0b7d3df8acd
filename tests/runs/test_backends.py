"""Which backend a search takes, what it says about it, and how its rounds are played."""

from functools import partial
from types import SimpleNamespace

import pytest
import torch
from searching import engine, stripes, tiny
from torch import nn

from xnas import ConfigError, SearchConfig, resume_search, search
from xnas.engine import play_round, restore_search, search_state
from xnas.engine.capture import copied
from xnas.engine.distributed import Ranks
from xnas.runs.backends import fuse_if_possible, is_captured
from xnas.runs.prepare import prepare
from xnas.runs.search_plan import resolve
from xnas.space import SPACES
from xnas.space.supernet import Supernet

CPU, GPU = torch.device("cpu"), torch.device("cuda")


def planned(device, **options):
    sizes = {"cells": 3, "channels": 4, "batch_size": 8, "epochs": 1}
    return resolve(SearchConfig(**sizes, **options), examples=10_000, device=device)


class Plain(nn.Module):
    pass


class Fusable(nn.Module):
    fused = False

    def fuse(self):
        self.fused = True


class Stubborn(nn.Module):
    def fuse(self):
        raise ConfigError("the fused backend does not know the operation 'swirl'")


def without_kernels():
    """A supernet of our own modules, some of which have none."""
    return Supernet(SPACES["nasnet"], num_classes=2, cells=3, channels=4)


BF16_CAPTURED = "precision bf16, for the captured backend on a GPU"
UNKNOWN = "'conv_7x1_1x7' has no fused form; use the reference backend for a space with it"


@pytest.mark.parametrize(
    ("settings", "device", "supernet", "chosen", "notes"),
    [
        ({}, CPU, Fusable, ("reference", "fp32"), []),
        ({"backend": "fused"}, CPU, Fusable, ("fused", "fp32"), []),
        ({"precision": "bf16"}, CPU, Fusable, ("reference", "bf16"), []),
        (
            {},
            GPU,
            Fusable,
            ("fused", "bf16"),
            ["backend fused, for a GPU", "precision bf16, for the fused backend on a GPU"],
        ),
        ({"precision": "fp32"}, GPU, Fusable, ("fused", "fp32"), ["backend fused, for a GPU"]),
        ({"backend": "reference"}, GPU, Fusable, ("reference", "fp32"), []),
        (
            {"backend": "fused"},
            GPU,
            Fusable,
            ("fused", "bf16"),
            ["precision bf16, for the fused backend on a GPU"],
        ),
        (
            {"accounting": "sample"},
            GPU,
            Fusable,
            ("reference", "fp32"),
            ["backend reference: accounting sample needs plain modules"],
        ),
        (
            {},
            GPU,
            Plain,
            ("reference", "fp32"),
            ["backend reference: the Plain of the space darts has no fused form"],
        ),
        ({"backend": "captured"}, GPU, Fusable, ("captured", "bf16"), [BF16_CAPTURED]),
        (
            {"space": "nasnet"},
            GPU,
            without_kernels,
            ("captured", "bf16"),
            [f"backend captured: the operation {UNKNOWN}", BF16_CAPTURED],
        ),
        (
            {"space": "nasnet", "precision": "fp32"},
            GPU,
            without_kernels,
            ("captured", "fp32"),
            [f"backend captured: the operation {UNKNOWN}"],
        ),
        (
            {"space": "nasnet", "accounting": "sample"},
            GPU,
            without_kernels,
            ("reference", "fp32"),
            ["backend reference: accounting sample needs plain modules"],
        ),
        (
            {},
            GPU,
            Stubborn,
            ("reference", "fp32"),
            ["backend reference: the fused backend does not know the operation 'swirl'"],
        ),
    ],
)
def test_the_backend_follows_from_device_supernet_and_settings(
    settings, device, supernet, chosen, notes
):
    model = supernet()
    plan = fuse_if_possible(planned(device, **settings), model, device)
    assert (plan.backend, plan.precision) == chosen
    assert (plan.config.backend, plan.config.precision) == chosen
    assert list(plan.notes) == notes
    assert getattr(model, "fused", False) == (chosen[0] == "fused")


@pytest.mark.parametrize(
    ("supernet", "words"),
    [
        (
            Plain,
            "backend fused: the Plain of the space darts has no fused form; use --backend reference",
        ),
        (Stubborn, "backend fused: .* 'swirl'; use --backend reference"),
    ],
)
def test_what_cannot_be_fused_is_reported_on_request(supernet, words):
    with pytest.raises(ConfigError, match=words):
        fuse_if_possible(planned(CPU, backend="fused"), supernet(), CPU)


def test_there_is_nothing_to_capture_on_a_cpu():
    with pytest.raises(ConfigError, match="backend captured needs a GPU; use --backend reference"):
        planned(CPU, backend="captured")


def test_the_fused_backend_has_no_rewards_by_sample():
    with pytest.raises(ConfigError, match=r"accounting sample asks for one a sample; use --backend ref"):
        SearchConfig(backend="fused", accounting="sample")


@pytest.mark.parametrize(
    ("backend", "device", "size", "captured"),
    [
        ("fused", "cuda", 1, True),
        ("fused", "cpu", 1, False),
        ("fused", "cuda", 2, False),
        ("reference", "cuda", 1, False),
        ("captured", "cuda", 1, True),
        ("captured", "cuda", 2, False),
    ],
)
def test_rounds_are_captured_on_one_gpu_unless_by_the_reference_backend(backend, device, size, captured):
    computing = SimpleNamespace(device=torch.device(device), ranks=Ranks(size=size))
    assert is_captured(computing, backend) == captured


@pytest.mark.slow
def test_rounds_are_captured_anew_after_deletions_alone(tmp_path, monkeypatch):
    made = []

    def counted(played):
        made.append(played.epoch)
        return partial(play_round, played)

    monkeypatch.setattr("xnas.runs.search.is_captured", lambda *_: True)
    monkeypatch.setattr("xnas.runs.search.captured_round", counted)
    result = search(tiny(out=tmp_path / "run", relaxation=0.05), stripes())
    changed = [e.epoch for e in result.epochs if e.deleted and e.epoch < 3]
    assert made == [0, *changed]
    assert changed


def test_a_fused_search_on_a_cpu_stops_and_resumes(tmp_path, monkeypatch):
    """Deleted experts, a checkpoint and the wish for the fused backend all meet in a resumed run."""
    settings = {"space": "nasbench201", "cells": 1, "relaxation": 0.05, "backend": "fused"}
    whole = search(tiny(out=tmp_path / "whole", **settings), stripes())

    class StoppedError(Exception):
        pass

    def stopping(played):
        if played.epoch == 2:
            raise StoppedError
        play_round(played)

    with monkeypatch.context() as patched:
        patched.setattr("xnas.runs.search.play_round", stopping)
        with pytest.raises(StoppedError):
            search(tiny(out=tmp_path / "parts", **settings), stripes())
    resumed = resume_search(tmp_path / "parts", data=stripes())
    assert resumed.genotype == whole.genotype
    assert resumed.epochs[-1].train_loss == whole.epochs[-1].train_loss
    assert any(e.deleted for e in whole.epochs[:2])


def test_a_prepared_search_is_fused_if_it_is_asked_for():
    settings = {"space": "nasbench201", "cells": 1}
    assert prepare(tiny(backend="fused", **settings), stripes()).search.supernet.fused
    assert not prepare(tiny(**settings), stripes()).search.supernet.fused


@pytest.mark.parametrize(
    ("space", "before", "after"),
    [
        ({}, "reference", "fused"),
        ({"space": "nasbench201", "cells": 1}, "reference", "fused"),
        ({"space": "nasbench201", "cells": 1}, "fused", "reference"),
    ],
)
def test_a_search_continues_with_the_other_backend(space, before, after):
    begun = engine(backend=before, **space)
    for _ in range(2):
        play_round(begun)
    state = search_state(begun)
    changed, same = (prepare(tiny(backend=b, **space), stripes()).search for b in (after, before))
    assert changed.supernet.fused == (after == "fused")
    assert same.supernet.fused == (before == "fused")
    for one in (changed, same):
        restore_search(one, copied(state))
        play_round(one)
    for kind, mixture in same.mixtures.items():
        torch.testing.assert_close(changed.mixtures[kind], mixture, rtol=1e-5, atol=1e-6)
    weights = changed.supernet.state_dict()
    for name, tensor in same.supernet.state_dict().items():
        torch.testing.assert_close(weights[name], tensor, rtol=1e-4, atol=1e-5)
    for weight, kept in changed.weight_optimizer.state.items():  # as fused optimizers want them
        assert kept["momentum_buffer"].stride() == weight.stride()
