"""The ensemble: what it learns, and what it does not know."""

import pytest
import torch

from xnas import ConfigError
from xnas.samplers.ensemble import Ensemble


def rows(count, generator):
    return (torch.rand(count, 12, generator=generator) < 0.5).double()


def fitted(values=None, *, seed=0, epochs=60):
    x = rows(60, torch.Generator().manual_seed(1))
    ensemble = Ensemble(12, seed=seed, layers=3)
    ensemble.fit(x, (x[:, :6].sum(1) / 6).tolist() if values is None else values, epochs=epochs)
    return ensemble


def test_it_learns_a_sum_and_ranks_rows_that_it_has_not_seen():
    x = rows(80, torch.Generator().manual_seed(2))
    predicted = fitted().predict(x)
    assert predicted.shape == (5, 80)
    truth = x[:, :6].sum(1) / 6
    assert torch.corrcoef(torch.stack([predicted.mean(0), truth]))[0, 1] > 0.9
    assert (predicted.mean(0) - truth).abs().mean() < 0.15


def test_members_disagree_more_where_there_is_no_data():
    ensemble = fitted()
    seen = rows(60, torch.Generator().manual_seed(1))
    assert ensemble.predict(10 * seen).std(0).mean() > 3 * ensemble.predict(seen).std(0).mean()


def test_shares_and_percent_are_learned_alike():
    shares = torch.rand(60, generator=torch.Generator().manual_seed(3)).double()
    seen = rows(60, torch.Generator().manual_seed(1))
    percent = fitted((100 * shares).tolist(), epochs=5).predict(seen)
    torch.testing.assert_close(fitted(shares.tolist(), epochs=5).predict(seen) * 100, percent)


def test_equal_values_are_predicted_as_they_are():
    predicted = fitted([0.7] * 60).predict(rows(5, torch.Generator().manual_seed(2)))
    assert predicted.isfinite().all()
    assert predicted.mean() == pytest.approx(0.7, abs=0.2)


def test_the_seed_decides_all():
    x = rows(5, torch.Generator().manual_seed(2))
    assert torch.equal(fitted(epochs=3).predict(x), fitted(epochs=3).predict(x))
    assert not torch.equal(fitted(epochs=3).predict(x), fitted(epochs=3, seed=1).predict(x))


def test_one_member_is_refused():
    with pytest.raises(ConfigError, match="at least 2 members"):
        Ensemble(3, seed=0, members=1)


def test_inputs_that_no_row_has_keep_their_weights_and_change_nothing_else():
    x = rows(40, torch.Generator().manual_seed(1))
    x[:, [2, 7]] = 0
    values = (x[:, :6].sum(1) / 6).tolist()
    ensemble = Ensemble(12, seed=0, layers=2)
    before = ensemble._weights[0].clone()
    ensemble.fit(x, values, epochs=3)
    after = ensemble._weights[0]
    assert after.shape == before.shape
    assert torch.equal(after[..., [2, 7]], before[..., [2, 7]])
    assert (after != before)[..., [0, 1, 3]].any()
    # A row of tiny numbers makes every input one that occurs, without moving the fit.
    whole = Ensemble(12, seed=0, layers=2)
    whole.fit(x.clamp(min=1e-300), values, epochs=3)
    torch.testing.assert_close(ensemble.predict(x), whole.predict(x))
