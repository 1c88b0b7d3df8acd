import pytest
from trained import saved_run


@pytest.fixture(scope="package")
def run(tmp_path_factory):
    """The run folder of a tiny training; only read it."""
    folder = tmp_path_factory.mktemp("run")
    saved_run(folder)
    return folder
