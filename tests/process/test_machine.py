"""The machine in a few words."""

import sys
from types import SimpleNamespace

from xnas.process import machine as module
from xnas.process.machine import machine


def test_cores_and_processor_are_named(tmp_path, monkeypatch):
    info = tmp_path / "cpuinfo"
    info.write_text("processor : 0\nmodel name : A  Fine\tProcessor\n", encoding="utf8")
    monkeypatch.setattr(module, "CPU_INFO", info)
    monkeypatch.setattr(module.os, "sched_getaffinity", lambda _: {0, 1}, raising=False)
    assert machine() == "2 cores, A Fine Processor"


def test_without_its_name_the_kind_of_processor_is_given(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "CPU_INFO", tmp_path / "missing")
    monkeypatch.setattr(module.platform, "processor", lambda: "")
    monkeypatch.setattr(module.platform, "machine", lambda: "riscv64")
    monkeypatch.setattr(module.os, "sched_getaffinity", lambda _: {0}, raising=False)
    assert machine() == "1 core, riscv64"


def test_a_gpu_in_use_is_named(monkeypatch):
    cuda = SimpleNamespace(is_initialized=lambda: True, get_device_name=lambda: "A GPU")
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=cuda))
    assert machine().endswith(", A GPU")
