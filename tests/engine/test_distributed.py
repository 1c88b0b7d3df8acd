"""Several processes of one run: the numbers of one, the same choices everywhere, no waiting forever.

Two processes are started as torchrun starts them, on the CPU; what they do is in `distributed_jobs.py`.
"""

import json
import os
import re
import signal
import subprocess
import sys
import time

import distributed_jobs as jobs
import pytest
import torch
from distributed_jobs import finish, start
from safetensors.torch import load_file
from training import metrics

from xnas.engine.checkpoint import Checkpoints
from xnas.engine.distributed import ALONE, Ranks, _digests, _timeout, join_ranks, several_wanted, speaks
from xnas.errors import ConfigError, RankError
from xnas.process.devices import pick_device
from xnas.runs.search import resume_search

CPU = torch.device("cpu")
# Means of halves instead of a whole: float32 gradients are rounded otherwise, and rounds pass it on.
ROUNDED = {"rtol": 1e-3, "atol": 1e-5}


def results_of(job, folder):
    codes, told = finish(start(job, folder), folder)
    assert codes == [0, 0], told
    return [torch.load(folder / f"{rank}.pt", weights_only=False) for rank in (0, 1)]


@pytest.fixture(scope="module")
def equals(tmp_path_factory):
    return results_of("equal", tmp_path_factory.mktemp("equal"))


@pytest.fixture(scope="module")
def wholes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    return folder, results_of("whole", folder)


@pytest.mark.parametrize("name", jobs.SEARCHES)
def test_without_batch_statistics_two_processes_search_as_one_does(equals, name):
    one = jobs.play(ALONE, **jobs.SEARCHES[name])
    for two in (found[name] for found in equals):
        assert two["deleted"] == one["deleted"]
        for part in ("mixtures", "sums", "weights"):
            torch.testing.assert_close(two[part], one[part], **ROUNDED)
        torch.testing.assert_close(two["losses"], one["losses"], **ROUNDED)
        torch.testing.assert_close(two["rewards"], one["rewards"], **ROUNDED)
    if name in {"darts space", "nasbench201"}:  # so that deletions and mixtures are compared
        assert one["deleted"]
        assert any(0 < u < 1 for mixture in one["mixtures"].values() for u in mixture.unique())


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("training", {}),
        ("training without drop path in parts", {"accumulate": 2, "drop_path_rate": 0.0}),
    ],
)
def test_without_batch_statistics_two_processes_train_as_one_does(equals, name, settings):
    one = jobs.train(ALONE, **settings)
    for two in (found[name] for found in equals):
        for part in ("model", "average", "losses"):
            torch.testing.assert_close(two[part], one[part], **ROUNDED)


def test_two_processes_are_equal_bit_for_bit(equals):
    first, second = (dict(_digests(found, "")) for found in equals)
    assert first == second


def test_a_search_that_was_stopped_by_one_process_resumes_in_both(wholes):
    folder, found = wholes
    assert all("stopped after round 4" in each["stopped"] for each in found)
    assert metrics(folder / "run") == metrics(folder / "whole")
    one, other = (Checkpoints(folder / n / "checkpoints").newest(CPU, print) for n in ("run", "whole"))
    for part in ("supernet", "method", "weight_optimizer", "dropout"):
        torch.testing.assert_close(one[part], other[part], rtol=1e-6, atol=1e-7)
    weights = [name for name in one["supernet"] if "running" not in name]
    for name in weights:  # running statistics were averaged once more, and rounded
        assert torch.equal(one["supernet"][name], other["supernet"][name]), name


def test_a_training_that_was_stopped_resumes_in_both(wholes):
    folder, found = wholes
    assert [each["epochs"] for each in found] == [2, 2]
    one, other = (load_file(folder / n / "model.safetensors") for n in ("training", "stopped training"))
    torch.testing.assert_close(one, other, rtol=1e-6, atol=1e-7)
    assert (folder / "training" / "best" / "model.safetensors").exists()


def test_the_fused_backend_searches_too(wholes):
    folder, _ = wholes
    assert (folder / "fused" / "genotype.json").exists()
    assert len(metrics(folder / "fused")) == 2


def test_a_difference_names_the_process_and_what_differs(wholes):
    _, found = wholes
    for each in found:
        assert each["differs"].startswith(
            "RankError: rank 1 differs from rank 0 after round 3 in supernet"
        )
        assert "mixture" in each["differs"]
        assert each["differs"].endswith(
            "; nothing was kept: look for different data, versions or devices, then use --resume"
        )


def test_what_cannot_be_shared_equally_is_refused(wholes):
    _, found = wholes
    for each in found:
        assert (
            "a batch of 7 images cannot be shared by 2 processes: shares must be equal" in each["batch"]
        )
        assert "--batch-size 6" in each["batch"]
        assert "a batch of 8 images cannot be shared by 2 processes in 4 parts each" in each["parts"]
        assert "--batch-size 16" in each["parts"]
        assert "is not empty" in each["not empty"]


def test_another_number_of_processes_is_refused_by_name(wholes):
    folder, _ = wholes
    assert json.loads((folder / "whole" / "config.json").read_text(encoding="utf8"))["processes"] == 2
    with pytest.raises(
        ConfigError, match=r"begun by 2 processes .* now there are 1; .*nproc-per-node 2"
    ):
        resume_search(folder / "whole", data=jobs.IMAGES)


