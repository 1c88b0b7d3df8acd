"""Runs of every kind, whole and resumed, are as frozen; `test_fast.py` has two of them."""

import pytest

from frozen.digests import comparable, differences, frozen, machine
from frozen.records import FAST, NAMES, record

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", [name for name in NAMES if name not in FAST])
def test_is_as_frozen(name):
    found = record(name)
    assert differences(*comparable(frozen(name), found)) == []
    if frozen(name).get("machine") != found.get("machine"):
        pytest.skip(f"whole and resumed runs agree; digests were frozen elsewhere, here is {machine()}")
