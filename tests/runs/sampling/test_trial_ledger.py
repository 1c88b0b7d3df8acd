"""The ledger of a search by sampling: written, torn, damaged, replayed."""

import json
import shutil
from contextlib import nullcontext
from pathlib import Path

import pytest
from sampling_games import failed, planted, play

from xnas.errors import DamagedFileError, VersionError
from xnas.runs.sampling.trial_ledger import TrialLedger, replay
from xnas.samplers import SAMPLERS, Result
from xnas.space import encoding_of

SAMPLES = Path(__file__).parents[2] / "samples"


def evolution(seed=0):
    settings = {"population": 4, "sample": 2}
    return SAMPLERS["evolution"](encoding_of("nasbench201"), seed, settings)


def opened(path):
    return TrialLedger(path, nullcontext)


@pytest.fixture
def path(tmp_path):
    """The ledger of 12 trials, three in parallel."""
    events = []
    play(evolution(), planted, 12, window=3, events=events, fails=lambda number: number == 5)
    ledger = opened(tmp_path / "ledger.jsonl")
    for event, content in events:
        ledger.ask(content) if event == "ask" else ledger.tell(content)
    return ledger.path


def test_events_survive_the_file(path):
    first, *others = path.read_text().splitlines()
    assert json.loads(first) == {"event": "begin", "format": "xnas-trials", "version": 1}
    assert len(others) == 24
    events = opened(path).events
    assert [event.line for event in events] == list(range(2, 26))
    assert events[0].content == evolution().ask()
    told = [event.content for event in events if isinstance(event.content, Result)]
    assert told[5] == Result(number=5, value=None, state="failed", reason=failed(5).reason)
    assert isinstance(events[-1].content, Result)


def test_costs_are_not_in_it(tmp_path):
    ledger = opened(tmp_path / "ledger.jsonl")
    ledger.ask(evolution().ask())
    ledger.tell(Result(number=0, value=0.5, state="done", at=12, cost={"seconds": 3.0}))
    last = json.loads(ledger.path.read_text().splitlines()[-1])
    assert last == {"event": "tell", "number": 0, "value": 0.5, "state": "done", "at": 12}


def test_the_frozen_ledger_of_version_1_is_read_and_replayed(tmp_path):
    """Written by `evolution` above, 12 trials, three in parallel, the sixth failed."""
    path = tmp_path / "ledger.jsonl"
    shutil.copy(SAMPLES / "ledger-v1.jsonl", path)
    ledger, sampler = opened(path), evolution()
    replay(ledger.events, sampler, path, "xnas 0.1.0")
    assert (sampler.book.asked, sampler.book.failed) == (12, 1)
    assert path.read_bytes() == (SAMPLES / "ledger-v1.jsonl").read_bytes()


@pytest.mark.parametrize("durable", [True, False])
def test_every_line_is_on_the_disk_if_that_matters(tmp_path, monkeypatch, durable):
    synced = []
    ledger = TrialLedger(tmp_path / "ledger.jsonl", nullcontext, durable=durable)
    monkeypatch.setattr("os.fsync", lambda _: synced.append(ledger.path.read_text().count("\n")))
    ledger.ask(evolution().ask())
    ledger.tell(Result(number=0, value=0.5, state="done"))
    assert synced == ([2, 3] if durable else [])
    ledger.sync()
    assert synced[-1] == 3


def test_a_torn_last_line_is_cut_off_wherever_it_is_torn(path):
    whole = path.read_bytes()
    ends = [place + 1 for place, byte in enumerate(whole) if byte == ord("\n")]
    for cut in (3, ends[0] - 1, ends[0] + 5, ends[4] - 1, ends[4], len(whole) - 1):
        path.write_bytes(whole[:cut])
        kept = max((end for end in ends if end <= cut), default=0)
        assert len(opened(path).events) == max(0, whole[:kept].count(b"\n") - 1)
        assert path.read_bytes() == (whole[:kept] if kept else whole[: ends[0]])


