"""What tests of captured rounds share."""

import pytest

from xnas.engine.capture import WARM_UPS


@pytest.fixture
def without_graphs(monkeypatch):
    """Captures made so far, each with the generators it was given."""
    made = []

    def stand_in(step, _device, *, restore, generators, pool):
        assert pool is None
        for _ in range(WARM_UPS):
            step()
            restore()
        made.append(generators)
        return step

    monkeypatch.setattr("xnas.engine.capture.capture", stand_in)
    return made
