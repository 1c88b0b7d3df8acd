"""States side by side, and gradients added up: kernels against plain versions."""

import torch
from kernel_cases import cases

from xnas.kernels.states import join, total

SHAPES = [(1, 1), (700, 3), (33, 36), (130, 40), (9, 131)]


@cases(shape=SHAPES, count=[1, 2, 4, 6], narrow=(33, 36))
def test_states_side_by_side(sides, shape, count, dtype):
    states = [sides.draw(*shape, dtype=dtype) for _ in range(count)]
    assert torch.equal(sides.kernel(join, states), torch.cat(states, 1))
    assert torch.equal(sides.plain(join, states), torch.cat(states, 1))


@cases(shape=SHAPES, count=[1, 2, 3, 4, 5, 9], narrow=(33, 36))
def test_a_sum_of_gradients_some_of_which_are_channels_of_wider_rows(sides, shape, count, dtype):
    def function(*gradients):
        pixels, channels = shape
        wide = gradients[0].new_full((pixels, 3 * channels), torch.nan)
        wide[:, channels : 2 * channels] = gradients[0]
        return total([*gradients[1:], wide[:, channels : 2 * channels]]).clone()

    gradients = [sides.draw(*shape, dtype=dtype) for _ in range(count)]
    if count <= 4:  # more of them are rounded in between
        sides.compare(function, *gradients)
    found, expected = sides.kernel(function, *gradients), torch.stack(gradients).double().sum(0)
    assert torch.allclose(found.double(), expected, atol=0.2 if dtype == torch.bfloat16 else 1e-5)


def test_what_is_not_a_number_stays_so(sides):
    gradients = [sides.draw(40, 3) for _ in range(3)]
    gradients[1][7, 2] = torch.nan
    for side in (sides.kernel, sides.plain):
        found = side(total, gradients)
        assert found[7, 2].isnan()
        assert int(found.isnan().sum()) == 1
        assert side(join, gradients)[7, 5].isnan()