def test_a_replayed_sampler_continues_as_the_first_one(path):
    whole = opened(path).events
    for cut in (0, 1, 7, 15, len(whole)):
        sampler = evolution()
        replay(whole[:cut], sampler, path, "xnas 0")
        replay(whole[cut:], sampler, path, "xnas 0")


def test_a_sampler_that_asks_another_cell_is_refused_with_the_line(path):
    with pytest.raises(
        DamagedFileError,
        match=r"line 2 of .*: the sampler asks another cell .* xnas 9; torch 2 wrote it",
    ):
        replay(opened(path).events, evolution(seed=1), path, "xnas 9; torch 2")

    with pytest.raises(DamagedFileError, match=r"changed; restore them from a copy, or begin another"):
        replay(opened(path).events, evolution(seed=1), path, "")

    class Waiting:
        def ask(self):
            return None

    with pytest.raises(DamagedFileError, match="asks nothing where the ledger has a cell"):
        replay(opened(path).events, Waiting(), path, "xnas 9")


def test_a_dear_sampler_accepts_what_it_was_asked(path):
    class Dear:
        def __init__(self):
            self.accepted, self.told = [], []

        def accept(self, trial):
            self.accepted.append(trial.number)

        def tell(self, result):
            self.told.append(result.number)

    dear = Dear()
    replay(opened(path).events, dear, path, "xnas 0")
    assert dear.accepted == dear.told == list(range(12))


def damaged(line, old, new, match):
    return pytest.param(line, old, new, match, id=match[:40])


@pytest.mark.parametrize(
    ("line", "old", "new", "match"),
    [
        damaged(3, '"event"', "event", "line 3: it is not JSON"),
        damaged(1, "begin", "end", "line 1: it does not begin a ledger"),
        damaged(2, '"ask"', '"tells"', "line 2: its event is 'tells', not ask or tell"),
        damaged(2, '"parent"', '"father"', "line 2: the keys of 'ask' are"),
        damaged(2, "~0", "~7", "line 2: node 1 of the normal cell has an edge from 7"),
        damaged(3, '"number": 1', '"number": 3', "line 3: it asks trial 3 after 1 others"),
        damaged(3, '"number": 1', '"number": -1', "line 3: -1 is no whole number from 0"),
        damaged(5, '"number": 0', '"number": 7', "line 5: it tells trial 7 before it was asked"),
        damaged(7, '"number": 1', '"number": 0', "line 7: it tells trial 0 again"),
        damaged(5, '"done"', '"gone"', "line 5: its state is 'gone', not done, failed or refused"),
        damaged(5, '"number": 0', '"number": "4"', "line 5: its number is '4', not a whole number"),
        damaged(5, '"number": 0', '"number": 0.0', "line 5: its number is 0.0, not a whole number"),
        damaged(
            5, '"done"', '["done"]', r"line 5: its state is \['done'\], not done, failed or refused"
        ),
        damaged(5, '"value": 0.', '"value": 1e308, "at": 0.', "line 5: "),
        damaged(5, '"at": null', '"at": 0', "line 5: it was measured at 0, which is no epoch"),
        damaged(5, '"at": null', '"at": -3', "line 5: it was measured at -3, which is no epoch"),
        damaged(5, '"value": 0', '"value": "x", "at": 0', "line 5: "),
        damaged(5, '"at": null', '"at": "12"', "line 5: it was measured at '12', which is no epoch"),
    ],
)
def test_a_damaged_line_is_refused_with_its_number(path, line, old, new, match):
    lines = path.read_text().split("\n")
    assert old in lines[line - 1], lines[line - 1]
    lines[line - 1] = lines[line - 1].replace(old, new, 1)
    path.write_text("\n".join(lines))
    with pytest.raises(DamagedFileError, match=match):
        opened(path)


def test_a_ledger_of_another_version_is_named(path):
    path.write_text(path.read_text().replace('"version": 1', '"version": 2', 1))
    with pytest.raises(VersionError, match="has version 2, this xnas reads 1"):
        opened(path)
