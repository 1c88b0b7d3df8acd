"""NAO's model: its gradient, its steps, and that all it decodes is legal."""

import math
from random import Random

import pytest
import torch

from xnas.samplers.latent_model import LatentModel, swaps_of, tokens_of
from xnas.samplers.seeded import seeded
from xnas.space import encoding_of


def model(encoding, seed=0, hidden=8):
    generator = torch.Generator().manual_seed(seed)
    return seeded(
        lambda: LatentModel(tokens_of(encoding), embedding=5, hidden=hidden), generator, bound=0.5
    )


def drawn(encoding, number, seed=0):
    draw = Random(seed)
    return torch.tensor([encoding.draw(draw) for _ in range(number)])


def test_the_gradient_by_the_outputs_equals_finite_differences():
    encoding = encoding_of("nasbench201")
    made = model(encoding)
    outputs = made.outputs(drawn(encoding, 2)).detach().requires_grad_()
    assert torch.autograd.gradcheck(made.predicted, outputs)


def test_a_small_step_raises_the_prediction_and_none_leaves_the_outputs():
    encoding = encoding_of("darts")
    made = model(encoding)
    outputs = made.outputs(drawn(encoding, 20)).detach()
    torch.testing.assert_close(made.moved(outputs, 0), outputs)
    assert (made.predicted(made.moved(outputs, 0.01)) > made.predicted(outputs)).all()


def test_outputs_and_codes_lie_on_the_sphere():
    encoding = encoding_of("nasbench201")
    made = model(encoding)
    outputs = made.outputs(drawn(encoding, 3))
    moved = made.moved(outputs, 5.0)
    for vectors in (outputs, made.code(outputs), moved):
        torch.testing.assert_close(vectors.norm(dim=-1), torch.ones(vectors.shape[:-1]).double())


@pytest.mark.parametrize("space", ["nasbench201", "darts", "nasnet"])
def test_random_weights_decode_to_legal_cells(space):
    encoding = encoding_of(space)
    for seed in range(5):
        made = model(encoding, seed)
        noise = torch.randn(
            10, len(encoding.positions), 8, generator=torch.Generator().manual_seed(seed)
        )
        for choices in made.decode(torch.nn.functional.normalize(noise.double(), dim=-1)).tolist():
            assert encoding.decode(choices).space == space


def test_the_likelihood_is_a_distribution_over_all_cells():
    encoding = encoding_of("nasbench201")
    made = model(encoding)
    everything = torch.cartesian_prod(*[torch.arange(5)] * 6)
    outputs = made.outputs(drawn(encoding, 1)).expand(len(everything), -1, -1)
    with torch.no_grad():
        logs = 6 * made.log_likelihood(outputs, everything)  # a mean over six positions
    assert logs.exp().sum().item() == pytest.approx(1, abs=1e-9)
    assert math.isfinite(logs.min().item())


def test_equal_choices_share_a_token():
    tokens = tokens_of(encoding_of("nasbench201"))
    assert tokens == [[0, 1, 2, 3, 4]] * 6
    nasnet = tokens_of(encoding_of("nasnet"))
    assert len({token for own in nasnet for token in own}) == 6 + 8  # states and operations
    assert nasnet[4][:2] == nasnet[0]  # states 0 and 1, of the second block and of the first


def test_swaps_exchange_the_edges_of_one_node():
    assert swaps_of(encoding_of("nasbench201")) == swaps_of(encoding_of("darts")) == []
    encoding = encoding_of("nasnet")
    swaps, cell = swaps_of(encoding), encoding.draw(Random(3))
    assert len(swaps) == 10
    assert swaps[0][:5] == [2, 3, 0, 1, 4]
    for order in swaps:
        assert encoding.canonical([cell[at] for at in order]) == cell
