"""Neural architecture search with expert advice (XNAS), on PyTorch.

Each edge of a cell is a forecaster that mixes experts (operations), learns the mixture by exponentiated
gradients and wipes out experts that can no longer win. Start with `xnas.theory` and the paper, or
with `ExpertsOptimizer` and `Forecaster` in a network of your own.
"""

import sys
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xnas.public import *  # noqa: F403 - `__all__` is there

__version__ = "0.1.0"
_LAYERS = (
    *("benchmarks", "data", "engine", "errors", "methods", "model", "nn", "optim"),
    *("records", "report", "runs", "samplers", "space", "theory", "toys"),
)

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """A public name or a layer as an attribute of the package, imported when one is first used.

        torch takes seconds to import, and the command handles signals before that.
        """
        if name in _LAYERS:
            return import_module(f"xnas.{name}")
        public = import_module("xnas.public")
        for names in (globals(), vars(public)):
            if name in names:
                return names[name]
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__() -> list[str]:
        dunders = {name for name in globals() if name.startswith("__")}
        return sorted({*dunders, *_LAYERS, *import_module("xnas.public").__all__})


if "timm" in sys.modules:  # programs that use timm find our networks there; others do not import it
    import_module("xnas.timm")
