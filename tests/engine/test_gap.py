"""The discretization gap: accuracies of the mixture, of the strongest experts and of the cell."""

import copy

import torch
from searching import engine, settle

from xnas.engine import delete_wiped, discretization_gap, play_round
from xnas.engine.forward import untouched_buffers
from xnas.engine.gap import accuracy, chosen_mixtures


def test_the_gap_measures_mixture_experts_and_cell_and_touches_nothing():
    search = engine(epochs=4)
    for _ in range(3):
        play_round(search)
    before = copy.deepcopy(search.supernet.state_dict())
    gap = discretization_gap(search)
    for name, value in search.supernet.state_dict().items():
        assert torch.equal(value, before[name]), name
    with untouched_buffers(search.supernet):
        assert gap.mixture == accuracy(search, search.supernet.spread())
    experts, cell = chosen_mixtures(search, search.supernet.space)
    for kind, u in experts.items():
        assert torch.equal(u.sum(-1), torch.ones(14))
        kept = cell[kind].sum(-1)
        assert torch.equal(cell[kind], u * kept[:, None])
        nodes = torch.tensor([node for _, node in search.supernet.space.edges])
        assert [int(kept[nodes == n].sum()) for n in (2, 3, 4, 5)] == [2, 2, 2, 2]


def test_a_supernet_decided_already_has_no_gap_between_mixture_and_experts():
    search = engine(epochs=4)
    settle(search)
    gap = discretization_gap(search)
    assert gap.mixture == gap.experts


def only_none(search, edge):
    """Wipe everybody but `none` out on one edge; gives its column and that of the strongest other."""
    operations, mixture = search.supernet.space.operations, search.mixtures["normal"]
    account, none = search.method.state[mixture], operations.index("none")
    best = operations.index("nor_conv_3x3")
    account["cumulative_rewards"][edge, none] = 5
    account["gap_when_wiped"][edge] = 3
    account["gap_when_wiped"][edge, best] = 1
    account["wiped_at"][edge] = 1
    account["wiped_at"][edge, none] = 0
    return none, best


def test_the_gap_is_that_of_the_cell_that_is_written_where_only_none_lives():
    search = engine(space="nasbench201", cells=1, include_none=True, epochs=4)
    play_round(search)
    space, mixture = search.supernet.space, search.mixtures["normal"]
    none, best = only_none(search, edge := 2)
    assert search.method.alive(mixture)[edge].nonzero().tolist() == [[none]]
    experts, cell = chosen_mixtures(search, space)
    written = search.standing().cell(space)
    source, node = space.edges[edge]
    operation = next(e.operation for e in written.normal.nodes[node - 1] if e.source == source)
    assert operation == space.operations[best]
    assert experts["normal"][edge].argmax() == none
    assert cell["normal"][edge].argmax() == best  # its module is still there
    assert discretization_gap(search).cell is not None
    delete_wiped(search)
    assert chosen_mixtures(search, space)[1] is None
    gap = discretization_gap(search)
    assert gap.cell is None
    assert 0 <= gap.experts <= 1
