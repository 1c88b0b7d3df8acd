"""The life of a run, with a job that only counts: saved, stopped, resumed and reported."""

import json
from contextlib import contextmanager
from dataclasses import dataclass

import pytest
import torch
from searching import stripes
from searching import tiny as tiny_search
from torch import nn
from torch.nn.modules.module import register_module_forward_pre_hook
from training import curve, pictures
from training import tiny as tiny_training

import xnas
from xnas import SearchConfig
from xnas.engine.distributed import ALONE
from xnas.errors import ConfigError, FinishedError, RoundError
from xnas.process.interrupt import Interrupted
from xnas.records import EpochCost
from xnas.runs import lifecycle
from xnas.runs.displays import Silence
from xnas.runs.job import Kind, Position
from xnas.runs.lifecycle import begin, resume
from xnas.runs.run_folder import RunFolder

LENGTHS = (2, 5, 1, 3)
"""Steps of each epoch: they need not be equal."""
CPU = torch.device("cpu")


@dataclass(frozen=True)
class Counted:
    """One epoch."""

    epoch: int
    done: int
    drawn: float
    cost: EpochCost

    @classmethod
    def from_json(cls, saved):
        return cls(**saved | {"cost": EpochCost(**saved["cost"])})


class Listening(Silence):
    def __init__(self):
        self.lines, self.warnings = [], []

    def say(self, line):
        self.lines.append(line)

    def warn(self, line):
        self.warnings.append(line)


class Counting:
    """Counts steps, and adds up numbers of the device's generator."""

    device, ranks, seed, identity = CPU, ALONE, 7, {"adds": "one"}

    def __init__(self, config, fail_at=None):
        self.config, self.fail_at = config, fail_at
        self.epoch, self.step_in_epoch, self.drawn = 0, 0, torch.zeros(())

    @property
    def done(self):
        return sum(LENGTHS[: self.epoch]) + self.step_in_epoch

    def position(self):
        steps = LENGTHS[min(self.epoch, len(LENGTHS) - 1)]
        left = sum(LENGTHS) - self.done
        return Position(self.epoch, len(LENGTHS), self.step_in_epoch, steps, self.done, left)

    def introduction(self):
        return ["counts"]

    def cautions(self):
        return ["it only counts"]

    def begin_epoch(self):
        pass

    def step(self, clock):
        with clock.paused():
            pass
        self.step_in_epoch += 1
        self.drawn += torch.rand(())

    def report_step(self):
        if self.done == self.fail_at:
            raise RoundError("counted too far")

    def end_epoch(self, cost):
        self.epoch, self.step_in_epoch = self.epoch + 1, 0
        return Counted(self.epoch, self.done, float(self.drawn), cost)

    def curves(self, record):
        return {"done": record.done}

    def warnings(self, record):
        return ["half of it"] if record.epoch == 2 else []

    def require_sound(self):
        pass

    def state(self):
        counters = {"epoch": self.epoch, "step_in_epoch": self.step_in_epoch, "drawn": self.drawn}
        return {"format": "counting", "version": 1, "random": torch.get_rng_state(), **counters}

    def restore(self, state):
        self.epoch, self.step_in_epoch = state["epoch"], state["step_in_epoch"]
        self.drawn = state["drawn"].clone()
        torch.set_rng_state(state["random"])

    def remember(self, records):
        assert [record.epoch for record in records] == list(range(1, self.epoch + 1))

    def conclude(self, folder, records):
        folder.write_text("genotype.json", "{}")
        return [(record.epoch, record.done, record.drawn) for record in records]


def require_unfinished(folder, _):
    if (folder.path / "genotype.json").exists():
        raise FinishedError("counted to the end")


KIND = Kind(
    command="search",
    noun="search",
    unit="count",
    checkpoint=("counting", (1,)),
    settings=SearchConfig,
    record=Counted.from_json,
    tests=False,
    require_unfinished=require_unfinished,
)


def start(out, display=None, *, minutes=0.0, **arguments):
    config = SearchConfig(out=out, device="cpu", checkpoint_minutes=minutes, report=False)
    job, shown = Counting(config, **arguments), display or Silence()
    return job, lambda: begin(KIND, job, stripes(count=16), data=None, display=shown)


