"""Who follows a run: the display, its default, callbacks."""

from contextlib import nullcontext

import pytest

from xnas import Callback, SearchConfig, search
from xnas.errors import ConfigError
from xnas.runs.displays import Silence, showing


class Listening(Callback):
    def __init__(self):
        self.heard = []

    def say(self, line):
        self.heard.append(line)

    def after_round(self, search):
        self.heard.append(search.rounds)

    def after_epoch(self, record, epochs):
        self.heard.append((record.epoch, epochs))


def test_a_callback_hears_lines_rounds_and_epochs_after_the_display():
    display, callback = Listening(), Listening()
    with showing(display, Silence, callbacks=[callback]) as shown:
        shown.say("hello")
    assert display.heard == callback.heard == ["hello"]


@pytest.mark.parametrize("quiet", [True, False])
def test_without_a_display_the_usual_one_is_shown_unless_quiet(quiet):
    usual = Listening()
    with showing(None, lambda: nullcontext(usual), quiet=quiet) as shown:
        shown.say("hello")
    assert usual.heard == ([] if quiet else ["hello"])


def test_other_processes_report_to_nothing():
    display, callback = Listening(), Listening()
    with showing(display, Silence, callbacks=[callback], first=False) as shown:
        shown.say("hello")
    assert display.heard == callback.heard == []


@pytest.mark.parametrize("given", [print, [print], "mine"])
def test_what_is_no_callback_is_refused(given):
    with pytest.raises(
        ConfigError, match=r"must be a list of objects whose class inherits xnas.Callback"
    ):
        search(SearchConfig(), "digits", callbacks=given)
