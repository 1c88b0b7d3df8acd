"""ReLU and depthwise convolutions: autograd against plain versions, those against kernels."""

import pytest
import torch
from depthwise_cases import (
    INPUTS,
    LARGE,
    LONG,
    MIXED,
    SHAPES,
    SMALL,
    SORTED,
    drawn,
    numbers_of,
    weight_gradient,
)
from torch.nn.functional import conv2d

from xnas.kernels.depthwise import depthwise, depthwise_input_gradient
from xnas.kernels.depthwise_plan import plan_of


def forward(x, *weights, plan, stride, relu=True):
    return depthwise(x, weights, plan, stride=stride, relu=relu)


def input_gradient(gradient, x, *weights, plan, stride, relu=True):
    into = x.new_full((len(plan.groups), *x.shape[1:]), torch.nan)
    gate = x if relu else None
    depthwise_input_gradient(gradient, weights, plan, gate, stride=stride, into=into)
    return into


def wide_gradient(gradient, x, *weights, plan, stride):
    into = weights[0].new_empty(len(plan.groups), *x.shape[1:])
    depthwise_input_gradient(gradient, weights, plan, x, stride=stride, into=into)
    return into


def convolved(x, weight, source, shape):
    """One module a slot."""
    kernel, (*_, channels), stride, dilation = shape
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


def summed(plan, flows):
    """What flows back to every input."""
    total = flows.new_zeros(INPUTS, *flows.shape[1:])
    for (source, _), flow in zip(plan.groups, flows, strict=True):
        total[source] += flow
    return total


@pytest.mark.parametrize(
    ("shape", "strided"), [*((shape, False) for shape in SMALL), (SMALL[0], True), (SMALL[10], True)]
)
def test_plain_versions_are_what_autograd_finds(sides, shape, strided):
    x, weight, gradient = (one.double() for one in drawn(sides, shape, SORTED, strided=strided))
    assert weight.is_contiguous() != strided
    x.requires_grad_()
    weight.requires_grad_()
    expected = convolved(x, weight, SORTED, shape)
    expected.backward(gradient)
    numbers = numbers_of(sides, shape, SORTED)
    given, taps = x.detach(), weight.detach()
    for one in (given, given.relu()):
        into = sides.plain(input_gradient, gradient, one, taps, **numbers)
        assert torch.allclose(summed(numbers["plan"], into), x.grad)
    for one, relu in ((given, True), (given.relu(), False)):
        assert torch.allclose(sides.plain(forward, one, taps, **numbers, relu=relu), expected)
        (found,) = sides.plain(weight_gradient, one, gradient, taps, **numbers, relu=relu)
        assert found.dtype == torch.float64
        assert torch.allclose(found, weight.grad)


class TestKernels:
    @pytest.mark.parametrize("shape", [*SHAPES, *LARGE])
    def test_outputs(self, sides, shape):
        x, weight, _ = drawn(sides, shape, MIXED)
        sides.compare(forward, x, weight, **numbers_of(sides, shape, MIXED))

    @pytest.mark.parametrize("shape", [*SHAPES, *LARGE])
    def test_gradients_of_the_inputs(self, sides, shape):
        x, weight, gradient = drawn(sides, shape, MIXED)
        sides.compare(input_gradient, gradient, x, weight, **numbers_of(sides, shape, MIXED))

    @pytest.mark.parametrize("shape", [SMALL[0], SMALL[9], *LARGE])
    def test_weights_may_lie_as_modules_have_them(self, sides, shape):
        x, weight, gradient = drawn(sides, shape, SORTED, strided=True)
        numbers = numbers_of(sides, shape, SORTED)
        sides.compare(forward, x, weight, **numbers)
        sides.compare(input_gradient, gradient, x, weight, **numbers)
        sides.compare(weight_gradient, x, gradient, weight, **numbers)


# input, side, dilation: of two inputs, in no order; the last input is not read
TOGETHER = [(1, 3, 1), (0, 3, 1), (0, 5, 1), (1, 5, 1), (0, 3, 2), (1, 3, 2), (1, 5, 2), (0, 5, 1)]
SEVEN = [(0, 3, 1), (2, 7, 1), (0, 5, 2), (2, 7, 1), (0, 7, 2)]
APART = [(slot, side, 1) for slot, side in enumerate((3, 3, 5))]  # every slot reads its own


