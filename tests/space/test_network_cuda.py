"""On a GPU: gradients in every layout, on kernels and compiled are those of plain contiguous modules."""

import copy

import pytest
import torch

from xnas import create_model, list_cells
from xnas.data import BatchSettings, BatchSource
from xnas.engine.schedules import PowerCosine
from xnas.engine.train import Optimization, Training, TrainSettings, captured_step, train_step
from xnas.nn.operations import FINAL, OPERATIONS, SEARCH, build_operation, fuse

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]


def gradients(module, x):
    """Output and gradients; zeros where nothing depends on the input or a parameter."""
    x = x.detach().requires_grad_()
    out = module(x)
    upstream = torch.linspace(-1, 1, out.numel(), device=x.device, dtype=out.dtype).view(out.shape)
    if out.requires_grad:
        out.backward(upstream)
    leaves = (x, *module.parameters())
    return [out, *(torch.zeros_like(t) if t.grad is None else t.grad.clone() for t in leaves)]


@pytest.mark.parametrize("name", list(OPERATIONS))
@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("normalization", [SEARCH, FINAL], ids=["search", "final"])
@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
def test_operations_have_the_gradients_of_the_cpu(name, stride, normalization, layout):
    torch.manual_seed(0)
    module = build_operation(name, 8, stride, normalization).double()
    x = torch.randn(4, 8, 9, 12, dtype=torch.float64)
    expected = gradients(module, x)
    module.zero_grad()
    module = module.to("cuda")
    found = gradients(module, x.to("cuda").to(memory_format=layout))
    for one, other in zip(expected, found, strict=True):
        assert torch.allclose(one, other.cpu(), atol=1e-9), name


@pytest.mark.parametrize("cell", list_cells())
def test_networks_in_channels_last_have_the_gradients_of_the_cpu(cell):
    torch.manual_seed(0)
    model = create_model(cell, channels=4, cells=3).double()
    x = torch.randn(4, 3, 16, 16, dtype=torch.float64)
    expected = gradients(model, x)
    model.zero_grad()
    model = model.to("cuda").to(memory_format=torch.channels_last)
    found = gradients(model, x.to("cuda").to(memory_format=torch.channels_last))
    for one, other in zip(expected, found, strict=True):
        assert torch.allclose(one, other.cpu(), atol=1e-7)


@pytest.mark.filterwarnings("ignore")  # of torch's own modules as it loads them, and of TF32
@pytest.mark.parametrize("cell", ["xnas", "amoebanet_c_google"])
def test_compiled_cells_have_the_gradients_of_the_cpu(cell, monkeypatch):
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", False)  # 10 bits open other ReLUs: 10 % off
    torch.manual_seed(0)
    model = create_model(cell, channels=4, cells=3)
    x = torch.randn(4, 3, 16, 16)
    expected = gradients(model.double(), x.double())
    model.zero_grad()
    model = model.float().to("cuda").to(memory_format=torch.channels_last)
    for block in model.cells:
        block.compile(dynamic=False)
    found = gradients(model, x.to("cuda").to(memory_format=torch.channels_last))
    for one, other in zip(expected, found, strict=True):
        scale = one.abs().max().clamp_min(1e-3)
        assert float((one - other.double().cpu()).abs().max() / scale) < 2e-3


FUSED = [
    *((name, 5, (7, 9)) for name in ("sep_conv_3x3", "sep_conv_5x5", "sep_conv_7x7")),
    *((name, 5, (7, 9)) for name in ("dil_conv_3x3", "dil_conv_5x5", "avg_pool_3x3", "max_pool_3x3")),
    *((name, 36, (32, 32)) for name in ("sep_conv_3x3", "dil_conv_5x5", "avg_pool_3x3")),
    *((name, 72, (16, 16)) for name in ("sep_conv_5x5", "dil_conv_3x3", "max_pool_3x3")),
    *((name, 144, (8, 8)) for name in ("sep_conv_3x3", "sep_conv_7x7")),
    ("sep_conv_3x3", 200, (8, 8)),
]
FP32_TOLERANCE = 1e-4  # sums of up to 12,288 terms, and of 200 channels
BF16_MARGIN = 0.02  # beyond 1.25 times what PyTorch's own modules are off: another order of rounding
BF16_SEEDS = 11  # of which the median counts: where a ReLU opens otherwise, a gradient is up to 13 % off
CHAOS = 0.2  # gradients of many layers in bfloat16, whose ReLUs do not all open alike


def apart(one, other):
    """Distance of two tensors, by the length of the first."""
    one, other = one.detach().double().cpu(), other.detach().double().cpu()
    return float((one - other).norm() / one.norm().clamp_min(1e-3))


def stepped(module, x):
    """Output, gradients and buffers of one step."""
    return [*gradients(module, x), *(b.clone() for b in module.buffers())]


