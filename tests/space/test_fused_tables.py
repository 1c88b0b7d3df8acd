"""Index tables of fused cells: which expert writes where."""

from xnas.space import SPACES
from xnas.space.fused_tables import Tables, graph_of
from xnas.space.supernet import Supernet


def tables_of(kind, doomed=()):
    """Tables of the first cell of a kind, without the doomed (edge, operation)."""
    space = SPACES["darts"]
    net = Supernet(space, num_classes=2, cells=3, channels=2)
    for edge, name in doomed:
        net.wipe(kind, edge, [space.operations.index(name)])
    return Tables(graph_of(next(cell for cell in net.cells if cell.kind == kind)))


def test_every_living_expert_has_a_term_and_pools_share_a_slot_for_a_state():
    tables = tables_of("normal")
    assert len(tables.term_slots) == 14 * 7
    assert [part.stop - part.start for part in tables.terms_of] == [14, 21, 28, 35]  # 2 to 5 edges of 7
    # 4 nodes and 2 inputs; 14 edges with 2 dilated and 2 separable convolutions, the latter with a slot
    # between their halves; 5 states that are read, with 2 pools.
    assert tables.slot_count == 4 + 2 + 14 * 2 + 14 * 2 * 2 + 5 * 2
    assert sorted(tables.mixture_index.tolist()) == list(range(14 * 7))


def test_a_deletion_takes_its_term_and_slots():
    whole, less = tables_of("normal"), tables_of("normal", [(0, "sep_conv_3x3")])
    assert len(less.term_slots) == len(whole.term_slots) - 1
    assert less.slot_count == whole.slot_count - 2  # the convolution, and between its halves


def test_reduced_skips_have_a_slot_for_an_edge():
    tables = tables_of("reduction")
    assert tables.reductions is not None
    reduced = tables.fan_outs[0].slots.reduced
    assert reduced.stop - reduced.start == 8
    assert tables_of("normal").reductions is None
