"""Batch norm and weighted sum of experts: twins against autograd, kernels against twins."""

import pytest
import torch
from kernel_cases import cases
from torch.nn.functional import batch_norm

from xnas.kernels import mixing_gradients
from xnas.kernels.mixing import Copies, mix
from xnas.kernels.mixing_gradients import Readers, advice_gradient, term_products
from xnas.kernels.moments import Moments, gather_moments

SLOTS, NODES = 4, 3
# Uneven terms: slot 0 goes into two nodes, slot 1 into all of them, slot 2 into none, slot 3 into one.
TERM_SLOTS = (1, 0, 1, 3, 0, 1)
TARGETS = (0, 0, 1, 1, 2, 2)
TERMS = (1, 4, 0, 2, 5, 3)  # by slot
FIRST = (0, 2, 5, 5, 6)

# pixels, channels
SMALL = [(3, 1), (700, 3), (130, 16), (33, 40), (140, 70)]
SHAPES = [
    *SMALL,
    pytest.param((500, 70), marks=pytest.mark.slow),
    *(pytest.param(shape, marks=pytest.mark.gpu) for shape in [(98304, 16), (24577, 72), (6144, 144)]),
]
types = pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])


def mixed(advice, mean, scale, slots, weights):
    out = torch.empty_like(advice[0])
    mix(advice, Moments(mean, scale), slots, weights, out=out)
    return out


def products_of(gradients, advice, mean, scale, targets, slots):  # noqa: PLR0917
    """Of terms that are sorted by their node."""
    out = mean.new_empty(len(slots), 2, mean.shape[1])
    for node, gradient in enumerate(gradients):
        mine = slice(int((targets < node).sum()), int((targets <= node).sum()))
        moments = Moments(mean, scale)
        term_products(gradient, advice, moments, slots=slots[mine], out=out[mine])
    return out


def gradient_of(  # noqa: PLR0917
    gradients, advice, mean, scale, slots, first, terms, targets, weights, products, *, held
):
    out = advice.new_empty(len(slots), *advice.shape[1:])
    advice_gradient(
        gradients,
        advice,
        Moments(mean, scale),
        Readers(slots, first, terms),
        targets=targets,
        weights=weights,
        products=products,
        held=held,
        out=out,
    )
    return out


def drawn(sides, shape, dtype=torch.float32):
    """Gradients of nodes, advice, and moments that need not be its own."""
    pixels, channels = shape
    return (
        sides.draw(NODES, pixels, channels, dtype=dtype),
        sides.draw(SLOTS, pixels, channels, dtype=dtype),
        sides.draw(SLOTS, channels),
        sides.draw(SLOTS, channels).abs() + 0.5,
    )


@pytest.mark.parametrize("shape", SMALL)
def test_twins_are_what_autograd_finds(sides, shape):
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
    sides.twin(gather_moments, given[:3], Moments(mean, scale).slots(slice(3)))
    for node, expected in enumerate(nodes):
        mine = [term for term, target in enumerate(TARGETS) if target == node]
        slots = sides.whole(*(TERM_SLOTS[term] for term in mine))
        assert torch.allclose(sides.twin(mixed, given, mean, scale, slots, known[mine]), expected)

    targets, slots = sides.whole(*TARGETS), sides.whole(*TERM_SLOTS)
    products = sides.twin(products_of, gradients, given, mean, scale, targets, slots)
    rewards = -products[:, 1].sum(-1)
    assert torch.allclose(rewards, -weights.grad)
    for held, chosen in ((True, (0, 1, 2)), (False, (3,))):
        begin, end = FIRST[chosen[0]], FIRST[chosen[-1] + 1]
        flown = sides.twin(
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

    @cases(shape=SHAPES, targets=[TARGETS, (1,) * 6], narrow=SMALL[1])  # 6 are more than go together
    def test_inner_products(self, sides, shape, dtype, targets):
        given = drawn(sides, shape, dtype)
        targets, slots = sides.whole(*targets), sides.whole(*TERM_SLOTS)
        assert sides.kernel(products_of, *given, targets, slots).dtype == torch.float32
        sides.compare(products_of, *given, targets, slots)

    @cases(shape=SHAPES, held=[False, True], narrow=SMALL[1])
    def test_gradients_of_the_advice(self, sides, shape, dtype, held):
        """Of slots in any order, each of them with its terms."""
        chosen = sides.whole(1, 0, 2, 3)
        first, terms = sides.whole(0, 3, 5, 5, 6), sides.whole(0, 2, 5, 1, 4, 3)
        weights = sides.draw(len(TERMS))
        products = sides.draw(len(TERMS), 2, shape[1]) * shape[0] ** 0.5
        sides.compare(
            gradient_of,
            *drawn(sides, shape, dtype),
            chosen,
            first,
            terms,
            sides.whole(*TARGETS),
            weights,
            products,
            held=held,
        )


@pytest.mark.parametrize(
    "shape", [(700, 3), *(pytest.param(shape, marks=pytest.mark.gpu) for shape in [(133, 40), (60, 72)])]
)
def test_a_program_takes_many_blocks(sides, monkeypatch, shape):
    """Unequal shares: some programs have a block more than others, and the last block is not full."""
    monkeypatch.setattr(mixing_gradients, "BLOCK", 512)
    monkeypatch.setattr(mixing_gradients, "PROGRAMS", 18)
    monkeypatch.setattr(mixing_gradients, "SUMS_PROGRAMS", 18)
    given, targets = drawn(sides, shape, torch.bfloat16), sides.whole(*TARGETS)
    sides.compare(products_of, *given, targets, sides.whole(*TERM_SLOTS))
    weights, products = sides.draw(len(TERMS)), sides.draw(len(TERMS), 2, shape[1])
    readers = sides.whole(0, 1, 2, 3), sides.whole(*FIRST), sides.whole(*TERMS)
    sides.compare(gradient_of, *given, *readers, targets, weights, products, held=True)


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
    for side in (sides.kernel, sides.twin):
        out, active, image = side(copied, *given)
        assert out.isnan().sum() == 1
        assert torch.equal(active.nan_to_num(-1), out.relu().nan_to_num(-1))
        assert torch.equal(image[:, 1].nan_to_num(), out.nan_to_num())
        assert not image[:, ::2].any()


@pytest.mark.parametrize("held", [False, True])
def test_gradients_of_nodes_may_lie_side_by_side(sides, held):
    gradients, *given = drawn(sides, SMALL[3])
    tables = sides.whole(0, 1, 2, 3), sides.whole(*FIRST), sides.whole(*TERMS), sides.whole(*TARGETS)
    products = sides.draw(len(TERMS), 2, SMALL[3][1])
    more = *given, *tables, sides.draw(len(TERMS)), products
    apart = gradients.transpose(0, 1).contiguous().transpose(0, 1)
    assert not apart.is_contiguous()
    found = sides.kernel(gradient_of, apart, *more, held=held)
    assert torch.equal(found, sides.kernel(gradient_of, gradients, *more, held=held))


@types
def test_gradients_may_begin_anywhere(sides, dtype):
    """Some of the channels of an image, as a concatenation hands them back."""
    _, *given = drawn(sides, (33, 12), dtype)
    image = sides.draw(33, 3 * 14, dtype=dtype)
    tables = sides.whole(0, 0, 0), sides.whole(1, 0, 3)
    for begin in (0, 1, 2, 4, 8, 14):
        part = image[None, :, begin : begin + 12]
        found = sides.kernel(products_of, part, *given, *tables)
        assert torch.equal(found, sides.kernel(products_of, part.contiguous(), *given, *tables))


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

    for side in (sides.kernel, sides.twin):
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
