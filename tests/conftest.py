import json
import os
from pathlib import Path

import pytest
import torch
from hypothesis import settings

if not torch.cuda.is_available():
    # Kernels run in Triton's interpreter, which wants to know before they are defined.
    os.environ.setdefault("TRITON_INTERPRET", "1")

settings.register_profile("steady", deadline=None, derandomize=True)
settings.register_profile("random", deadline=None, derandomize=False, print_blob=True)
settings.load_profile("steady")  # unless --hypothesis-profile names another


@pytest.fixture(scope="session")
def known():
    """Numbers that a correct implementation gives, with their source in the file."""
    return json.loads((Path(__file__).parent / "known_answers.json").read_text(encoding="utf8"))


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory, monkeypatch):
    """No test reads or writes what its user's runs remember."""
    monkeypatch.setenv("XNAS_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(0)


@pytest.fixture(scope="module")
def small_space():
    """The DARTS space with two nodes, 5 edges per cell where that has 14: `space="small"`."""
    from xnas.space import SPACES, SearchSpace  # noqa: PLC0415 - after the environment is set

    SPACES.add("small", SearchSpace("small", SPACES["darts"].operations, nodes=2))
    yield
    del SPACES._entries["small"]
