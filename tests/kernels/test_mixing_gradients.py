"""Backward kernels of weighted sums of experts against their plain versions."""

import pytest
import torch
from kernel_cases import cases
from mixing_cases import (
    FIRST,
    SHAPES,
    SMALL,
    TARGETS,
    TERM_SLOTS,
    TERMS,
    drawn,
    gradient_of,
    products_of,
    types,
)

from xnas.kernels import mixing_gradients


class TestKernels:
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
