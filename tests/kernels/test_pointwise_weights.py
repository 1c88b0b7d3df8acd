"""Gradients of the weights of pointwise convolutions: kernels against plain versions."""

import pytest
import torch
from pointwise_cases import LARGE, SHAPES, SMALL

from xnas.kernels import pointwise_weights
from xnas.kernels.pointwise_weights import pointwise_weight_gradient


class TestKernels:
    @pytest.mark.parametrize("shape", [*SHAPES[:3], (2, 700, 70, 3), (1, 40, 3, 70), *SHAPES[7:]])
    def test_gradients_of_the_weights(self, sides, shape):
        slots, pixels, channels, outputs = shape
        gradient = sides.draw(slots, pixels, outputs)
        sides.compare(pointwise_weight_gradient, sides.draw(slots, pixels, channels), gradient)

    @pytest.mark.parametrize("shape", [*SHAPES[1:3], (2, 700, 70, 3), (1, 40, 3, 70), *SHAPES[7:]])
    def test_gradients_lie_as_the_weights_do(self, sides, shape):
        slots, pixels, channels, outputs = shape
        x = sides.draw(slots, pixels, channels)
        x[0, 7, 2] = torch.nan
        sides.compare(gradient_of_transposed, x, sides.draw(slots, pixels, outputs))

    @pytest.mark.parametrize("programs", [1, 4, 40])
    def test_shares_of_the_pixels_add_up(self, sides, monkeypatch, programs):
        """One share, two shares, and as many as the pixels are worth: three."""
        monkeypatch.setattr(pointwise_weights, "PROGRAMS", programs)
        x, gradient = sides.draw(2, 1300, 5), sides.draw(2, 1300, 3)
        sides.compare(pointwise_weight_gradient, x, gradient)


def gradient_of_transposed(x, flow):
    """Of weights (channels out, channels in) that meet the ReLU of images, as those of trainings do."""
    like = x.new_empty(len(x), flow.shape[2], x.shape[2]).transpose(1, 2)
    out = pointwise_weight_gradient(x, flow, relu=True, like=like)
    assert out.stride() == like.stride()
    return out


def test_the_gradient_of_the_weights_is_wide(sides, monkeypatch):
    """The plain version rounds it to bfloat16, by half a unit, before."""
    monkeypatch.setattr(pointwise_weights, "compiles_for", lambda _: False)
    x, gradient = (sides.draw(2, 192, n, dtype=torch.bfloat16) for n in (5, 3))
    found = pointwise_weight_gradient(x, gradient)
    assert found.dtype == torch.float32
    expected = x.double().transpose(1, 2) @ gradient.double()
    torch.testing.assert_close(found.double(), expected, rtol=2**-8 * 1.01, atol=1e-4)


# The interpreter's matrix product takes the bits of a bfloat16 for a whole number.
@pytest.mark.gpu
@pytest.mark.parametrize("shape", [*SMALL[1:], *LARGE])
def test_gradients_in_bfloat16(sides, shape):
    slots, pixels, channels, outputs = shape
    x = sides.draw(slots, pixels, channels, dtype=torch.bfloat16)
    gradient = sides.draw(slots, pixels, outputs, dtype=torch.bfloat16)
    assert sides.kernel(pointwise_weight_gradient, x, gradient).dtype == torch.float32
    sides.compare(pointwise_weight_gradient, x, gradient)
    sides.compare(gradient_of_transposed, x, gradient)