@pytest.mark.parametrize(("name", "channels", "size"), FUSED)
@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
def test_kernels_have_outputs_gradients_and_statistics_of_the_cpu(name, channels, size, stride, layout):
    torch.manual_seed(0)
    module = build_operation(name, channels, stride, FINAL)
    x = torch.randn(12, channels, *size)
    expected = stepped(copy.deepcopy(module).double(), x.double())
    module = module.to("cuda").to(memory_format=layout)
    fuse(module)
    found = stepped(module, x.to("cuda").to(memory_format=layout))
    for place, (one, other) in enumerate(zip(expected, found, strict=True)):
        assert apart(one, other) < FP32_TOLERANCE, place


@pytest.mark.parametrize(("name", "channels", "size"), FUSED)
@pytest.mark.parametrize("stride", [1, 2])
def test_kernels_in_bf16_are_as_close_to_float64_as_plain_modules_in_bf16(name, channels, size, stride):
    distances = torch.tensor(
        [bf16_distances(name, channels, size, stride, seed) for seed in range(BF16_SEEDS)]
    )
    by_modules, by_kernels = distances.median(dim=0).values
    assert (by_kernels < 1.25 * by_modules + BF16_MARGIN).all(), (by_kernels, by_modules)


def bf16_distances(name, channels, size, stride, seed):
    """How far modules and kernels are from float64, in all that a step gives."""
    torch.manual_seed(seed)
    module = build_operation(name, channels, stride, FINAL)
    x = torch.randn(12, channels, *size).bfloat16()
    expected = stepped(copy.deepcopy(module).double(), x.double())
    module, x = module.to("cuda"), x.to("cuda")
    fused = copy.deepcopy(module).to(memory_format=torch.channels_last)
    fuse(fused)
    with torch.autocast("cuda", torch.bfloat16):
        plain = stepped(module, x)
        found = stepped(fused, x.to(memory_format=torch.channels_last))
    assert [t.dtype for t in plain] == [t.dtype for t in found]
    return [[apart(*pair) for pair in zip(expected, given, strict=True)] for given in (plain, found)]


@pytest.mark.filterwarnings("ignore")  # of TF32
@pytest.mark.parametrize("autocast", [False, True])
@pytest.mark.parametrize("cell", ["xnas", "nasnet_a"])
def test_networks_on_kernels_have_the_gradients_of_the_cpu(cell, autocast):
    torch.manual_seed(0)
    model = create_model(cell, channels=8, cells=3)
    x = torch.randn(16, 3, 16, 16)
    expected = gradients(copy.deepcopy(model).double(), x.double())
    model = model.to("cuda").to(memory_format=torch.channels_last)
    fuse(model)
    with torch.autocast("cuda", torch.bfloat16, enabled=autocast):
        found = gradients(model, x.to("cuda").to(memory_format=torch.channels_last))
    whole = [torch.cat([t.double().cpu().flatten() for t in part[1:]]) for part in (expected, found)]
    tolerance = CHAOS if autocast else 5e-3  # PyTorch's own convolutions may use TF32
    assert apart(expected[0], found[0]) < tolerance
    assert apart(*whole) < tolerance


def training(*, autocast):
    """A training on kernels, of a small network with tower and drop path."""
    torch.manual_seed(0)
    options = {"channels": 8, "cells": 3, "num_classes": 3, "auxiliary": True, "drop_path_rate": 0.2}
    model = create_model("xnas", **options).to("cuda").to(memory_format=torch.channels_last)
    fuse(model)
    images = torch.randint(0, 256, (48, 3, 16, 16), dtype=torch.uint8)
    batches = BatchSource(
        images.to("cuda"),
        torch.arange(48) % 3,
        torch.arange(48),
        BatchSettings(batch_size=12, mean=(0.5,) * 3, std=(0.25,) * 3, seed=2, name="training"),
    )
    settings = TrainSettings(
        epochs=2,
        steps_per_epoch=4,
        schedule=PowerCosine(top=0.05, epochs=2),
        optimization=Optimization(auxiliary_weight=0.4),
        autocast=autocast,
    )
    made = Training(model, batches, settings)
    made.begin_epoch()
    return made


@pytest.mark.parametrize("autocast", [False, True])
def test_a_captured_step_on_kernels_is_the_eager_one(autocast):
    eager, fast = training(autocast=autocast), training(autocast=autocast)
    replay = captured_step(fast)
    torch.cuda.manual_seed(3)
    for _ in range(3):
        train_step(eager)
    torch.cuda.manual_seed(3)
    for _ in range(3):
        replay()
    tolerance = 3e-2 if autocast else 1e-3
    state = fast.model.state_dict()
    for name, tensor in eager.model.state_dict().items():
        assert apart(tensor, state[name]) < tolerance, name
    assert int(state["cells.0.edges.0.3.num_batches_tracked"]) == 3
