from xnas.runs.command_line import flags


def test_settings_become_flags():
    options = {"epochs": 5, "batch_size": 8, "faithful": True, "wipeout": False}
    assert flags(options) == "--epochs 5 --batch-size 8 --faithful --no-wipeout"


def test_values_are_quoted_for_a_shell():
    assert flags({"resume": "my runs/1"}) == "--resume 'my runs/1'"
