"""Where reduction cells stand in a network."""

from xnas.space import SPACES, CellKind
from xnas.space.layout import cell_kinds
from xnas.space.supernet import Supernet

DARTS = SPACES["darts"]


def test_reductions_stand_at_one_and_two_thirds():
    def reductions(cells):
        return [i for i, kind in enumerate(cell_kinds(cells)) if kind is CellKind.REDUCTION]

    assert [reductions(n) for n in (3, 8, 14, 20)] == [[1, 2], [2, 5], [4, 9], [6, 13]]
    assert Supernet(DARTS, num_classes=10, channels=2).replications == {"normal": 6, "reduction": 2}
