"""Work on a side stream gives what it gives on the current one."""

import pytest
import torch

from xnas.kernels.streams import SideStream

GPU = pytest.param(
    "cuda",
    marks=[
        pytest.mark.gpu,
        pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
    ],
)
SIZE = 1 << 20


def sums_in_parallel(device, *, but_last):
    """Sums of tensors that are released at once, while the current stream fills memory with others."""
    side, sums = SideStream(torch.device(device)), []
    for number in range(20):
        side.join(but_last=but_last)
        given = torch.full((SIZE,), float(number), device=device)
        with side.branch(given):
            for _ in range(20):  # so that the branch lags behind
                found = given.double().sum()
            sums.append(found)
        del given
        torch.full((SIZE,), -1.0, device=device)
    side.join()
    return torch.stack(sums).tolist()


@pytest.mark.parametrize("but_last", [0, 2, 100])
@pytest.mark.parametrize("device", ["cpu", GPU])
def test_what_a_branch_reads_is_kept_until_it_is_waited_for(device, but_last):
    assert sums_in_parallel(device, but_last=but_last) == [float(number * SIZE) for number in range(20)]


def slopes_in_parallel(device):
    """Gradients through branches whose inputs the current stream releases and overwrites."""
    weights = [torch.full((), float(n + 1), device=device, requires_grad=True) for n in range(10)]
    x, total = torch.ones(SIZE, device=device), torch.zeros((), device=device)
    for weight in weights:
        side, given = SideStream(x.device, line=1), x * 2
        side.keep(given)
        with side.branch():
            for _ in range(5):
                given = given * weight  # saved for the backward pass
        side.join()
        total = total + given.mean()
        del given
    total.backward()
    return [float(weight.grad) for weight in weights]


@pytest.mark.parametrize("device", ["cpu", GPU])
def test_gradients_through_branches(device):
    assert slopes_in_parallel(device) == pytest.approx([10.0 * (n + 1) ** 4 for n in range(10)])


@pytest.mark.parametrize("device", [GPU])
def test_a_branch_can_be_captured(device):
    def work():
        side, twice = SideStream(x.device), x * 2
        with side.branch(twice):
            found = twice.sum()
        other = x + 1
        side.join()
        out.copy_(found + other.sum())

    x, out = torch.ones(SIZE, device=device), torch.zeros((), device=device)
    for _ in range(2):
        work()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        work()
    x.fill_(2.0)
    graph.replay()
    assert float(out) == 7 * SIZE