@pytest.mark.parametrize(
    "rows", [TOGETHER, pytest.param(SEVEN, marks=pytest.mark.slow), APART, [(2, 5, 2)]], ids=len
)
class TestTogether:
    """Convolutions of all sides and dilations in one launch."""

    def given(self, sides, rows, stride, size, dtype=torch.float32):
        x = sides.draw(3, 2, *size, 5, dtype=dtype)
        kernels = sorted({side for _, side, _ in rows})
        counts = [sum(one == side for _, one, _ in rows) for side in kernels]
        weights = [
            sides.draw(count, side * side, 5) for count, side in zip(counts, kernels, strict=True)
        ]
        outputs = [-(-number // stride) for number in size]
        plan = plan_of(rows, inputs=3, device=torch.device(sides.device))
        gradient = sides.draw(len(rows), 2, *outputs, 5, dtype=dtype)
        return x, weights, gradient, {"plan": plan, "stride": stride}

    @pytest.mark.parametrize(("stride", "size"), [(1, (5, 9)), (2, (6, 5))])
    def test_kernels_equal_their_plain_versions(self, sides, rows, stride, size):
        x, weights, gradient, numbers = self.given(sides, rows, stride, size)
        for relu in (False, True) if sides.device == "cuda" else (stride == 1,):
            sides.compare(forward, x, *weights, **numbers, relu=relu)
            sides.compare(weight_gradient, x, gradient, *weights, **numbers, relu=relu)
        sides.compare(input_gradient, gradient, x, *weights, **numbers)

    @pytest.mark.gpu
    @pytest.mark.parametrize("stride", [1, 2])
    def test_in_16_bits(self, sides, rows, stride):
        x, weights, gradient, numbers = self.given(sides, rows, stride, (32, 32), torch.bfloat16)
        sides.compare(forward, x, *weights, **numbers)
        sides.compare(weight_gradient, x, gradient, *weights, **numbers)
        sides.compare(wide_gradient, gradient, x, *weights, **numbers)

    def test_plain_versions_are_those_of_one_slot_after_another(self, sides, rows):
        x, weights, gradient, numbers = self.given(sides, rows, 1, (5, 4))
        plan, left = numbers["plan"], [list(weight) for weight in weights]
        outputs = sides.plain(forward, x, *weights, **numbers)
        flows = sides.plain(input_gradient, gradient, x, *weights, **numbers)
        found = sides.plain(weight_gradient, x, gradient, *weights, **numbers)
        of_weights = [list(one) for one in found]
        total = torch.zeros_like(x).double()
        for slot, row in enumerate(rows):
            place = plan.sides.index(row[1])
            weight = left[place].pop(0)[None]
            alone = {"plan": plan_of([row], inputs=3, device=x.device), "stride": 1}
            assert torch.allclose(sides.plain(forward, x, weight, **alone)[0], outputs[slot])
            mine = gradient[slot][None]
            (flow,) = sides.plain(input_gradient, mine, x, weight, **alone)
            total[row[0]] += flow
            (one,) = sides.plain(weight_gradient, x, mine, weight, **alone)
            assert torch.allclose(one[0], of_weights[place].pop(0))
        arrivals = plan.arrivals.tolist()
        for index in range(3):
            assert torch.allclose(flows[arrivals[index] : arrivals[index + 1]].sum(0), total[index])
        assert arrivals[-1] == len(plan.groups)


@pytest.mark.parametrize(
    "shape",
    [
        LONG[2],  # channels in pairs, and runs of 8 pixels
        *(pytest.param(s, marks=pytest.mark.gpu) for s in (SMALL[0], SMALL[1], SMALL[9], *LONG[:2])),
        *LARGE,
    ],
)
class TestBfloat16:
    """Images in bfloat16, weights in float32: sums are made in float32, only results are rounded."""

    def test_outputs(self, sides, shape):
        x, weight, _ = drawn(sides, shape, SORTED, torch.bfloat16)
        sides.compare(forward, x, weight, **numbers_of(sides, shape, SORTED))

    @pytest.mark.parametrize("function", [input_gradient, wide_gradient])
    def test_gradients_of_the_inputs(self, sides, shape, function):
        x, weight, gradient = drawn(sides, shape, SORTED, torch.bfloat16)
        if sides.device == "cpu":
            x = x.relu()  # the interpreter takes a negative bfloat16 for a positive one
        sides.compare(function, gradient, x, weight, **numbers_of(sides, shape, SORTED))

    @pytest.mark.slow
    def test_gradients_of_the_weights(self, sides, shape):
        x, weight, gradient = drawn(sides, shape, SORTED, torch.bfloat16)
        numbers = numbers_of(sides, shape, SORTED)
        (found,) = sides.kernel(weight_gradient, x, gradient, weight, **numbers)
        assert found.dtype == torch.float32
        sides.compare(weight_gradient, x, gradient, weight, **numbers)


@pytest.mark.parametrize("shape", [SMALL[0], SMALL[9]])
def test_what_is_not_a_number_passes_the_relu(sides, shape):
    """As it does in PyTorch, and touches no other outputs than there."""
    x, weight, gradient = drawn(sides, shape, SORTED)
    x[0, 0, 1, 0, 0] = torch.nan
    x[2, -1, -1, -1, -1] = torch.nan
    numbers = numbers_of(sides, shape, SORTED)
    expected = convolved(x, weight, SORTED, shape).isnan()
    assert expected.any()
    assert not expected.all()
    for side in (sides.kernel, sides.plain):
        assert torch.equal(side(forward, x, weight, **numbers).isnan(), expected)
    sides.compare(forward, x, weight, **numbers)
    # A run that is cut off multiplies pixels by 0, so more taps may be lost than in PyTorch.
    found = sides.kernel(weight_gradient, x, gradient, weight, **numbers)[0].isnan()
    right = sides.plain(weight_gradient, x, gradient, weight, **numbers)[0].isnan()
    assert right.any()
    assert torch.all(found | ~right)
    assert not found[:2, :, 1:].any()  # of input 0 the first channel alone


@pytest.mark.parametrize("stride", [1, 2])
def test_slots_with_inputs_of_their_own_need_no_groups(sides, stride):
    rows = [(slot, side, dilation) for slot, (side, dilation) in enumerate([(3, 1), (5, 2), (3, 2)])]
    x = sides.draw(3, 2, 5, 6, 4)
    weights = [sides.draw(2, 9, 4), sides.draw(1, 25, 4)]
    gradient = sides.draw(3, 2, -(-5 // stride), 6 // stride, 4)
    plan = plan_of(rows, inputs=3, device=x.device, alone=True)
    for relu in (False, True):
        sides.compare(input_gradient, gradient, x, *weights, plan=plan, stride=stride, relu=relu)


def test_nothing_infinite_flows_through_a_closed_gate(sides):
    x = torch.zeros(1, 1, 3, 3, 1, device=sides.device)
    gradient, weight = torch.full_like(x, torch.inf), torch.ones(1, 9, 1, device=sides.device)
    numbers = {"plan": plan_of([(0, 3, 1)], inputs=1, device=x.device), "stride": 1}
    for side in (sides.kernel, sides.plain):
        for closed in (x, x - 1):
            assert not side(input_gradient, gradient, closed, weight, **numbers).any()


@pytest.mark.parametrize("shape", [SMALL[9], LONG[0]])
def test_without_a_relu_everything_flows_back(sides, shape):
    x, weight, gradient = drawn(sides, shape, MIXED)
    numbers = numbers_of(sides, shape, MIXED)
    sides.compare(input_gradient, gradient, x, weight, **numbers, relu=False)
    for side in (sides.kernel, sides.plain):
        free = side(input_gradient, gradient, x, weight, **numbers, relu=False)
        assert torch.equal(free, side(input_gradient, gradient, x.exp(), weight, **numbers))


@pytest.mark.gpu  # the interpreter has one order
def test_two_launches_give_the_same_bits(sides):
    x, weight, gradient = drawn(sides, SMALL[7], SORTED)
    numbers = numbers_of(sides, SMALL[7], SORTED)
    sides.repeat(forward, x, weight, **numbers)
    sides.repeat(input_gradient, gradient, x, weight, **numbers)
    sides.repeat(weight_gradient, x, gradient, weight, **numbers)


def test_results_go_where_they_are_wanted(sides):
    x, weight, gradient = drawn(sides, SMALL[0], SORTED)
    numbers = numbers_of(sides, SMALL[0], SORTED)
    plan, stride = numbers["plan"], numbers["stride"]
    for side in (sides.kernel, sides.plain):
        out = torch.full_like(gradient, torch.nan)
        found = side(depthwise, x.to(out), [weight], plan, stride=stride, relu=True, out=out)
        assert found is out
        assert torch.isfinite(out).all()


def test_no_slots_give_nothing(sides):
    x, _, gradient = drawn(sides, SMALL[9], ())
    numbers = numbers_of(sides, SMALL[9], ())
    for side in (sides.kernel, sides.plain):
        assert side(forward, x, **numbers).shape == gradient.shape
        assert side(input_gradient, gradient, x, **numbers).shape == (0, *x.shape[1:])
        assert side(weight_gradient, x, gradient, **numbers) == ()
    assert not numbers["plan"].arrivals.any()
