"""On a GPU: gradients in every layout, and compiled code, are those of plain contiguous modules."""

import pytest
import torch

from xnas import create_model, list_cells
from xnas.nn.operations import FINAL, OPERATIONS, SEARCH, build_operation

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
def test_compiled_cells_have_the_gradients_of_the_cpu(cell):
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
