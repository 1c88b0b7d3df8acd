"""A model of timm as a final network: what it gets of an image, its head, what it refuses."""

import pytest
import torch

from xnas import ConfigError, count_macs, count_parameters
from xnas.model import TimmModel
from xnas.space import build_network, network_spec

timm = pytest.importorskip("timm")

SMALL = "resnet10t"


def network(*, in_chans=3, classes=5, **model):
    architecture = TimmModel(SMALL, **{"side": 32} | model)
    return build_network(
        architecture, network_spec(architecture, "timm").but(num_classes=classes, in_chans=in_chans)
    )


def test_it_answers_as_the_model_does_on_prepared_images():
    built = network().eval()
    images = torch.randn(2, 3, 32, 32)
    assert torch.equal(built(images), built.body(images))
    assert built(images).shape == (2, 5)
    assert built.forward_features(images).shape == (2, built.num_features, 1, 1)
    assert built.forward_head(built.forward_features(images), pre_logits=True).shape == (2, 512)


def test_images_become_what_the_model_expects():
    # An image of mean 0.5 and deviation 0.25, to one of 0.4 and 0.5: x * 0.5 + 0.2.
    built = network(scale=(0.5,) * 3, shift=(0.2, 0.1, 0.0))
    images = torch.randn(2, 3, 32, 32)
    expected = images * 0.5 + torch.tensor([0.2, 0.1, 0.0]).view(1, 3, 1, 1)
    assert torch.allclose(built.prepared(images), expected)


def test_grey_images_are_given_three_times():
    built = network(in_chans=1, shift=(0.0, 1.0, 2.0))
    images = torch.randn(2, 1, 32, 32)
    assert torch.allclose(built.prepared(images), torch.cat([images, images + 1, images + 2], dim=1))
    assert built(images).shape == (2, 5)


@pytest.mark.parametrize(
    ("size", "square", "seen"),
    [
        ((8, 8), False, (32, 32)),
        ((8, 16), False, (32, 64)),
        ((48, 40), False, (48, 40)),
        ((48, 40), True, (32, 32)),
        ((8, 16), True, (32, 32)),
    ],
)
def test_small_images_are_enlarged_and_large_ones_stay_unless_the_model_has_one_size(size, square, seen):
    assert network(square=square).prepared(torch.zeros(1, 3, *size)).shape[-2:] == seen


def test_a_constant_image_stays_constant_when_it_is_enlarged():
    assert network().prepared(torch.full((1, 3, 8, 8), 0.5)).eq(0.5).all()


def test_it_can_be_counted_and_its_classifier_replaced():
    built = network()
    assert count_parameters(built) == count_parameters(timm.create_model(SMALL, num_classes=5))
    # Four times the pixels, and nearly as many multiply-accumulates: the head has few.
    ratio = count_macs(network(side=64), (3, 8, 8)) / count_macs(built, (3, 8, 8))
    assert ratio == pytest.approx(4, rel=0.01)
    built.reset_classifier(3)
    assert built(torch.zeros(2, 3, 32, 32)).shape == (2, 3)
    assert built.num_classes == 3
    assert built.get_classifier().out_features == 3
    with pytest.raises(ConfigError, match="num_classes must be at least 0, got -1"):
        built.reset_classifier(-1)


def test_the_state_dict_holds_the_model_alone():
    assert {name.partition(".")[0] for name in network().state_dict()} == {"body"}


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"channels": 8}, "a model of timm has no channels to set, got 8"),
        ({"auxiliary": True}, "a model of timm has no auxiliary to set"),
        ({"in_chans": 4}, "takes images of 1 or 3 channels, got 4"),
    ],
)
def test_parts_that_it_does_not_have_are_refused(change, fault):
    architecture = TimmModel(SMALL, side=32)
    with pytest.raises(ConfigError, match=fault):
        build_network(architecture, network_spec(architecture, "timm").but(**change))
