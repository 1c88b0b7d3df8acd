"""Residual networks: sizes by known counts, shapes, what they refuse."""

import pytest
import torch

from xnas import ConfigError, count_macs, count_parameters, create_model


def test_resnet_20_has_the_parameters_and_multiply_accumulates_that_are_known():
    with torch.device("meta"):
        model = create_model("resnet-20")
    # He et al. print 0.27 M. The counts of widespread implementations with 1x1 shortcuts: 272,474 and
    # 40.81 M; by arithmetic 16*3*9 + 6*16*16*9 + ... + 64*10 + 10.
    assert count_parameters(model) == 272_474
    assert round(count_macs(model, (3, 32, 32)) / 1e6, 2) == 40.81


def test_it_answers_with_logits_and_learns_every_weight():
    model = create_model("resnet-8", channels=4, num_classes=3, in_chans=1)
    logits = model(torch.randn(2, 1, 9, 8))
    assert logits.shape == (2, 3)
    logits.square().sum().backward()
    assert all(p.grad is not None for p in model.parameters())
    assert model.forward_features(torch.randn(2, 1, 8, 8)).shape == (2, 16, 2, 2)


def test_images_that_two_halvings_would_use_up_are_refused():
    with pytest.raises(ConfigError, match="they need 4 a side"):
        create_model("resnet-8")(torch.zeros(1, 3, 3, 8))


@pytest.mark.parametrize(
    ("name", "value"),
    [("auxiliary", True), ("squeeze_excitation", True), ("stem_channels", 3), ("cells", 5)],
)
def test_parts_that_it_does_not_have_are_refused(name, value):
    with pytest.raises(ConfigError, match=f"a residual network has no {name} to set"):
        create_model("resnet-8", **{name: value})
