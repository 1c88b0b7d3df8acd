"""Images stay in memory if they take at most a quarter of it."""

import pytest

from xnas.data import available_memory, streams
from xnas.data.budget import _of_container


@pytest.mark.parametrize(
    ("needed", "available", "streamed"),
    [(25, 100, False), (26, 100, True), (0, 0, False), (1, 0, True)],
)
def test_a_quarter_is_the_limit(needed, available, streamed):
    assert streams(needed, available) is streamed


def test_there_is_some_memory():
    assert 2**20 < available_memory() < 2**50


def test_a_containers_limit_counts_without_what_can_be_dropped(tmp_path):
    (tmp_path / "memory.max").write_text("1000\n", encoding="ascii")
    (tmp_path / "memory.current").write_text("700\n", encoding="ascii")
    (tmp_path / "memory.stat").write_text("anon 400\ninactive_file 100\n", encoding="ascii")
    assert _of_container(tmp_path) == 400


@pytest.mark.parametrize("limit", ["max\n", None])
def test_a_container_without_a_limit_sets_none(tmp_path, limit):
    if limit:
        (tmp_path / "memory.max").write_text(limit, encoding="ascii")
    assert _of_container(tmp_path) >= 2**60
