"""Forecasters that mix a part of their channels."""

import pytest
import torch
from torch import nn
from torch.nn.functional import max_pool2d

from xnas import ConfigError
from xnas.nn.partial import PartialForecaster, require_divisible, shuffled, with_bypass


def test_channels_are_shuffled_in_groups():
    # Channels 1 to 8 in 4 groups (Xu et al., 2020).
    channels = torch.arange(1.0, 9)[None, :, None, None]
    assert shuffled(channels, 4).flatten().tolist() == [1, 3, 5, 7, 2, 4, 6, 8]


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("side", [6, 7])
def test_a_part_is_mixed_and_the_rest_goes_by_with_the_weight_of_the_edge(stride, side):
    experts = {"a": nn.Conv2d(2, 2, 3, stride, 1), "b": nn.AvgPool2d(3, stride, 1)}
    forecaster = PartialForecaster(experts, channels=8, parts=4, stride=stride)
    x = torch.randn(3, 8, side, side)
    w = torch.tensor([0.3, -0.1])
    mixed = 0.3 * experts["a"](x[:, :2]) - 0.1 * experts["b"](x[:, :2])
    rest = x[:, 2:] if stride == 1 else max_pool2d(x[:, 2:], 2, ceil_mode=True)
    expected = shuffled(torch.cat([mixed, 0.2 * rest], 1), 4)
    torch.testing.assert_close(forecaster(x, w), expected)
    each = w.expand(3, 2) * torch.tensor([[1.0], [2.0], [0.0]])
    out = forecaster(x, each)
    torch.testing.assert_close(out[1], 2 * expected[1])
    assert not out[2].any()


def test_one_more_column_weighs_the_bypass():
    forecaster = PartialForecaster({"a": nn.Identity(), "b": nn.ReLU()}, channels=4, parts=2)
    x, w = torch.randn(3, 4, 2, 2), torch.tensor([0.0, 0.5])  # the first was dropped
    expected = shuffled(torch.cat([0.5 * x[:, :2].relu(), 0.9 * x[:, 2:]], 1), 2)
    wider = with_bypass(w, torch.tensor([0.4, 0.5]))
    assert wider.tolist() == pytest.approx([0.0, 0.5, 0.9])
    torch.testing.assert_close(forecaster(x, wider), expected)
    torch.testing.assert_close(forecaster(x, wider.expand(3, 3)), expected)
    with pytest.raises(ConfigError, match=r"got \(4,\)"):
        forecaster(x, torch.ones(4))


def test_the_gradient_of_a_weight_counts_what_goes_by():
    forecaster = PartialForecaster({"a": nn.Tanh(), "b": nn.ReLU()}, channels=4, parts=2)
    forecaster = forecaster.double()
    x = torch.randn(2, 4, 3, 3, dtype=torch.float64)
    w = torch.tensor([0.0, 0.7], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda weights: forecaster(x, weights), w)


def test_channels_that_have_no_such_part_are_refused():
    with pytest.raises(ConfigError, match="multiples of 4, got 10; use --channels 12, or fewer"):
        require_divisible(10, 4)
    require_divisible(10, 1)
    require_divisible(36, 4)  # DrNAS
