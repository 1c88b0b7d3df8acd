"""Pointwise convolutions: autograd against plain versions, those against kernels."""

import pytest
import torch
from kernel_cases import cases
from pointwise_cases import LARGE, SHAPES, SMALL, drawn

from xnas.kernels import pointwise as module
from xnas.kernels.moments import Moments
from xnas.kernels.pointwise import pointwise, pointwise_with_moments
from xnas.kernels.pointwise_weights import pointwise_weight_gradient


def product(x, weight):
    return pointwise(x, weight)


def gated(x, weight, gate):
    return pointwise(x, weight, gate=gate)


def of_relu(x, weight):
    wide = torch.promote_types(x.dtype, torch.float32)
    out = x.new_empty(*x.shape[:2], weight.shape[2])
    mean, scale = x.new_empty(2, len(x), weight.shape[2], dtype=wide)
    pointwise_with_moments(x, weight, relu=True, out=out, into=Moments(mean, scale))
    return out


def with_moments(x, weight, running_mean, running_variance, *, running):
    """What is computed; the moments are those of the products as they are stored, rounded."""
    wide = torch.promote_types(x.dtype, torch.float32)
    out = x.new_empty(*x.shape[:2], weight.shape[2])
    mean, scale = x.new_empty(2, len(x), weight.shape[2], dtype=wide)
    kept = (running_mean.clone(), running_variance.clone()) if running else (None, None)
    pointwise_with_moments(x, weight, out=out, into=Moments(mean, scale, *kept))
    return (out, mean, scale, *kept) if running else (out, mean, scale)


def running_statistics(sides, shape):
    return sides.draw(shape[0], shape[3]), sides.draw(shape[0], shape[3]).square()


@pytest.mark.parametrize("shape", [(2, 13, 3, 5), (3, 64, 5, 1), (1, 96, 1, 4), (0, 8, 3, 5)])
def test_plain_versions_are_what_autograd_finds(sides, shape):
    x, weight = (one.double().requires_grad_() for one in drawn(sides, shape))
    gradient = sides.draw(shape[0], shape[1], shape[3]).double()
    expected = torch.einsum("spi,sio->spo", x, weight)
    expected.backward(gradient)
    assert torch.allclose(sides.plain(product, x.detach(), weight.detach()), expected)
    flown = sides.plain(product, gradient, weight.detach().transpose(1, 2))
    assert torch.allclose(flown, x.grad)
    found = sides.plain(pointwise_weight_gradient, x.detach(), gradient)
    assert found.dtype == torch.float64
    assert torch.allclose(found, weight.grad)


