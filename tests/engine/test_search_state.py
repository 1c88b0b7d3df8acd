"""What a checkpoint of a search holds."""

import pytest
from searching import small_engine

from xnas import ConfigError
from xnas.engine import require_sound, restore_search, search_state
from xnas.errors import RoundError

pytestmark = pytest.mark.usefixtures("small_space")


@pytest.mark.parametrize("version", [1, 4])
def test_a_version_that_is_not_known_is_refused_by_name(version):
    words = f"has format version {version}, this xnas reads 2 and 3; resume it with"
    with pytest.raises(ConfigError, match=words):
        restore_search(small_engine(), search_state(small_engine()) | {"version": version})


def test_a_search_whose_numbers_broke_is_not_kept():
    search = small_engine()
    require_sound(search)
    search.weights[0].data.fill_(float("nan"))
    with pytest.raises(
        RoundError, match="no longer finite numbers in epoch 1, round 0; lower --weights"
    ):
        require_sound(search)
