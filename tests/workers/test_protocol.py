"""Numbers of jobs: each is submitted once, and asked for once."""

import pytest

from xnas.errors import ConfigError
from xnas.workers.protocol import require_new, require_submitted


def test_a_number_is_used_once_until_its_result_is_read():
    require_new(1, {0: "job"})
    require_submitted(0, {0: "job"})
    require_submitted(None, {0: "job"})
    with pytest.raises(ConfigError, match="job 0 was submitted already; give each a number"):
        require_new(0, {0: "job"})
    with pytest.raises(ConfigError, match="asked for job 7 without having it; submit it first"):
        require_submitted(7, {0: "job"})
    with pytest.raises(ConfigError, match="asked for any job without having it"):
        require_submitted(None, {})
