"""Kernels against their plain versions: compiled on a CUDA device, interpreted without one."""

import importlib

import pytest
import torch

from xnas.kernels import language

MODULES = [
    importlib.import_module(f"xnas.kernels.{name}")
    for name in (
        *("depthwise", "depthwise_weights", "fan_out", "fan_out_gradients", "halves", "mixing"),
        *("mixing_gradients", "moments", "normalization", "normalization_gradients", "pointwise"),
        *("pointwise_weights", "pool_gradients", "pools", "rewards", "square_weights", "states", "sums"),
    )
]

# Half a unit in the last place of 1, whose significand has 24 or 8 bits. Triton's interpreter cuts off a
# float32 that becomes a bfloat16, instead of rounding it: an error twice as large.
HALF_UNIT = {
    torch.float32: 2**-24,
    torch.bfloat16: 2**-8 if torch.cuda.is_available() else 2**-7,
}
# A result is rounded once to its own type; before, kernels compute in float32, whose roundings add up:
# 49 products of a 7x7 convolution, and about as many partial sums of a block's pixels.
SUM = 64 * HALF_UNIT[torch.float32]


class Sides:
    """A function computed by kernels, in its arguments' precision, or by plain versions, in float64."""

    def __init__(self, monkeypatch):
        self.monkeypatch = monkeypatch
        self.device = "cuda" if torch.cuda.is_available() else "cpu"

    def draw(self, *shape, dtype=torch.float32):
        """Normal numbers, the same ones on every device."""
        return torch.randn(shape).to(self.device, dtype)

    def whole(self, *numbers):
        return torch.tensor(numbers, dtype=torch.int32, device=self.device)

    def kernel(self, function, *arguments, **options):
        if language.triton is None:
            pytest.skip("Triton is not installed")
        return self._compute(True, function, arguments, options)

    def plain(self, function, *arguments, **options):
        return self._compute(False, function, [_double(one) for one in arguments], options)

    def compare(self, function, *arguments, **options):
        """Kernel against plain version. A GPU runs programs in any order: launch twice, equal bits."""
        found = _several(self.kernel(function, *arguments, **options))
        expected = _several(self.plain(function, *arguments, **options))
        assert len(found) == len(expected) > 0
        for one, right in zip(found, expected, strict=True):
            close(one, right)
        if self.device == "cuda":
            self.repeat(function, *arguments, **options)

    def repeat(self, function, *arguments, **options):
        """Two launches give the same bits."""
        found = _several(self.kernel(function, *arguments, **options))
        again = _several(self.kernel(function, *arguments, **options))
        for one, two in zip(found, again, strict=True):
            torch.testing.assert_close(one, two, rtol=0, atol=0, equal_nan=True)

    def _compute(self, compiled, function, arguments, options):
        with self.monkeypatch.context() as patch:
            for module in MODULES:
                patch.setattr(module, "compiles_for", lambda _: compiled)
            return function(*arguments, **options)


def close(found, expected):
    """Equal but for the roundings of the type that is found; whole numbers are equal."""
    if not found.is_floating_point() or not found.numel():
        assert torch.equal(found, expected.to(found.dtype))
        return
    largest = float(expected.nan_to_num(0, 0, 0).abs().max())
    tolerance = (HALF_UNIT[found.dtype] + SUM) * largest
    torch.testing.assert_close(found.double(), expected, rtol=0, atol=tolerance, equal_nan=True)


def _double(argument):
    wide = isinstance(argument, torch.Tensor) and argument.is_floating_point()
    return argument.double() if wide else argument


def _several(results):
    return results if isinstance(results, tuple) else (results,)


@pytest.fixture
def sides(monkeypatch):
    return Sides(monkeypatch)


@pytest.fixture(autouse=True)
def _gpu_tests_need_a_gpu(request):
    if request.node.get_closest_marker("gpu") and not torch.cuda.is_available():
        pytest.skip("needs a CUDA device")
