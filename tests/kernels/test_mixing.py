"""Batch norm and weighted sum of experts: autograd against plain versions, those against kernels."""

import pytest
import torch
from kernel_cases import cases
from mixing_cases import (
    FIRST,
    NODES,
    SHAPES,
    SLOTS,
    SMALL,
    TARGETS,
    TERM_SLOTS,
    TERMS,
    drawn,
    gradient_of,
    mixed,
    products_of,
    types,
)
from torch.nn.functional import batch_norm

from xnas.kernels.mixing import Copies, mix
from xnas.kernels.moments import Moments, gather_moments


@pytest.mark.parametrize("shape", SMALL)
def test_plain_versions_are_what_autograd_finds(sides, shape):
    """Slots 0 to 2 have batch norms, slot 3 has none; the reward of a term is -G · f, its weight's."""
    pixels, channels = shape
    advice = sides.draw(SLOTS, pixels, channels).double().requires_grad_()
    weights = sides.draw(len(TERM_SLOTS)).double().requires_grad_()
    experts = [batch_norm(advice[slot], None, None, training=True) for slot in range(3)] + [advice[3]]
    nodes = [
        sum(
            weight * experts[slot]
            for weight, slot, target in zip(weights, TERM_SLOTS, TARGETS, strict=True)
            if target == node
        )
        for node in range(NODES)
    ]
    gradients = torch.randn(NODES, pixels, channels, dtype=torch.float64).to(sides.device)
    torch.stack(nodes).backward(gradients)

    given, known = advice.detach(), weights.detach()
    mean, scale = given.new_zeros(SLOTS, channels), given.new_ones(SLOTS, channels)
    sides.plain(gather_moments, given[:3], Moments(mean, scale).slots(slice(3)))
    for node, expected in enumerate(nodes):
        mine = [term for term, target in enumerate(TARGETS) if target == node]
        slots = sides.whole(*(TERM_SLOTS[term] for term in mine))
        assert torch.allclose(sides.plain(mixed, given, mean, scale, slots, known[mine]), expected)

    targets, slots = sides.whole(*TARGETS), sides.whole(*TERM_SLOTS)
    products = sides.plain(products_of, gradients, given, mean, scale, targets, slots)
    rewards = -products[:, 1].sum(-1)
    assert torch.allclose(rewards, -weights.grad)
    for held, chosen in ((True, (0, 1, 2)), (False, (3,))):
        begin, end = FIRST[chosen[0]], FIRST[chosen[-1] + 1]
        flown = sides.plain(
            gradient_of,
            gradients,
            given,
            mean,
            scale,
            sides.whole(*chosen),
            sides.whole(*(FIRST[slot] - begin for slot in (*chosen, chosen[-1] + 1))),
            sides.whole(*TERMS[begin:end]),
            targets,
            known,
            products,
            held=held,
        )
        assert torch.allclose(flown, advice.grad[list(chosen)], atol=1e-10)


class TestKernels:
    @cases(shape=SHAPES, slots=[(), (3,), (1, 0, 1, 3, 0)], narrow=SMALL[1])
    def test_mixtures(self, sides, shape, dtype, slots):
        _, *given = drawn(sides, shape, dtype)
        sides.compare(mixed, *given, sides.whole(*slots), sides.draw(len(slots)))


@pytest.mark.gpu  # the interpreter has one order
def test_two_launches_give_the_same_bits(sides):
    given, weights = drawn(sides, SMALL[2]), sides.draw(len(TERMS))
    slots, targets = sides.whole(*TERM_SLOTS), sides.whole(*TARGETS)
    sides.repeat(mixed, *given[1:], slots, weights)
    sides.repeat(products_of, *given, targets, slots)
    products = sides.kernel(products_of, *given, targets, slots)
    readers = sides.whole(0, 1, 2, 3), sides.whole(*FIRST), sides.whole(*TERMS)
    sides.repeat(gradient_of, *given, *readers, targets, weights, products, held=True)


def test_mixtures_are_stored_wider_than_their_advice(sides):
    _, advice, mean, scale = drawn(sides, (33, 5), torch.bfloat16)
    slots, weights = sides.whole(0, 3), sides.draw(2)

    def wide(*given):
        out = given[1].new_empty(33, 5)
        mix(given[0], Moments(*given[1:3]), *given[3:], out=out)
        return out

    assert sides.kernel(wide, advice, mean, scale, slots, weights).dtype == torch.float32
    sides.compare(wide, advice, mean, scale, slots, weights)


@types
def test_mixtures_go_to_several_places(sides, dtype):
    """The ReLU, and an image whose rows hold more than one node."""
    _, advice, mean, scale = drawn(sides, (33, 5), dtype)
    advice[0, 3, 2] = torch.nan

    def copied(advice, *given):
        out, active = torch.empty_like(advice[0]), torch.empty_like(advice[0])
        image = advice.new_zeros(33, 3, 5)
        copies = Copies(active, image[:, 1])
        mix(advice, Moments(*given[:2]), *given[2:], out=out, copies=copies)
        return out, active, image

    given = advice, mean, scale, sides.whole(0, 3, 2), sides.draw(3)
    sides.compare(copied, *given)
    for side in (sides.kernel, sides.plain):
        out, active, image = side(copied, *given)
        assert out.isnan().sum() == 1
        assert torch.equal(active.nan_to_num(-1), out.relu().nan_to_num(-1))
        assert torch.equal(image[:, 1].nan_to_num(), out.nan_to_num())
        assert not image[:, ::2].any()


def test_a_mean_of_a_thousand_leaves_its_deviation(sides):
    gradients, advice, mean, scale = drawn(sides, (100, 5))
    mean = torch.full_like(mean, 1000)
    slots = sides.whole(*TERM_SLOTS)
    sides.compare(mixed, advice + 1000, mean, scale, slots, sides.draw(len(slots)))
    sides.compare(products_of, gradients, advice + 1000, mean, scale, sides.whole(*TARGETS), slots)


def test_no_slots_give_nothing(sides):
    gradients, advice, mean, scale = drawn(sides, (8, 3))
    advice, mean, scale, none = advice[:0], mean[:0], scale[:0], sides.whole()

    def mixture(*given):
        out = given[0].new_full((8, 3), torch.nan)
        mix(given[0], Moments(*given[1:3]), *given[3:], out=out)
        return out

    for side in (sides.kernel, sides.plain):
        found = side(mixture, advice, mean, scale, none, mean[:0, 0])
        assert torch.equal(found, torch.zeros_like(found))
        products = side(products_of, gradients, advice, mean, scale, none, none)
        assert products.shape == (0, 2, 3)
        flown = side(
            gradient_of,
            gradients,
            advice,
            mean,
            scale,
            none,
            sides.whole(0),
            none,
            none,
            mean[:0, 0],
            products,
            held=True,
        )
        assert flown.shape == (0, 8, 3)
