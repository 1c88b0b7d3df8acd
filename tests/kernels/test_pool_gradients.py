"""Gradients of the inputs of pools: kernels against plain versions."""

import torch
from kernel_cases import cases
from pool_cases import (
    PLACES,
    largest,
    largest_gradient,
    size,
    strides,
)

from xnas.kernels.mixing_gradients import Readers
from xnas.kernels.pool_gradients import (
    Convolved,
    Passed,
    Pooled,
    average_pool_gradient,
    input_gradient,
    max_pool_gradient,
)


class TestTogether:
    """All gradients of an input: of its pools, of convolutions, and of nodes that take it as it is."""

    SHAPE = (3, 2, 7, 6, 5)

    def flown(self, gradient, flows, nodes, weights, before, *, places, taken, stride, add):
        apart = before.new_zeros(2, *before.shape)  # one input next to another, as nodes are
        into = apart.movedim(0, -2)[..., 1, :]
        into.copy_(before)
        device = before.device
        numbers = (0, 2, 2, 3), (2, 1, 0), (1, 0, 1), (0, 0, 2, 3)
        first, terms, targets, arrivals = (
            torch.tensor(row, dtype=torch.int32, device=device) for row in numbers
        )
        input_gradient(
            Pooled(gradient, taken, places),
            stride=stride,
            into=into,
            add=add,
            convolved=Convolved(flows, arrivals),
            passed=Passed(nodes.movedim(1, 0), targets, weights, Readers(terms, first, terms)),
        )
        assert not apart[0].any()
        return into.clone()

    @cases(places=PLACES, stride=[1, 2], add=[False, True])
    def test_all_gradients_are_added_up(self, sides, places, stride, add):
        x, places = sides.draw(*self.SHAPE), sides.whole(*places)
        slots = max(int(places.max()) + 1, 1)
        gradient = sides.draw(slots, *size(self.SHAPE, stride)[1:])
        taken = torch.stack([sides.plain(largest, one[None], stride=stride)[1][0] for one in x])
        pixels = self.SHAPE[1] * self.SHAPE[2] * self.SHAPE[3]
        given = (
            gradient,
            sides.draw(3, *self.SHAPE[1:]),
            sides.draw(pixels, 2, self.SHAPE[-1]),
            sides.draw(3),
            sides.draw(*self.SHAPE),
        )
        options = {"places": places, "taken": taken, "stride": stride, "add": add}
        sides.compare(self.flown, *given, **options)
        whole = sides.plain(self.flown, *given, **options)
        _, flows, nodes, weights, before = (one.double() for one in given)
        expected = before * add
        expected[1] += flows[0] + flows[1]
        expected[2] += flows[2]
        terms = [(0, 2, 1), (0, 1, 0), (2, 0, 1)]
        for index, term, target in terms:
            expected[index] += weights[term] * nodes[:, target].view(self.SHAPE[1:])
        for index, (most, mean) in enumerate(places.tolist()):
            one = expected[index : index + 1]
            if most >= 0:
                maxima = taken[index : index + 1]
                sides.plain(max_pool_gradient, gradient[most][None], maxima, stride=stride, into=one)
            if mean >= 0:
                sides.plain(average_pool_gradient, gradient[mean][None], stride=stride, into=one)
        assert torch.allclose(whole, expected)


@strides
def test_an_infinite_gradient_reaches_its_own_pixel_alone(sides, stride):
    x = sides.draw(1, 1, 5, 5, 2)
    gradient = torch.ones(size(x.shape, stride), device=x.device)
    gradient[0, 0, 1, 1] = torch.inf
    _, taken = sides.plain(largest, x, stride=stride)
    for side in (sides.kernel, sides.plain):
        into = side(largest_gradient, gradient, taken, torch.zeros_like(x), stride=stride)
        assert not into.isnan().any()
        assert int(into.isinf().sum()) == 2
