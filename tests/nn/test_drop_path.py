"""Drop path: samples fall silent as a whole, and the mean stays."""

import pytest
import torch

from xnas import ConfigError
from xnas.nn.drop_path import DropPath


def test_a_sample_is_dropped_whole_or_scaled_up():
    torch.manual_seed(0)
    x = torch.rand(64, 3, 4, 4) + 1
    out = DropPath(0.25)(x)
    ratio = (out / x).flatten(1)
    assert torch.all(ratio.amax(1) - ratio.amin(1) < 1e-5)
    kept = ratio[:, 0] > 0
    assert 0 < int(kept.sum()) < 64
    assert torch.allclose(ratio[kept], torch.tensor(1 / 0.75))


def test_the_mean_stays_and_the_share_is_the_rate():
    torch.manual_seed(0)
    out = DropPath(0.2)(torch.ones(20_000, 1, 1, 1))
    assert float(out.mean()) == pytest.approx(1, abs=0.02)
    assert float((out == 0).float().mean()) == pytest.approx(0.2, abs=0.01)


def test_many_edges_draw_together_what_they_draw_one_by_one():
    path, x = DropPath(0.5), torch.ones(8, 1, 1, 1)
    path.part = (1, 2)
    torch.manual_seed(0)
    together = path.draw(x, edges=3)
    torch.manual_seed(0)
    assert torch.equal(together, torch.stack([path(x).flatten() for _ in range(3)]))


def test_it_acts_in_training_alone_and_follows_its_schedule():
    path, x = DropPath(0.5), torch.rand(8, 2, 3, 3)
    assert path.eval()(x) is x
    path.train().set_rate(0)
    assert torch.equal(path(x), x)
    assert not list(path.parameters())
    assert not path.state_dict()  # a rate belongs to a training, not to a model


def test_a_rate_changes_under_a_compiled_network_without_compiling_again():
    path = DropPath(0.0)
    compiled = torch.compile(path, backend="eager", fullgraph=True)
    x = torch.ones(4096, 1, 1, 1)
    assert torch.equal(compiled(x), x)
    torch._dynamo.config.error_on_recompile = True
    try:
        path.set_rate(0.9)
        assert float((compiled(x) == 0).float().mean()) == pytest.approx(0.9, abs=0.03)
    finally:
        torch._dynamo.config.error_on_recompile = False


@pytest.mark.parametrize("rate", [-0.1, 1, 1.5, float("nan")])
def test_a_rate_that_is_no_share_is_refused(rate):
    with pytest.raises(ConfigError, match=r"drop_path_rate must lie in \[0, 1\), got"):
        DropPath(rate)
