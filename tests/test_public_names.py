"""The public surface is what `__all__` says, no more and no less."""

import importlib
import inspect
import pkgutil
import subprocess
import sys
from types import ModuleType

import pytest

import xnas

PACKAGES = ["xnas"] + [
    f"xnas.{module.name}"
    for module in pkgutil.iter_modules(xnas.__path__)
    if module.ispkg and module.name != "cli"
]


@pytest.mark.parametrize("name", PACKAGES)
def test_all_is_what_is_importable(name):
    module = importlib.import_module("xnas.public" if name == "xnas" else name)
    public = {
        key
        for key, value in vars(module).items()
        if not key.startswith("_") and not isinstance(value, ModuleType)
    }
    listed = {key for key in module.__all__ if not key.startswith("__")}
    assert public == listed
    assert len(module.__all__) == len(set(module.__all__))


@pytest.mark.parametrize("name", PACKAGES)
def test_everything_public_is_documented(name):
    module = importlib.import_module(name)
    for key in module.__all__:
        value = getattr(module, key)
        if inspect.isclass(value) or inspect.isfunction(value):
            assert inspect.getdoc(value), f"{name}.{key} has no docstring"


def test_the_package_gives_its_names_and_layers_and_no_others():
    listed = {name for name in dir(xnas) if not name.startswith("_")}
    assert listed - set(xnas.__all__) == set(xnas._LAYERS)
    assert set(xnas.__all__) <= set(dir(xnas))
    assert xnas.theory is importlib.import_module("xnas.theory")
    with pytest.raises(AttributeError, match="module 'xnas' has no attribute 'nonsense'"):
        _ = xnas.nonsense


def test_importing_says_nothing_and_loads_no_tools_and_torch_when_it_is_needed():
    code = (
        "import sys, xnas.process.interrupt; early = 'torch' in sys.modules; "
        "from xnas import *; import torch; "
        "assert Classifier is xnas.Classifier; "
        "import xnas.samplers, xnas.workers, xnas.runs.sampling.sample_job; "
        "tools = ('matplotlib', 'cyclopts', 'triton', 'optuna', 'ray', 'networkx'); "
        "print(early, [m for m in tools if m in sys.modules], "
        "torch.cuda.is_initialized()); "
        "import xnas.cli; print('matplotlib' in sys.modules)"  # only commands that draw import it
    )
    done = subprocess.run(
        [sys.executable, "-W", "error::UserWarning:xnas", "-c", code],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines() == ["False [] False", "False"]
    assert done.stderr == ""
