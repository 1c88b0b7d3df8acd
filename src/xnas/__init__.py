"""Neural architecture search with expert advice (XNAS), on PyTorch.

Each edge of a cell is a forecaster that mixes experts (operations), learns the mixture by exponentiated
gradients and wipes out experts that can no longer win. Start with `xnas.theory` beside the paper, or
with `ExpertsOptimizer` and `Forecaster` in a network of your own.
"""

import sys
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xnas.public import *  # noqa: F403 - `__all__` is there

__version__ = "0.1.0"

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """A public name, or a layer, as an attribute of the package: both come with `xnas.public`.

        They are imported when one is first asked for. torch takes seconds, and the command heeds signals
        before that.
        """
        public = import_module("xnas.public")
        for names in (globals(), vars(public)):
            if name in names:
                return names[name]
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__() -> list[str]:
        return sorted({*globals(), *import_module("xnas.public").__all__})


if "timm" in sys.modules:  # whoever uses timm finds our networks there; nobody else waits for it
    import_module("xnas.timm")
