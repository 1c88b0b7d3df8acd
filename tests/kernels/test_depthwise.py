"""ReLU and depthwise convolutions: twins against autograd, kernels against twins."""

import pytest
import torch
from torch.nn.functional import conv2d

from xnas.kernels import depthwise as module
from xnas.kernels.depthwise import depthwise, depthwise_input_gradient, depthwise_weight_gradient

INPUTS = 4
SORTED = (0, 0, 2)  # inputs 1 and 3 are read by no slot
MIXED = (2, 0, 0)

# kernel, stride, dilation, channels, batch, height, width; at stride 1 a thread computes 4 pixels that
# are a dilation apart, so a row is runs of 4 or 8, the last of which may be cut off
SMALL = [
    (3, 1, 1, 5, 2, 7, 5),
    (5, 1, 1, 16, 1, 6, 9),
    (7, 1, 1, 3, 1, 7, 3),  # narrower than its run
    (3, 1, 1, 1, 1, 3, 17),
    (5, 1, 2, 3, 1, 5, 9),
    (3, 1, 2, 70, 2, 5, 4),  # 70 channels in blocks of 64, 20 runs in blocks of 16
    (5, 1, 2, 5, 1, 4, 17),
    (3, 1, 2, 2, 2, 3, 1),
    (3, 2, 1, 16, 2, 9, 5),
    (3, 2, 2, 16, 2, 7, 7),  # 98 pixels in blocks of 64
    (5, 2, 2, 1, 2, 9, 17),
    (7, 2, 2, 3, 1, 3, 5),  # larger than its image
]
SHAPES = [
    *SMALL,
    pytest.param((7, 2, 1, 5, 2, 8, 8), marks=pytest.mark.slow),
    pytest.param((5, 2, 1, 70, 4, 15, 14), marks=pytest.mark.slow),
    pytest.param((5, 1, 2, 70, 4, 15, 13), marks=pytest.mark.slow),
]
LARGE = [
    pytest.param(shape, marks=pytest.mark.gpu)
    for shape in [
        (3, 1, 1, 16, 96, 32, 32),
        (3, 1, 1, 32, 48, 31, 29),
        (5, 1, 2, 36, 96, 32, 32),
        (5, 1, 2, 16, 32, 9, 17),
        (5, 2, 1, 36, 96, 32, 32),
        (7, 1, 1, 144, 24, 8, 8),
        (3, 2, 2, 70, 32, 15, 17),
    ]
]


def forward(x, weight, source, *, stride, dilation):
    return depthwise(x, weight, source, stride=stride, dilation=dilation)


def input_gradient(gradient, weight, first, x, before, *, stride, dilation, add):
    into = before.clone()
    depthwise_input_gradient(
        gradient, weight, first, x, stride=stride, dilation=dilation, into=into, add=add
    )
    return into


def weight_gradient(x, gradient, source, like, *, stride, dilation):
    found = depthwise_weight_gradient(x, gradient, source, like=like, stride=stride, dilation=dilation)
    assert found.shape == like.shape
    assert found.stride() == like.stride()
    return found


def firsts(sides, source, inputs=INPUTS):
    """Where the slots of each input begin, the last one's end behind them."""
    return sides.whole(*(sum(s < i for s in source) for i in range(inputs + 1)))


