"""Squeeze-and-excitation, against its formula written out."""

import torch

from xnas.nn.excitation import SqueezeExcitation


def test_channels_are_scaled_by_what_two_layers_make_of_their_means():
    layer, x = SqueezeExcitation(8, reduction=4), torch.randn(3, 8, 5, 6)
    hidden = torch.clamp(x.flatten(2).mean(2) @ layer.squeeze.weight.T, min=0)
    scale = 1 / (1 + torch.exp(-hidden @ layer.excite.weight.T))
    torch.testing.assert_close(layer(x), x * scale.view(3, 8, 1, 1))


def test_the_hidden_layer_has_a_share_of_the_channels_and_no_biases():
    layer = SqueezeExcitation(16, reduction=4)
    assert {name: tuple(p.shape) for name, p in layer.named_parameters()} == {
        "squeeze.weight": (4, 16),
        "excite.weight": (16, 4),
    }
