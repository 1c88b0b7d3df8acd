"""What pages are drawn from says how it is called."""

import pytest

from xnas.report.page.stories import RunHead


@pytest.mark.parametrize(
    ("data", "name"),
    [
        ("digits", "digits"),
        ("/data/w/photos", "photos"),
        ("../photos/", "photos"),
        ("images in memory", "images in memory"),
        ("/", "/"),
    ],
)
def test_data_are_called_by_their_last_name(data, name):
    assert RunHead(path="run", data=data).data_name == name
