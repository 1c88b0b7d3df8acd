import copy
import io

import pytest
import torch
from torch import nn

from xnas import ConfigError, ExpertsOptimizer, Forecaster, split_parameters, uniform_mixture


class Times(nn.Module):
    def __init__(self, factor):
        super().__init__()
        self.factor = factor

    def forward(self, x):
        return self.factor * x


def three():
    return Forecaster({"one": Times(1.0), "ten": Times(10.0), "hundred": Times(100.0)})


def test_prediction_is_the_mixture_of_advice():
    forecaster = three()
    assert forecaster(torch.ones(2)).tolist() == pytest.approx([37.0, 37.0])
    assert forecaster(torch.ones(2), torch.tensor([0.5, 0.5, 0.0])).tolist() == [5.5, 5.5]


def test_a_mixture_per_sample_weighs_each_sample_by_its_row():
    forecaster = three()
    mixture = torch.tensor([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    out = forecaster(torch.ones(2, 3, 4), mixture)
    assert out[0].unique().tolist() == [1.0]
    assert out[1].unique().tolist() == [100.0]


def test_gradient_of_the_mixture_is_the_inner_product_with_advice():
    forecaster = Forecaster({"conv": nn.Conv2d(2, 2, 3, padding=1), "pool": nn.AvgPool2d(3, 1, 1)})
    x = torch.randn(2, 2, 5, 5)
    prediction = forecaster(x)
    prediction.retain_grad()
    prediction.sin().sum().backward()
    explicit = torch.stack([(prediction.grad * f(x)).sum() for f in forecaster.experts.values()])
    torch.testing.assert_close(forecaster.mixture.grad[0], explicit.detach(), rtol=1e-4, atol=1e-4)


def test_gradcheck_of_mixture_and_input():
    forecaster = Forecaster({"a": nn.Linear(3, 3), "b": nn.Tanh(), "c": nn.Identity()}).double()
    mixture = torch.rand(3, dtype=torch.float64).softmax(0).requires_grad_()
    x = torch.randn(4, 3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(forecaster, (x, mixture))


def test_a_wiped_expert_is_deleted_with_its_weights_and_its_time():
    forecaster = Forecaster({"a": nn.Linear(3, 3), "b": nn.Linear(3, 3), "c": nn.Identity()})
    forecaster.wipe(["a"])
    assert list(forecaster.experts) == ["b", "c"]
    assert {name for name, _ in forecaster.named_parameters()} == {
        "mixture",
        "experts.b.weight",
        "experts.b.bias",
    }
    assert "wiped: a" in repr(forecaster)


def test_deleting_an_expert_of_weight_zero_changes_no_prediction():
    forecaster = three()
    x, mixture = torch.randn(4, 2), torch.tensor([0.3, 0.0, 0.7])
    before = forecaster(x, mixture)
    forecaster.wipe("ten")
    assert torch.equal(forecaster(x, mixture), before)
    forecaster.wipe(["one"])
    torch.testing.assert_close(forecaster(x, mixture), 70 * x)


@pytest.mark.parametrize("mixture", [[0.3, 0.0, 0.7], [0.0, 0.0, 0.0]])
def test_evaluation_does_not_compute_experts_without_a_weight(mixture):
    forecaster, mixture = three(), torch.tensor(mixture)
    x = torch.randn(4, 2)
    asked = []
    for name, expert in forecaster.experts.items():
        expert.register_forward_hook(lambda *_, name=name: asked.append(name))
    with torch.no_grad():
        found = forecaster(x, mixture)
    assert asked == (["one", "hundred"] if mixture.any() else ["one"])  # one gives the shape of zeros
    assert torch.equal(found, forecaster(x, mixture))
    assert len(asked) == (5 if mixture.any() else 4)


def test_optimizer_and_forecaster_retire_experts_together():
    # The loss is the prediction: "one" is best, "hundred" loses 0.99 a round and cannot catch up after
    # round 40 of 60 (0.99 t > 2 (60 - t) from t = 41); "ten" is 0.09 a round behind and goes at the end.
    forecaster = three()
    optimizer = ExpertsOptimizer([forecaster.mixture], horizon=60)
    present = []
    for _ in range(60):
        optimizer.zero_grad()
        forecaster(torch.full((1,), 0.01)).sum().backward()
        optimizer.step()
        alive = optimizer.alive(forecaster.mixture)[0].tolist()
        gone = {name for name, lives in zip(forecaster.names, alive, strict=True) if not lives}
        forecaster.wipe(gone & set(forecaster.experts))
        present.append(len(forecaster.experts))
    assert present == [3] * 40 + [2] * 17 + [1] * 3
    assert forecaster(torch.ones(1)).tolist() == [1.0]


def test_forecasters_without_a_mixture_share_one():
    shared = uniform_mixture(2, 2)
    first, second = (Forecaster({"a": Times(1.0), "b": Times(2.0)}, own_mixture=False) for _ in range(2))
    assert list(first.parameters()) == []
    second(first(torch.ones(1), shared[0]), shared[1]).sum().backward()
    assert shared.grad.shape == (2, 2)
    with pytest.raises(ConfigError, match="built with own_mixture=False; pass forward a mixture"):
        first(torch.ones(1))


def test_a_forecaster_is_copied_and_saved_like_any_module():
    forecaster = Forecaster({"a": nn.Linear(3, 3), "b": nn.Identity()})
    forecaster.wipe("b")
    twin = copy.deepcopy(forecaster)
    x = torch.randn(2, 3)
    assert torch.equal(twin(x), forecaster(x))
    file = io.BytesIO()
    torch.save(forecaster.state_dict(), file)
    file.seek(0)
    twin.load_state_dict(torch.load(file, weights_only=True))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: Forecaster({}), "a forecaster needs at least one expert, got none"),
        (
            lambda: three().wipe(["two"]),
            "no living expert 'two' to wipe out; there are: one, ten, hundred",
        ),
        (lambda: three().wipe(["one", "ten", "hundred"]), "cannot wipe out all of one, ten, hundred"),
        (lambda: three()(torch.ones(2), torch.ones(2)), r"is \(3,\) or \(batch, 3\), got \(2,\)"),
        (lambda: three()(torch.ones(2), torch.ones(1, 1, 3)), r"got \(1, 1, 3\)"),
        (
            lambda: Forecaster({"a": nn.Linear(3, 1), "b": nn.Linear(3, 5)})(torch.ones(2, 3)),
            r"expert 'b' returns shape \(2, 5\), the experts before it \(2, 1\)",
        ),
        (lambda: uniform_mixture(0, 3), "at least 1 forecaster and 1 expert, got 0 and 3"),
        (lambda: uniform_mixture(3, 0), "got 3 and 0"),
        (lambda: uniform_mixture("a", 3), "got 'a' and 3; give whole numbers"),
        (lambda: uniform_mixture(1.5, 3), "got 1.5 and 3; give whole numbers"),
        (lambda: split_parameters(5), "a model is a torch.nn.Module, got 5; xnas.create_model builds"),
    ],
)
def test_bad_input_is_named(call, words):
    with pytest.raises(ConfigError, match=words):
        call()