@pytest.mark.slow
def test_a_killed_process_ends_the_other_and_the_run_resumes(tmp_path):
    codes, told = finish(start("killed", tmp_path), tmp_path)
    assert codes == [2, -signal.SIGKILL]
    assert "xnas: rank 0 of 2 lost the others" in told[0][1]
    assert not re.search(r"third_party|GLHF|Check the logs", told[0][1])
    codes, told = finish(start("resumed", tmp_path), tmp_path)
    assert codes == [0, 0], told
    assert "resuming after round 2" in told[0][0]
    assert told[1] == ["", ""]  # only the first one speaks
    assert (tmp_path / "run" / "genotype.json").exists()


@pytest.mark.slow
def test_a_process_that_hangs_ends_the_other_in_time(tmp_path):
    processes = start("hanging", tmp_path, timeout=4.0)
    started = time.monotonic()
    processes[0].join(60)
    assert time.monotonic() - started < 45  # 4 s of them in vain
    assert processes[1].is_alive()
    (code, _), ((_, complaint), _) = finish(processes, tmp_path, seconds=0)
    assert code == 2
    assert "lost the others" in complaint
    assert "did not answer for 4 s (XNAS_RANKS_TIMEOUT sets that)" in complaint
    assert list((tmp_path / "run" / "checkpoints").iterdir())


@pytest.mark.slow
def test_torchrun_searches_and_ends_what_hangs(tmp_path):
    def run(*arguments, **environment):
        command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2"]
        return subprocess.run(
            [*command, *arguments],
            env=os.environ | {"OMP_NUM_THREADS": "1"} | environment,
            capture_output=True,
            check=False,
            text=True,
            timeout=300,
        )

    sizes = {"cells": 3, "channels": 2, "batch-size": 48, "epochs": 2, "device": "cpu"}
    settings = [*(f"--{name}={value}" for name, value in sizes.items()), "--out"]
    done = run("-m", "xnas", "search", *settings, str(tmp_path / "run"))
    assert done.returncode == 0, done.stderr
    assert len(re.findall("chosen: 2 processes with 24 images each of a batch of 48", done.stdout)) == 1
    assert (tmp_path / "run" / "genotype.json").exists()
    trained = run("-m", "xnas", "train", str(tmp_path / "run"), *settings, str(tmp_path / "trained"))
    assert trained.returncode == 0, trained.stderr
    assert (tmp_path / "trained" / "model.json").exists()
    (tmp_path / "hung").mkdir()
    script = [jobs.__file__, "hanging", str(tmp_path / "hung")]
    hung = run(*script, XNAS_RANKS_TIMEOUT="5")
    assert hung.returncode != 0
    assert "rank 0 of 2 lost the others" in hung.stderr
    assert run(jobs.__file__, "resumed", str(tmp_path / "hung")).returncode == 0


def test_a_single_process_is_alone(monkeypatch):
    assert not several_wanted()
    assert speaks()
    values = torch.ones(2)
    ALONE.average([values])
    assert ALONE.gather(values, 0) is values
    assert ALONE.first_does(lambda: 3) == 3
    ALONE.require_same({}, "ever", str)
    monkeypatch.setenv("MASTER_ADDR", "127.0.0.1")
    monkeypatch.setenv("MASTER_PORT", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("RANK", "1")
    assert several_wanted()
    assert not speaks()


def test_a_process_group_without_a_backend_for_the_cpu_is_refused(monkeypatch):
    monkeypatch.setattr(torch.distributed, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.distributed, "get_world_size", lambda: 2)
    monkeypatch.setattr(torch.distributed, "get_backend_config", lambda: "cuda:nccl")
    with pytest.raises(ConfigError, match="none for the CPU; begin it with cpu:gloo,cuda:nccl"):
        join_ranks()


def test_each_process_takes_a_gpu_of_its_own(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "set_device", lambda _: None)
    second = Ranks(rank=1, size=2, local_rank=1, local_size=2)
    assert pick_device("auto", second) == pick_device("cuda", second) == torch.device("cuda:1")
    assert pick_device("cpu", second) == CPU
    with pytest.raises(ConfigError, match="device cuda:0 for 2 processes"):
        pick_device("cuda:0", second)
    with pytest.raises(ConfigError, match="3 processes on a machine with 2 GPUs"):
        pick_device("cuda", Ranks(rank=2, size=3, local_rank=2, local_size=3))


@pytest.mark.parametrize(
    ("said", "quoted"),
    [
        ("Connection closed by peer [::1]:3614. Check the logs. GLHF!", "closed by peer [::1]:3614)"),
        ("Timed out waiting 8000ms for recv operation", "(Timed out waiting 8000ms for recv operation)"),
    ],
)
def test_of_what_torch_says_of_a_lost_process_the_first_sentence_is_quoted(monkeypatch, said, quoted):
    def broken(*_args, **_options):
        raise RuntimeError(f"[/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:547] {said}")

    monkeypatch.setattr("torch.distributed.all_reduce", broken)
    with pytest.raises(RankError) as caught:
        Ranks(size=2).wait()
    assert str(caught.value).endswith(quoted)


@pytest.mark.parametrize("value", ["0", "-1", "soon", "inf", "nan", "1e300"])
def test_a_timeout_is_a_number_of_seconds(monkeypatch, value):
    monkeypatch.setenv("XNAS_RANKS_TIMEOUT", value)
    with pytest.raises(ConfigError, match=r"number of seconds above 0 and at most 1e\+06, got"):
        _timeout()
