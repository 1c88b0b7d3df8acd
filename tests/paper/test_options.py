from xnas.paper.options import NAMES
from xnas.paper.reproduce import ITEMS


def test_the_help_names_every_item_in_order():
    assert tuple(ITEMS) == NAMES