def drawn(sides, shape, source, dtype=torch.float32, *, strided=False):
    """Images, half of whose pixels the ReLU takes away, weights and a gradient of the outputs.

    Strided weights lie in memory as a module has them: channels first, then taps.
    """
    kernel, stride, _, channels, batch, height, width = shape
    x = sides.draw(INPUTS, batch, height, width, channels, dtype=dtype)
    if strided:
        weight = sides.draw(len(source), channels, kernel * kernel).transpose(1, 2)
    else:
        weight = sides.draw(len(source), kernel * kernel, channels)
    size = (-(-height // stride), -(-width // stride))
    return x, weight, sides.draw(len(source), batch, *size, channels, dtype=dtype)


def convolved(x, weight, source, shape):
    """One module a slot."""
    kernel, stride, dilation, channels, *_ = shape
    outputs = [
        conv2d(
            x[chosen].relu().permute(0, 3, 1, 2),
            taps.T.reshape(channels, 1, kernel, kernel),
            stride=stride,
            padding=dilation * (kernel - 1) // 2,
            dilation=dilation,
            groups=channels,
        ).permute(0, 2, 3, 1)
        for chosen, taps in zip(source, weight, strict=True)
    ]
    return torch.stack(outputs)


@pytest.mark.parametrize(
    ("shape", "strided"), [*((shape, False) for shape in SMALL), (SMALL[0], True), (SMALL[9], True)]
)
def test_twins_are_what_autograd_finds(sides, shape, strided):
    x, weight, gradient = (one.double() for one in drawn(sides, shape, SORTED, strided=strided))
    assert weight.is_contiguous() != strided
    x.requires_grad_()
    weight.requires_grad_()
    expected = convolved(x, weight, SORTED, shape)
    expected.backward(gradient)
    numbers = {"stride": shape[1], "dilation": shape[2]}
    index, first = sides.whole(*SORTED), firsts(sides, SORTED)
    given, taps = x.detach(), weight.detach()
    assert torch.allclose(sides.twin(forward, given, taps, index, **numbers), expected)
    before = torch.randn_like(given)
    for add in (False, True):
        into = sides.twin(input_gradient, gradient, taps, first, given, before, **numbers, add=add)
        assert torch.allclose(into, x.grad + before * add)
    found = sides.twin(weight_gradient, given, gradient, index, taps, **numbers)
    assert found.dtype == torch.float64
    assert torch.allclose(found, weight.grad)


class TestKernels:
    @pytest.mark.parametrize("shape", [*SHAPES, *LARGE])
    def test_outputs(self, sides, shape):
        x, weight, _ = drawn(sides, shape, MIXED)
        sides.compare(forward, x, weight, sides.whole(*MIXED), stride=shape[1], dilation=shape[2])

    @pytest.mark.parametrize("shape", [*SHAPES, *LARGE])
    def test_gradients_of_the_inputs(self, sides, shape):
        hold_input_gradient(sides, drawn(sides, shape, SORTED), shape, add=True)

    @pytest.mark.parametrize("shape", [*SHAPES, *LARGE])
    def test_gradients_of_the_weights(self, sides, shape):
        x, weight, gradient = drawn(sides, shape, MIXED)
        index, numbers = sides.whole(*MIXED), {"stride": shape[1], "dilation": shape[2]}
        sides.compare(weight_gradient, x, gradient, index, weight, **numbers)

    @pytest.mark.parametrize("shape", [SMALL[0], SMALL[9], *LARGE])
    def test_gradients_of_the_inputs_alone(self, sides, shape):
        hold_input_gradient(sides, drawn(sides, shape, SORTED), shape, add=False)

    @pytest.mark.parametrize("shape", [SMALL[0], SMALL[8], *LARGE])
    def test_weights_may_lie_as_modules_have_them(self, sides, shape):
        x, weight, gradient = given = drawn(sides, shape, SORTED, strided=True)
        index, numbers = sides.whole(*SORTED), {"stride": shape[1], "dilation": shape[2]}
        sides.compare(forward, x, weight, index, **numbers)
        hold_input_gradient(sides, given, shape, add=False)
        sides.compare(weight_gradient, x, gradient, index, weight, **numbers)


def hold_input_gradient(sides, given, shape, *, add, wide=False):
    x, weight, gradient = given
    before = torch.randn_like(x)
    sides.compare(
        input_gradient,
        gradient,
        weight,
        firsts(sides, SORTED),
        x,
        before.float() if wide else before,
        stride=shape[1],
        dilation=shape[2],
        add=add,
    )


@pytest.mark.parametrize("shape", [SMALL[0], SMALL[9], *LARGE])
class TestBfloat16:
    """Images in bfloat16, weights in float32: sums are made in float32, only results are rounded."""

    def test_outputs(self, sides, shape):
        x, weight, _ = drawn(sides, shape, SORTED, torch.bfloat16)
        index = sides.whole(*SORTED)
        sides.compare(forward, x, weight, index, stride=shape[1], dilation=shape[2])

    @pytest.mark.parametrize("wide", [False, True])
    def test_gradients_of_the_inputs(self, sides, shape, wide):
        x, weight, gradient = drawn(sides, shape, SORTED, torch.bfloat16)
        if sides.device == "cpu":
            x = x.relu()  # the interpreter takes a negative bfloat16 for a positive one
        hold_input_gradient(sides, (x, weight, gradient), shape, add=True, wide=wide)

    def test_gradients_of_the_weights(self, sides, shape):
        x, weight, gradient = drawn(sides, shape, SORTED, torch.bfloat16)
        given, numbers = (x, gradient, sides.whole(*SORTED), weight), {"stride": shape[1]}
        numbers["dilation"] = shape[2]
        assert sides.kernel(weight_gradient, *given, **numbers).dtype == torch.float32
        sides.compare(weight_gradient, *given, **numbers)


@pytest.mark.parametrize(("programs", "strided"), [(1, False), (6, True), (40, False)])
def test_shares_of_the_runs_add_up(sides, monkeypatch, programs, strided):
    """One share, two shares, and as many as the runs are worth."""
    monkeypatch.setattr(module, "PROGRAMS", programs)
    shape = (3, 1, 1, 40, 3, 9, 9)  # 81 runs in blocks of 16
    x, weight, gradient = drawn(sides, shape, (2,), strided=strided)
    sides.compare(weight_gradient, x, gradient, sides.whole(2), weight, stride=1, dilation=1)


@pytest.mark.parametrize("shape", [SMALL[0], SMALL[8]])
def test_what_is_not_a_number_passes_the_relu(sides, shape):
    """As it does in PyTorch, and touches no other outputs than there."""
    x, weight, gradient = drawn(sides, shape, SORTED)
    x[0, 0, 1, 0, 0] = torch.nan
    x[2, -1, -1, -1, -1] = torch.nan
    index, numbers = sides.whole(*SORTED), {"stride": shape[1], "dilation": shape[2]}
    expected = convolved(x, weight, SORTED, shape).isnan()
    assert expected.any()
    assert not expected.all()
    for side in (sides.kernel, sides.twin):
        assert torch.equal(side(forward, x, weight, index, **numbers).isnan(), expected)
    sides.compare(forward, x, weight, index, **numbers)
    # A run that is cut off multiplies pixels by 0, so more taps may be lost than in PyTorch.
    found = sides.kernel(weight_gradient, x, gradient, index, weight, **numbers).isnan()
    right = sides.twin(weight_gradient, x, gradient, index, weight, **numbers).isnan()
    assert right.any()
    assert torch.all(found | ~right)
    assert not found[:2, :, 1:].any()  # of input 0 the first channel alone


def test_nothing_infinite_flows_through_a_closed_gate(sides):
    x = torch.zeros(1, 1, 3, 3, 1, device=sides.device)
    gradient, weight = torch.full_like(x, torch.inf), torch.ones(1, 9, 1, device=sides.device)
    first, numbers = sides.whole(0, 1), {"stride": 1, "dilation": 1, "add": True}
    for side in (sides.kernel, sides.twin):
        for closed in (x, x - 1):
            assert not side(input_gradient, gradient, weight, first, closed, x, **numbers).any()


def test_two_launches_give_the_same_bits(sides):
    shape, numbers = SMALL[7], {"stride": 1, "dilation": 2}
    x, weight, gradient = drawn(sides, shape, SORTED)
    index, first = sides.whole(*SORTED), firsts(sides, SORTED)
    sides.repeat(forward, x, weight, index, **numbers)
    sides.repeat(input_gradient, gradient, weight, first, x, torch.randn_like(x), **numbers, add=True)
    sides.repeat(weight_gradient, x, gradient, index, weight, **numbers)


def test_results_go_where_they_are_wanted(sides):
    x, weight, gradient = drawn(sides, SMALL[0], SORTED)
    numbers = {"stride": 1, "dilation": 1}
    for side in (sides.kernel, sides.twin):
        out = torch.full_like(gradient, torch.nan)
        found = side(depthwise, x.to(out), weight, sides.whole(*SORTED), out=out, **numbers)
        assert found is out
        assert torch.isfinite(out).all()


@pytest.mark.parametrize("add", [False, True])
def test_no_slots_give_nothing(sides, add):
    x, weight, gradient = drawn(sides, SMALL[8], ())
    none, first = sides.whole(), firsts(sides, ())
    before, numbers = torch.randn_like(x), {"stride": 2, "dilation": 1}
    for side in (sides.kernel, sides.twin):
        assert side(forward, x, weight, none, **numbers).shape == gradient.shape
        into = side(input_gradient, gradient, weight, first, x, before, **numbers, add=add)
        assert torch.equal(into.float(), before * add)
        assert side(weight_gradient, x, gradient, none, weight, **numbers).shape == (0, 9, 16)
