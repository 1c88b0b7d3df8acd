"""Help texts, public names, one search and one training are as frozen."""

import pytest

from frozen.digests import comparable, differences, frozen
from frozen.records import FAST, record


@pytest.mark.parametrize("name", FAST)
def test_is_as_frozen(name):
    assert differences(*comparable(frozen(name), record(name))) == []