class TestKernels:
    @cases(shape=SHAPES, transposed=[False, True])
    def test_products(self, sides, shape, transposed):
        sides.compare(product, *drawn(sides, shape, transposed=transposed))

    # One pixel has no deviation: 1 / sqrt(1e-5) would magnify its roundings.
    @cases(shape=SHAPES[1:], running=[True, pytest.param(False, marks=pytest.mark.slow)])
    def test_products_with_their_moments(self, sides, shape, running):
        x, weight = drawn(sides, shape, transposed=running)
        sides.compare(with_moments, x, weight, *running_statistics(sides, shape), running=running)

    @cases(pixels=[64, 65, 190, 256, 257, 700], programs=[1, 3], outputs=[36, 70])
    def test_a_program_takes_several_blocks_in_turn(self, sides, monkeypatch, pixels, programs, outputs):
        """All of a slot's, or some; of the last blocks, pixels may be missing, or all."""
        monkeypatch.setattr(module, "PROGRAMS", programs)
        shape = 1, pixels, 5, outputs
        x, weight = drawn(sides, shape)
        sides.compare(with_moments, x, weight, *running_statistics(sides, shape), running=True)
        sides.compare(product, *drawn(sides, shape, transposed=True))

    @pytest.mark.parametrize("shape", [(1, 300, 70, 36), (2, 129, 40, 5)])
    def test_blocks_are_larger_where_pixels_are_many(self, sides, monkeypatch, shape):
        monkeypatch.setattr(module, "PROGRAMS", 1)
        x, weight = drawn(sides, shape)
        sides.compare(with_moments, x, weight, *running_statistics(sides, shape), running=True)

    @pytest.mark.parametrize(
        ("shape", "transposed"), [((2, 129, 5, 36), False), ((2, 65, 40, 70), True)]
    )
    def test_gates(self, sides, shape, transposed):
        x, weight = drawn(sides, shape, transposed=transposed)
        gate = sides.draw(shape[0], shape[1], shape[3])
        sides.compare(lambda *given: pointwise(*given[:2], gate=given[2]), x, weight, gate)

    @pytest.mark.parametrize("channels", [5, 40])
    def test_products_with_a_relu(self, sides, channels):
        x, weight = drawn(sides, (2, 129, channels, 36))
        x[1, 7, 2] = torch.nan

        def rectified(x, weight):
            wide = x.new_empty(2, 2, 36)
            out = x.new_empty(2, 129, 36)
            pointwise_with_moments(x, weight, relu=True, out=out, into=Moments(*wide))
            return out, *wide

        sides.compare(rectified, x, weight)

    @pytest.mark.parametrize(
        "shape",
        [(129, 5, 36), *(pytest.param(s, marks=pytest.mark.gpu) for s in [(65, 40, 70), (300, 16, 16)])],
    )
    def test_several_slots_read_a_plane_and_lie_side_by_side(self, sides, shape):
        pixels, channels, outputs = shape
        planes = sides.whole(3, 0, 0, 2)

        def forward(x, weight, running_mean, running_variance):
            wide = torch.promote_types(x.dtype, torch.float32)
            out = x.new_full((2, pixels, 2 * outputs), torch.nan)
            mean, scale = x.new_empty(2, 2, 2 * outputs, dtype=wide)
            into = Moments(mean, scale, running_mean.clone(), running_variance.clone())
            pointwise_with_moments(x, weight, planes=planes, relu=True, out=out, into=into)
            return out, mean, scale, into.running_mean, into.running_variance

        x, weight = sides.draw(4, pixels, channels), sides.draw(4, channels, outputs)
        running = sides.draw(2, 2 * outputs), sides.draw(2, 2 * outputs).square()
        sides.compare(forward, x, weight, *running)
        flow = sides.draw(2, pixels, 2 * outputs)
        sides.compare(product, flow, weight.transpose(1, 2))
        sides.compare(
            lambda *two: pointwise(*two, out=two[0].new_empty(2, pixels, 2 * outputs)), x, weight
        )
        sides.compare(pointwise_weight_gradient, x, flow, planes=planes, relu=True)

        out = sides.kernel(forward, x, weight, *running)[0]
        for slot, plane in enumerate(planes.tolist()):
            columns = slice(slot % 2 * outputs, (slot % 2 + 1) * outputs)
            mine, gradient = out[slot // 2, :, columns], flow[slot // 2, :, columns]
            assert torch.allclose(mine, x[plane].relu() @ weight[slot], atol=1e-4)
            for side in (sides.kernel, sides.plain):
                found = side(pointwise_weight_gradient, x, flow, planes=planes)[slot]
                assert torch.allclose(found.to(x), x[plane].T @ gradient, atol=1e-3)

    def test_weights_may_lie_anywhere(self, sides):
        """Every second one of a larger tensor's, in both dimensions."""
        x, weight = sides.draw(2, 33, 5), sides.draw(2, 10, 14)[:, ::2, ::2]
        sides.compare(product, x, weight)


def test_what_is_compiled_depends_on_no_number_of_slots(sides, monkeypatch):
    seen = []

    class Noted:
        def __getitem__(self, grid):
            return lambda *_, **constants: seen.append(constants)

    monkeypatch.setattr(module, "_product", Noted())
    for slots in (1, 2, 5, 32):
        x, weight = drawn(sides, (slots, 6144, 64, 64))
        module.launch_pointwise(x, weight, x)
    assert all(constants == seen[0] for constants in seen)


# The interpreter's matrix product takes the bits of a bfloat16 for a whole number.
@pytest.mark.gpu
@pytest.mark.parametrize("shape", [*SMALL[1:], *LARGE])
class TestBfloat16:
    """Both sides round the weights to bfloat16 first: here they need no rounding."""

    @pytest.mark.parametrize("transposed", [False, True])
    def test_products(self, sides, shape, transposed):
        x, weight = drawn(sides, shape, transposed=transposed, dtype=torch.bfloat16)
        sides.compare(product, x, weight.bfloat16().float())

    @pytest.mark.parametrize("transposed", [False, True])
    def test_products_of_the_relu_and_through_a_gate(self, sides, shape, transposed):
        x, weight = drawn(sides, shape, transposed=transposed, dtype=torch.bfloat16)
        gate = sides.draw(*x.shape[:2], shape[3], dtype=torch.bfloat16)
        weight = weight.bfloat16().float()
        sides.compare(of_relu, x, weight)
        sides.compare(gated, x, weight, gate)

    def test_moments_are_those_of_the_rounded_products(self, sides, shape):
        x, weight = drawn(sides, shape, dtype=torch.bfloat16)
        statistics = running_statistics(sides, shape)
        out, mean, scale, *kept = sides.kernel(with_moments, x, weight, *statistics, running=True)
        same = torch.eye(shape[3], device=x.device).expand(shape[0], -1, -1)
        _, *expected = sides.plain(with_moments, out, same, *statistics, running=True)
        for found, right in zip((mean, scale, *kept), expected, strict=True):
            assert found.dtype == torch.float32
            torch.testing.assert_close(found.double(), right, rtol=1e-5, atol=1e-5)


@pytest.mark.gpu  # the interpreter has one order
def test_two_launches_give_the_same_bits(sides):
    statistics = running_statistics(sides, SMALL[3])
    sides.repeat(with_moments, *drawn(sides, SMALL[3]), *statistics, running=True)
    sides.repeat(pointwise_weight_gradient, sides.draw(1, 700, 5), sides.draw(1, 700, 3))


def test_large_means_do_not_cancel(sides):
    """A mean of 1000 with a deviation of 1; `test_moments` says how well they can be known."""
    x = torch.cat([1000 * torch.ones(2, 300, 1, device=sides.device), sides.draw(2, 300, 1)], 2)
    weight = torch.ones(2, 2, 5, device=sides.device)
    out, mean, scale = sides.kernel(with_moments, x, weight, None, None, running=False)
    variance, middle = torch.var_mean(out.double(), 1, correction=0)
    assert torch.allclose(mean.double(), middle, rtol=1e-6)
    assert torch.allclose(scale.double(), (variance + 1e-5).rsqrt(), rtol=2e-4)


def test_results_go_where_they_are_wanted(sides):
    x, weight = drawn(sides, (2, 7, 3, 5))
    for side in (sides.kernel, sides.plain):
        out = torch.full((2, 7, 5), torch.nan, device=sides.device)
        assert side(pointwise, x.to(out), weight.to(out), out=out) is out
        assert torch.isfinite(out).all()


def test_no_slots_give_nothing(sides):
    x, weight = drawn(sides, (0, 8, 3, 5))
    for side in (sides.kernel, sides.plain):
        assert side(product, x, weight).shape == (0, 8, 5)
        assert side(pointwise_weight_gradient, x, x).shape == (0, 3, 3)
        out, mean, _ = side(with_moments, x, weight, None, None, running=False)
        assert out.shape == (0, 8, 5)
        assert mean.shape == (0, 5)
