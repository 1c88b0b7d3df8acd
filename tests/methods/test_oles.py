"""OLES: both cosines, and operations that stand still."""

from functools import partial

import pytest
import torch
from method_games import build, game

from xnas import uniform_mixture
from xnas.methods.oles import Overfitting, oles, plain_cosine, published_cosine
from xnas.methods.passes import Seen

G_T, G_V = torch.tensor([0.3, -0.1, 0.2]), torch.tensor([0.1, 0.2, 0.1])


def test_the_two_cosines_lie_on_either_side_of_the_threshold():
    _, method = build("oles")
    assert float(method.cosine([(G_T, G_V)])) == pytest.approx(0.327327, abs=6e-7)
    method.published = True
    assert float(method.cosine([(G_T, G_V)])) == pytest.approx(0.891042, abs=6e-7)
    assert float(published_cosine(G_T, G_V)) == pytest.approx(0.891042, abs=6e-7)


def test_the_plain_cosine_is_over_all_weights_of_an_operation():
    _, method = build("oles")
    pairs = [(G_T[:1], G_V[:1]), (G_T[1:].reshape(2, 1), G_V[1:].reshape(2, 1))]
    assert float(method.cosine(pairs)) == pytest.approx(0.327327, abs=6e-7)
    assert [float(x) for x in plain_cosine(G_T, G_T)] == pytest.approx([0.14] * 3)


def test_a_variant_has_the_published_cosine_and_another_threshold():
    mixtures = {"normal": uniform_mixture(4, 5)}
    plain, published = oles(mixtures, game()), partial(oles, published=True)(mixtures, game())
    assert (plain.published, plain.threshold, published.published) == (False, 0.4, True)
    assert float(published.cosine([(G_T, G_V)])) == pytest.approx(0.891042, abs=6e-7)
    assert oles(mixtures, game(), threshold=0.1).threshold == 0.1


class Passes:
    """Two operations: the gradients of the first agree, those of the second point apart."""

    def __init__(self):
        self.weights = [torch.nn.Parameter(torch.ones(3)) for _ in range(2)]
        self.places = [("normal", 0, 0, 0), ("normal", 1, 0, 1)]

    def see(self, half, weights=None, *, by):  # noqa: ARG002
        assert (half, by) == ("valid", "both")
        return Seen(
            loss=torch.zeros(()),
            accuracy=torch.zeros(()),
            mixtures={"normal": torch.zeros(2, 4, 5)},
            weights=[G_T, -G_T],
        )

    def step(self, method):
        """A round: gradients, the correction, a step of the weights, the architecture step."""
        for weight in self.weights:
            weight.grad = G_T.clone()
        method.correct(None, self)
        with torch.no_grad():
            for weight in self.weights:
                weight.sub_(0.1)
        method.learn(self)


@pytest.mark.parametrize(("published", "rounds"), [(False, 20), (True, 21)])
def test_what_disagrees_is_frozen_after_its_rounds_and_stands_still(published, rounds):
    mixtures = {"normal": uniform_mixture(4, 5)}
    method = Overfitting("oles", mixtures, game(replications={"normal": 2}), published=published)
    passes = Passes()
    for _ in range(rounds - 1):
        passes.step(method)
    assert method.frozen["normal"].sum() == 0
    passes.step(method)
    assert method.frozen["normal"].nonzero().tolist() == [[1, 0, 1]]
    free, frozen = (w.detach().clone() for w in passes.weights)
    for _ in range(3):
        passes.step(method)
    assert torch.equal(passes.weights[1].detach(), frozen)
    torch.testing.assert_close(passes.weights[0].detach(), free - 0.3)


def test_the_published_form_divides_21_values_by_20():
    mixtures = {"normal": uniform_mixture(4, 5)}
    method = Overfitting(
        "oles", mixtures, game(replications={"normal": 2}), published=True, threshold=1.0
    )
    passes = Passes()
    for _ in range(21):
        passes.step(method)
    # g_t with itself: cosines of 1, so 21/20 is not below 1; the other's g_t + g_v is 0
    assert method.frozen["normal"].nonzero().tolist() == [[1, 0, 1]]
