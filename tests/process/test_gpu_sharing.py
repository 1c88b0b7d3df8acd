"""Sharing a GPU, without one."""

import os
import stat

import torch

from xnas.process.gpu_sharing import share_gpu, visible_gpus


def test_the_service_is_started_where_it_is_installed(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    share_gpu()  # nothing is there, nothing is done
    program = tmp_path / "nvidia-cuda-mps-control"
    program.write_text(f'#!/bin/sh\necho "$@" > {tmp_path / "called"}\nexit 1\n', encoding="utf8")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    share_gpu()  # a second service is refused, which is no error
    assert (tmp_path / "called").read_text(encoding="utf8") == "-d\n"


def test_gpus_keep_the_names_that_the_environment_gives_them(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert visible_gpus() == ()
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert visible_gpus() == ("0", "1")
    monkeypatch.setitem(os.environ, "CUDA_VISIBLE_DEVICES", "GPU-5d, 3")
    assert visible_gpus() == ("GPU-5d", "3")
