"""P-DARTS: stages, dropped identities, few skip connections."""

import pytest
import torch
from method_games import REPLICATIONS, SPACE, FakePasses, build, game

from xnas import ConfigError
from xnas.methods import METHODS
from xnas.methods.pdarts import dropout, few_skips, resting

DARTS_EDGES = tuple((source, node) for node in range(2, 6) for source in range(node))


def test_probabilities_of_dropping_jump_up_when_the_rest_is_over():
    found = [dropout(0.4, epoch, 25) for epoch in (0, 9, 10, 15, 24)]
    assert found == pytest.approx([0.384, 0.24, 0.4, 0.147152, 0.024324], abs=6e-7)
    assert [resting(epoch, 25) for epoch in (0, 9, 10, 24)] == [True, True, False, False]
    assert [resting(epoch, 5) for epoch in range(5)] == [True, True, False, False, False]


def test_stages_grow_deeper_and_narrower():
    stages = METHODS["pdarts"].stages_on("darts")
    assert [stage.cells for stage in stages] == [5, 11, 17]
    assert [stage.experts for stage in stages] == [None, 5, 3]
    assert [stage.epochs for stage in stages] == [25, 25, 25]
    assert all(stage.fresh_weights and stage.fresh_method for stage in stages)
    with pytest.raises(ConfigError, match="nasbench201 has one depth; use --space darts"):
        METHODS["pdarts"].stages_on("nasbench201")


def test_identities_are_dropped_in_the_weight_step_alone_and_scaled_up():
    identities = {kind: torch.zeros(4, 5, dtype=torch.bool) for kind in REPLICATIONS}
    identities["normal"][:, 0] = True
    mixtures, method = build("pdarts", stage=2, stages=(25, 25, 25), epochs=25, identities=identities)
    method.begin_epoch(10)
    passes = FakePasses({})
    assert method.weights("rewards", passes) is None
    u = mixtures["normal"].detach()
    drawn = torch.stack([method.weights("weights", passes)["normal"] for _ in range(200)])
    assert drawn.shape == (200, 6, 4, 5)
    torch.testing.assert_close(drawn[..., 1:], u[:, 1:].expand(200, 6, 4, 4))
    share = (drawn[..., 0] > 0).float().mean()
    assert float(share) == pytest.approx(0.3, abs=0.03)  # 1 - 0.7, 4 deviations of 4,800 draws
    kept = drawn[..., 0][drawn[..., 0] > 0]
    assert kept.min() >= u[:, 0].min() / 0.3 * 0.999
    assert torch.equal(method.weights("weights", passes)["reduction"][0], mixtures["reduction"])


def test_the_normal_cell_of_the_last_stage_has_at_most_two_skips():
    played = game(edges=DARTS_EDGES, kept_edges=2, operations=("none", "skip_connect", "conv"))
    strengths = torch.tensor([0.5, 0.4, 0.1]).repeat(14, 1).double()
    strengths[:, 1] -= torch.arange(14) / 100
    found = few_skips(strengths, played)
    assert (found[:, 0] == 0).all()
    best = found.amax(-1)
    chosen = []
    for rows in (range(2), range(2, 5), range(5, 9), range(9, 14)):
        chosen += sorted(rows, key=lambda row: -best[row])[:2]
    assert sum(int(found[row].argmax()) == 1 for row in chosen) == 2
    assert few_skips(strengths, game(edges=DARTS_EDGES, operations=("a", "b", "c"))) is not strengths


def test_other_stages_and_cells_keep_their_skips():
    identities = {}
    for stage, limited in ((0, False), (2, True)):
        mixtures, method = build(
            "pdarts", stage=stage, stages=(25, 25, 25), identities=identities, kept_edges=2
        )
        with torch.no_grad():
            for logits in method.logits:
                logits[:, 0] = 3.0
        method.write_beliefs()
        normal = method.strengths(mixtures["normal"])
        assert ((normal[:, 0] == 0).sum() == 2) is limited or bool((normal[:, 0] == 0).sum()) is limited
        assert (method.strengths(mixtures["reduction"])[:, 0] > 0.5).all()
    assert SPACE["operations"][0] == "skip_connect"