def test_wiping_twice_is_an_error_and_deletes_nothing():
    forecaster = three()
    forecaster.wipe("one")
    with pytest.raises(ConfigError, match="no living expert 'one'"):
        forecaster.wipe(["ten", "one"])
    assert list(forecaster.experts) == ["ten", "hundred"]


def test_wiping_leaves_no_gradient_behind():
    forecaster = Forecaster({"a": nn.Linear(2, 2), "b": nn.Identity()})
    doomed = list(forecaster.experts["a"].parameters())
    forecaster(torch.ones(1, 2)).sum().backward()
    assert all(p.grad is not None for p in doomed)
    forecaster.wipe("a")
    assert all(p.grad is None for p in doomed)


def test_precision_does_not_depend_on_how_the_mixture_is_given():
    forecaster = Forecaster({"a": nn.Linear(2, 2), "b": nn.Linear(2, 2)})
    with torch.autocast("cpu", dtype=torch.bfloat16):
        own = forecaster(torch.ones(3, 2))
        row = forecaster(torch.ones(3, 2), forecaster.mixture[0])
    assert own.dtype == row.dtype == torch.bfloat16
    assert torch.equal(own, row)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: three()(torch.ones(1, 2), torch.ones(5, 3)), r"got \(5, 3\) for a batch of 1"),
        (lambda: three()(torch.ones(1, 2), torch.ones(())), r"got \(\) for a batch of 1"),
        (lambda: Forecaster({"a.b": nn.Identity()}), "an expert's name or module cannot be used"),
        (lambda: Forecaster({"keys": nn.Identity()}), "an expert's name or module cannot be used"),
        (lambda: Forecaster({"a": "relu"}), "an expert's name or module cannot be used"),
    ],
)
def test_mixtures_and_experts_that_do_not_fit_are_named(call, words):
    with pytest.raises(ConfigError, match=words):
        call()
