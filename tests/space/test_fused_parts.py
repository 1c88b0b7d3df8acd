"""The parts of fused supernets: who writes where, reductions computed together, plans of a stage."""

import copy

import pytest
import torch

from xnas.kernels.moments import Moments
from xnas.kernels.normalization import normalize
from xnas.kernels.normalization_gradients import normalization_gradient, normalization_sums
from xnas.nn.operations import SEARCH, FactorizedReduction
from xnas.space import SPACES
from xnas.space.benchmark_supernet import BenchmarkSupernet
from xnas.space.fused_benchmark import FusedCells
from xnas.space.fused_reductions import Reductions
from xnas.space.fused_tables import Tables
from xnas.space.supernet import Supernet


def cell_of(kind, doomed=()):
    """The first cell of a kind, without the doomed (edge, operation)."""
    space = SPACES["darts"]
    net = Supernet(space, num_classes=2, cells=3, channels=2)
    for edge, name in doomed:
        net.wipe(kind, edge, [space.operations.index(name)])
    return next(cell for cell in net.cells if cell.kind == kind)


def test_every_living_expert_has_a_term_and_pools_share_a_slot_for_a_state():
    tables = Tables(cell_of("normal"))
    assert len(tables.term_slots) == 14 * 7
    assert [part.stop - part.start for part in tables.arriving] == [14, 21, 28, 35]  # 2 to 5 edges of 7
    # 4 nodes and 2 inputs; 14 edges with 2 dilated and 2 separable convolutions, the latter with a slot
    # between their halves; 5 departing states with 2 pools.
    assert tables.slots == 4 + 2 + 14 * 2 + 14 * 2 * 2 + 5 * 2
    assert sorted(tables.mixture_index.tolist()) == list(range(14 * 7))


def test_a_deletion_takes_its_term_and_slots():
    whole, less = Tables(cell_of("normal")), Tables(cell_of("normal", [(0, "sep_conv_3x3")]))
    assert len(less.term_slots) == len(whole.term_slots) - 1
    assert less.slots == whole.slots - 2  # the convolution, and between its halves


def test_reduced_skips_have_a_slot_for_an_edge():
    tables = Tables(cell_of("reduction"))
    assert tables.reductions is not None
    assert tables.departures[0].slots["reduced"].stop - tables.departures[0].slots["reduced"].start == 8
    assert Tables(cell_of("normal")).reductions is None


@pytest.mark.parametrize("sources", [[0, 0, 1], [1, 1], [0]])
def test_reductions_together_are_the_modules_alone(sources):
    modules = [FactorizedReduction(3, 4, SEARCH).double() for _ in sources]
    alone = copy.deepcopy(modules)
    inputs = torch.randn(2, 2, 5, 7, 3, dtype=torch.float64, requires_grad=True)
    together = Reductions(modules, sources)
    active, weight = inputs.detach().relu(), together.packed.detach()
    products = active.new_empty(len(modules), 2 * 3 * 4, 4)
    moments = Moments(*active.new_empty(2, len(modules), 4))
    halves = together.forward(active, weight, out=products, into=moments)
    normalized = normalize(products, moments, relu=False)
    upstream = torch.randn_like(products)
    flow = normalization_gradient(
        upstream, products, moments, normalization_sums(upstream, products, moments)
    )
    into = torch.ones_like(inputs)
    together.add_gradient(together.halves_gradient(flow, weight), gate=active, into=into)
    together.packed.backward(together.weight_gradient(halves, flow))
    for index, (module, one, source) in enumerate(zip(modules, alone, sources, strict=True)):
        expected = one(inputs[source].permute(0, 3, 1, 2)).permute(0, 2, 3, 1).flatten(0, 2)
        expected.backward(upstream[index])
        torch.testing.assert_close(normalized[index], expected)
        torch.testing.assert_close(module.norm.running_mean, one.norm.running_mean)
        torch.testing.assert_close(module.norm.running_var, one.norm.running_var)
        torch.testing.assert_close(module.even.weight.grad, one.even.weight.grad)
        torch.testing.assert_close(module.odd.weight.grad, one.odd.weight.grad)
    torch.testing.assert_close(into - 1, inputs.grad)


def test_fused_cells_pack_a_stage_s_living_convolutions():
    space = SPACES["nasbench201"]
    net = BenchmarkSupernet(space, num_classes=2, cells=2, channels=2)
    net.wipe("normal", 0, [space.operations.index("nor_conv_3x3")])
    net.fuse()
    assert isinstance(net.fused_cells, FusedCells)
    packed = {id(p): p.untyped_storage().data_ptr() for p in net.packed}
    living = [
        parameter
        for block in net.blocks
        for name, parameter in block.named_parameters()
        if "forecasters" in name
    ]
    assert len(living) == 6 * (6 * 2 - 1)  # 6 cells; two convolutions on 6 edges, one of them gone
    assert all(p.untyped_storage().data_ptr() in packed.values() for p in living)
