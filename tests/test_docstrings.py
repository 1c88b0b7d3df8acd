"""Examples in docstrings of the public API are run; every public function and class has one."""

import doctest
import importlib
import inspect
import pkgutil
from types import FunctionType

import pytest

import xnas

WITHOUT_EXAMPLE = {
    "Classifier",  # that of `load`
    "ImageData",  # those of `search`, `train` and `load`
    "Replay",  # that of `replay`
    "resume_comparison",  # needs a comparison that was stopped
    "resume_fit",  # needs a fit that was stopped
    "resume_sampling",  # needs a search that was stopped
    "resume_search",  # needs a run that was stopped
    "resume_training",
}
ALSO = ("NetworkSpec", "SearchSpace")  # of xnas.space, which its users build


def public():
    """Functions and classes of `xnas.__all__` but errors, and some more."""
    named = {name: getattr(xnas, name) for name in xnas.__all__}
    named |= {name: getattr(xnas.space, name) for name in ALSO}
    return {
        name: value
        for name, value in named.items()
        if isinstance(value, FunctionType)
        or (inspect.isclass(value) and not issubclass(value, Exception))
    }


def examples_of(name, value):
    module = inspect.getmodule(value)
    return doctest.DocTestFinder(recurse=False).find(value, name, module, globs=dict(vars(module)))


@pytest.mark.parametrize("name", sorted(public()))
def test_examples_give_what_they_show(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # runs write into the folder `runs` of the present one
    tests = examples_of(name, public()[name])
    if name in WITHOUT_EXAMPLE:
        assert not any(test.examples for test in tests), f"{name} has an example now"
        return
    assert any(test.examples for test in tests), f"{name} has no example"
    shown = []
    for test in tests:
        doctest.DocTestRunner(verbose=False).run(test, out=shown.append)
    assert "".join(shown) == ""


MODULES = [
    name
    for layer in ("theory", "optim", "nn", "space")
    for _, name, _ in pkgutil.iter_modules([f"{xnas.__path__[0]}/{layer}"], f"xnas.{layer}.")
    if "fused" not in name and name not in {"xnas.space.benchmark_passes", "xnas.space.packing"}
]


@pytest.mark.parametrize("name", MODULES)
def test_public_functions_that_take_tensors_give_their_shapes(name):
    module = importlib.import_module(name)
    lacking = [
        function.__qualname__
        for function in _functions(module)
        if _takes_tensors(function) and not _says_shapes(function.__doc__ or "")
    ]
    assert lacking == []


def _functions(module):
    for value in vars(module).values():
        if getattr(value, "__module__", None) != module.__name__:
            continue
        if isinstance(value, FunctionType) and not value.__name__.startswith("_"):
            yield value
        if inspect.isclass(value) and not value.__name__.startswith("_"):
            for member in vars(value).values():
                if isinstance(member, FunctionType) and not member.__name__.startswith("_"):
                    yield member


def _takes_tensors(function):
    given = [text for name, text in function.__annotations__.items() if name != "return"]
    return any(word in str(text) for text in given for word in ("Tensor", "ByKind"))


def _says_shapes(text):
    """Whether a docstring has a shape such as (batch, channels), or points to one."""
    return any(mark in text for mark in ("(...", "(batch", "(forecasters", "(edges", "(m, ", "hapes"))
