"""Search spaces: the registered ones, and those of a user's own."""

import pytest
import torch

from xnas.errors import ConfigError
from xnas.space import (
    SPACES,
    CellGenotype,
    CellKind,
    Edge,
    Genotype,
    SearchSpace,
    cell_depth,
    create_model,
)

DARTS = SPACES["darts"]


class TestSpaces:
    def test_darts_has_seven_operations_and_fourteen_edges(self):
        # Sec. 4.1 lists the operations; a node is fed by every state before it: 2 + 3 + 4 + 5.
        assert DARTS.operations == (
            "max_pool_3x3",
            "avg_pool_3x3",
            "skip_connect",
            "sep_conv_3x3",
            "sep_conv_5x5",
            "dil_conv_3x3",
            "dil_conv_5x5",
        )
        assert DARTS.edges[:5] == ((0, 2), (1, 2), (0, 3), (1, 3), (2, 3))
        assert len(DARTS.edges) == 14
        assert DARTS.edges[-1] == (4, 5)
        assert DARTS.kinds == (CellKind.NORMAL, CellKind.REDUCTION)
        assert CellKind.REDUCTION == "reduction"

    def test_none_joins_in_front_and_once(self):
        eight = DARTS.with_none()
        assert eight.operations == ("none", *DARTS.operations)
        assert (eight.name, eight.nodes) == ("darts", 4)
        assert eight.with_none() is eight
        assert len(DARTS.operations) == 7

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            ({"operations": ()}, r"'mine' has no operation that could be chosen, got \(\)"),
            ({"operations": ("none",)}, r"'mine' has no operation .* got \('none',\)"),
            ({"operations": ("a", "b", "a")}, r"'mine' names an operation twice, got \('a', 'b', 'a'\)"),
            ({"operations": ("a",), "nodes": 0}, "a cell needs at least 1 node, got 0"),
        ],
    )
    def test_a_space_that_no_cell_fits_is_refused(self, arguments, words):
        with pytest.raises(ConfigError, match=words):
            SearchSpace("mine", **arguments)

    def test_a_space_of_ones_own_joins_by_name(self, monkeypatch):
        monkeypatch.setattr(SPACES, "_entries", dict(SPACES._entries))
        SPACES.add("mine", SearchSpace("mine", ("tanh", "relu"), nodes=1))
        small = CellGenotype(((Edge("tanh", 0), Edge("relu", 1)),), (2,))
        genotype = Genotype("mine", small, small)
        assert Genotype.from_json(genotype.to_json()) == genotype
        assert cell_depth(genotype) == 0.5
        with pytest.raises(ConfigError, match=r"no search space called 'yours'; there are: .*mine"):
            SPACES["yours"]


class TestNasnet:
    BLOCK = (Edge("skip_connect", 0), Edge("sep_conv_3x3", 0))

    def test_whole_and_smaller_cells_build_networks(self):
        block = CellGenotype((self.BLOCK,), (2,))
        for genotype in (Genotype.random("nasnet", 0), Genotype("nasnet", block, block)):
            model = create_model(genotype, cells=3, channels=4)
            assert model(torch.zeros(2, 3, 32, 32)).shape == (2, 10)

    def test_its_supernet_has_no_fused_form_and_stays_whole(self):
        space = SPACES["nasnet"]
        supernet = space.supernet(space, num_classes=3, in_chans=1, cells=3, channels=2)
        images = torch.randn(2, 1, 8, 8)
        before = supernet(images)
        with pytest.raises(
            ConfigError, match="'conv_7x1_1x7' has no fused form; use the reference back"
        ):
            supernet.fuse()
        assert not supernet.fused
        assert torch.equal(supernet(images), before)