def again(out, display=None, jobs=None, **changes):
    def build(_, config, __):
        jobs.append(Counting(config))
        return jobs[-1]

    jobs, shown = [] if jobs is None else jobs, display or Silence()
    data = stripes(count=16)
    return resume(KIND, out, build, data=data, changes=changes, ranks=ALONE, display=shown)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run that nothing stopped: its folder, its result and what it reported."""
    out, display = tmp_path_factory.mktemp("whole") / "run", Listening()
    return out, start(out, display)[1](), display


def test_epochs_of_any_length_are_played_and_reported(whole):
    out, result, display = whole
    assert [(epoch, done) for epoch, done, _ in result] == [(1, 2), (2, 7), (3, 8), (4, 11)]
    assert curve(out, "done") == [(2, 2), (7, 7), (8, 8), (11, 11)]
    assert display.lines[0] == "counts"
    assert display.lines[1].startswith("estimate: 0 s for 6 more counts, ")
    assert display.warnings == ["it only counts", "half of it"]


def test_the_cost_of_an_epoch_is_that_of_its_steps(whole):
    records = [json.loads(line) for line in (whole[0] / "metrics.jsonl").read_text().splitlines()]
    for record, steps in zip(records, LENGTHS, strict=True):
        cost = record["cost"]
        assert cost["seconds"] == pytest.approx(cost["seconds_per_round"] * steps)


@pytest.mark.parametrize("at", range(1, 12))
def test_a_run_that_failed_anywhere_is_resumed_once_and_to_the_same_end(tmp_path, whole, at):
    out, display, jobs = tmp_path / "run", Listening(), []
    with pytest.raises(RoundError, match=rf"after count {at}, epoch \d: counted too far; .*saved"):
        start(out, fail_at=at)[1]()
    torch.manual_seed(at)  # the caller's generator plays no part, and is left as it was
    mine = torch.get_rng_state()
    assert again(out, display, jobs) == whole[1]
    assert torch.equal(torch.get_rng_state(), mine)
    assert len(jobs) == 1
    if at == 1:
        assert "begins again from its start" in display.warnings[0]
    else:
        assert f"resuming after count {at - 1}" in display.lines
        assert display.warnings == ["half of it"] * (at <= 7)


def test_a_stop_is_honoured_after_the_step_with_a_checkpoint(tmp_path, whole, monkeypatch):
    out = tmp_path / "run"
    job, play = start(out, minutes=10.0)

    @contextmanager
    def asked():
        yield lambda: job.done >= 4

    words = r"^stopped after count 4; resume with: xnas.resume_search\(.*, data=...\), with the same"
    with monkeypatch.context() as patch:
        patch.setattr(lifecycle, "stop_at_round", asked)
        with pytest.raises(Interrupted, match=words):
            play()
    display = Listening()
    assert again(out, display) == whole[1]
    assert "resuming after count 4" in display.lines


def test_after_a_checkpoint_that_does_not_fit_the_job_is_built_again(tmp_path, whole):
    out, display, jobs = tmp_path / "run", Listening(), []
    with pytest.raises(RoundError):
        start(out, fail_at=6)[1]()
    kept = RunFolder(out).checkpoints
    state = kept.newest(CPU, print)
    kept.save(state | {"settings": json.dumps(json.loads(state["settings"]) | {"adds": "two"})})
    assert again(out, display, jobs) == whole[1]
    assert "is of a run with other settings (adds 'two', not 'one')" in display.warnings[0]
    assert len(jobs) == 2


def test_a_finished_run_is_not_resumed(whole):
    with pytest.raises(FinishedError, match="counted to the end"):
        again(whole[0])


def test_settings_that_decide_the_rounds_cannot_be_changed(tmp_path):
    out = tmp_path / "run"
    with pytest.raises(RoundError):
        start(out, fail_at=1)[1]()
    with pytest.raises(ConfigError, match="seed"):
        again(out, seed=3)


@pytest.fixture
def precisions():
    """How fp32 was computed at every convolution of a module."""
    seen = set()

    def note(module, inputs):
        if isinstance(module, nn.Conv2d) and inputs[0].device.type != "meta":  # sizes are counted there
            convolutions, products = torch.backends.cudnn.conv, torch.backends.cuda.matmul
            seen.add((module.training, convolutions.fp32_precision, products.fp32_precision))

    handle = register_module_forward_pre_hook(note)
    yield seen
    handle.remove()


@pytest.mark.usefixtures("small_space")
def test_rounds_of_a_search_compute_in_full_fp32(tmp_path, precisions):
    config = tiny_search(space="small", epochs=1, quiet=True, out=tmp_path / "run")
    xnas.search(config, stripes())
    assert precisions == {(True, "ieee", "ieee")}


def test_steps_of_a_training_and_its_test_compute_in_full_fp32(tmp_path, precisions):
    config = tiny_training(cell="xnas", epochs=1, quiet=True, out=tmp_path / "run")
    xnas.train(config, pictures())
    assert precisions == {(True, "ieee", "ieee"), (False, "ieee", "ieee")}
