"""Parameters split into weights and mixtures."""

import copy

import pytest
import torch
from torch import nn

from xnas import ConfigError, Forecaster, split_parameters, uniform_mixture


class Supernet(nn.Module):
    mixture_parameters = ("mixture",)

    def __init__(self):
        super().__init__()
        self.mixture = uniform_mixture(2, 2)
        self.cells = nn.ModuleList(
            Forecaster({"a": nn.Linear(2, 2), "b": nn.Identity()}, own_mixture=False) for _ in range(2)
        )
        self.head = Forecaster({"x": nn.Linear(2, 2), "y": nn.Linear(2, 2)})


def test_parameters_are_split_without_loss_or_leak():
    model = Supernet()
    weights, mixtures = split_parameters(model)
    assert {id(p) for p in mixtures} == {id(model.mixture), id(model.head.mixture)}
    assert not {id(p) for p in weights} & {id(p) for p in mixtures}
    assert len(weights) + len(mixtures) == len(list(model.parameters()))


def test_the_split_survives_copying():
    weights, mixtures = split_parameters(copy.deepcopy(Supernet()))
    assert (len(weights), len(mixtures)) == (8, 2)


def test_a_plain_network_has_no_mixtures():
    assert split_parameters(nn.Linear(2, 2))[1] == []


def test_a_misspelt_mixture_is_named():
    model = Supernet()
    model.mixture_parameters = ("mixtures",)
    with pytest.raises(ConfigError, match="names 'mixtures', but the module has nothing of that name"):
        split_parameters(model)


def test_lists_and_dictionaries_of_mixtures_are_split_too():
    for holder in (
        nn.ParameterList([uniform_mixture(1, 2), uniform_mixture(2, 3)]),
        nn.ParameterDict({"normal": uniform_mixture(1, 2), "reduction": uniform_mixture(2, 3)}),
    ):
        model = nn.Sequential(nn.Linear(2, 2))
        model.alphas = holder
        model.mixture_parameters = "alphas"
        weights, mixtures = split_parameters(model)
        assert (len(weights), len(mixtures)) == (2, 2)


def test_what_is_no_parameter_cannot_be_named_as_a_mixture():
    model = nn.Sequential(nn.Linear(2, 2))
    model.alphas = torch.ones(2)
    model.mixture_parameters = ("alphas",)
    with pytest.raises(ConfigError, match="names 'alphas', but the module holds a Tensor"):
        split_parameters(model)
