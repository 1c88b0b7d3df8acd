import pytest
import torch
from torch import nn

from xnas import ConfigError
from xnas.nn.operations import FINAL, OPERATIONS, SEARCH, FactorizedReduction, build_operation

NAMES = list(OPERATIONS)


def count(module):
    return sum(p.numel() for p in module.parameters())


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("stride", [1, 2])
def test_every_operation_keeps_channels_and_halves_by_the_same_rule(name, stride):
    operation = build_operation(name, 6, stride, SEARCH)
    for size in ((8, 8), (7, 9), (11, 8)):
        out = operation(torch.randn(2, 6, *size))
        assert out.shape == (2, 6, *(-(-side // stride) for side in size)), size


@pytest.mark.parametrize(
    ("name", "weights"),
    [
        # C = 6: depthwise k*k*C and pointwise C*C, twice for separable, once for dilated.
        ("sep_conv_3x3", 2 * (9 * 6 + 36)),
        ("sep_conv_5x5", 2 * (25 * 6 + 36)),
        ("dil_conv_3x3", 9 * 6 + 36),
        ("dil_conv_5x5", 25 * 6 + 36),
        ("max_pool_3x3", 0),
        ("avg_pool_3x3", 0),
        ("skip_connect", 0),
        ("none", 0),
        ("sep_conv_7x7", 2 * (49 * 6 + 36)),
        ("conv_7x1_1x7", 2 * 7 * 36),
        ("nor_conv_1x1", 36),
        ("nor_conv_3x3", 9 * 36),
        ("max_pool_2x2", 0),
        # two stages, with 4C between in a flood
        ("flood_conv_3x3", (9 * 6 + 6 * 24) + (9 * 24 + 24 * 6)),
        ("sharp_dil_conv_3x3", 2 * (9 * 6 + 36)),
        ("sharp_dil_conv_5x5", 2 * (25 * 6 + 36)),
    ],
)
def test_weights_are_those_of_arithmetic(name, weights):
    assert count(build_operation(name, 6, 1, SEARCH)) == weights
    scales = sum(isinstance(m, nn.BatchNorm2d) for m in build_operation(name, 6, 1, FINAL).modules())
    between = 2 * (24 - 6) if name == "flood_conv_3x3" else 0
    assert count(build_operation(name, 6, 1, FINAL)) == weights + 12 * scales + between


def test_pools_are_normalised_in_a_search_only():
    for name in ("max_pool_3x3", "avg_pool_3x3"):
        assert any(isinstance(m, nn.BatchNorm2d) for m in build_operation(name, 4, 1, SEARCH).modules())
        assert not any(
            isinstance(m, nn.BatchNorm2d) for m in build_operation(name, 4, 1, FINAL).modules()
        )


def test_no_batch_norm_of_a_search_has_a_scale():
    for name in NAMES:
        for module in build_operation(name, 4, 2, SEARCH).modules():
            assert not (isinstance(module, nn.BatchNorm2d) and module.affine), name


def test_average_pool_does_not_count_the_padding():
    out = build_operation("avg_pool_3x3", 1, 1, FINAL)(torch.ones(1, 1, 4, 4))
    assert torch.equal(out, torch.ones(1, 1, 4, 4))


def test_the_2x2_pool_takes_the_largest_of_four_and_ends_with_the_image():
    x = torch.tensor([[1.0, 2, -9], [3, 4, -8], [-7, -6, -5]])[None, None]
    one = build_operation("max_pool_2x2", 1, 1, FINAL)(x)
    assert one[0, 0].tolist() == [[4, 4, -8], [4, 4, -5], [-6, -5, -5]]
    two = build_operation("max_pool_2x2", 1, 2, FINAL)(x)
    assert two[0, 0].tolist() == [[4, -8], [-6, -5]]


def test_crossed_convolutions_reach_along_one_row_and_one_column_each():
    operation = build_operation("conv_7x1_1x7", 2, 2, FINAL)
    assert [(m.kernel_size, m.stride) for m in operation if isinstance(m, nn.Conv2d)] == [
        ((1, 7), (1, 2)),
        ((7, 1), (2, 1)),
    ]


def test_the_identity_passes_its_input_on_and_none_passes_nothing():
    x = torch.randn(2, 4, 6, 6)
    assert build_operation("skip_connect", 4, 1, SEARCH)(x) is x
    assert not build_operation("none", 4, 2, SEARCH)(x).any()


def test_the_stages_of_a_separable_convolution_are_its_layers_in_order():
    separable = build_operation("sep_conv_5x5", 4, 2, SEARCH)
    first, second = separable.stages
    layers = [m for m in separable if not isinstance(m, nn.ReLU)]
    found = [first.depthwise, first.pointwise, first.norm]
    found += [second.depthwise, second.pointwise, second.norm]
    assert all(one is other for one, other in zip(layers, found, strict=True))
    assert [stage.depthwise.stride for stage in (first, second)] == [(2, 2), (1, 1)]
    assert len(build_operation("dil_conv_3x3", 4, 1, SEARCH).stages) == 1


def test_dilated_convolutions_reach_as_far_as_dilation_says():
    operation = build_operation("dil_conv_5x5", 2, 1, SEARCH)
    assert operation[1].dilation == (2, 2)
    assert operation[1].padding == (4, 4)


def test_factorised_reduction_sees_every_pixel_of_odd_and_even_images():
    # Each input pixel must reach the output: with half of the pixels alone it would be lost.
    for size in (6, 7):
        reduction = FactorizedReduction(1, 2, SEARCH).double()
        x = torch.rand(3, 1, size, size, dtype=torch.float64, requires_grad=True)
        out = reduction(x)
        assert out.shape == (3, 2, -(-size // 2), -(-size // 2))
        (out * torch.randn_like(out)).sum().backward()
        seen = x.grad.abs().sum(0)[0] > 0
        assert seen[::2, ::2].all()
        assert seen[1::2, 1::2].all()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("stride", [1, 2])
def test_gradients_are_right(name, stride):
    operation = build_operation(name, 2, stride, SEARCH).double()
    x = torch.randn(2, 2, 5, 5, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(operation, (x,), eps=1e-6, atol=1e-4)


def test_own_operations_join_by_name():
    OPERATIONS.add("test_square", lambda _channels, _stride, _norm: nn.Hardtanh())
    try:
        assert isinstance(build_operation("test_square", 4, 1, SEARCH), nn.Hardtanh)
    finally:
        del OPERATIONS._entries["test_square"]


def test_bad_input_is_named():
    with pytest.raises(ConfigError, match="stride must be 1 or 2, got 3"):
        build_operation("none", 4, 3, SEARCH)
    with pytest.raises(ConfigError, match=r"no operation called 'conv'; .*there are: none, max_pool"):
        build_operation("conv", 4, 1, SEARCH)
    with pytest.raises(ConfigError, match="from each of two convolutions, got 5 channels; use an even"):
        build_operation("skip_connect", 5, 2, SEARCH)
