"""Numbers, memory and devices that fail: the run stops, keeps what was good, and says what to try."""

import json
import re

import pytest
import searching
import torch
import training

from xnas.cli import main
from xnas.engine import Search
from xnas.errors import RoundError
from xnas.process.failures import failure
from xnas.runs.displays import Silence
from xnas.runs.search import SearchJob, resume_search, search
from xnas.runs.train import TrainJob, resume_training, train

pytestmark = pytest.mark.usefixtures("small_space")

LATE = 5  # a round or step of the second epoch or later, after a checkpoint
OUT_OF_MEMORY = torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB.")
CPU_OUT_OF_MEMORY = RuntimeError(
    "[enforce fail at alloc_cpu.cpp:117] . DefaultCPUAllocator: can't allocate memory"
)
DEAD = torch.AcceleratorError("CUDA error: an illegal memory access was encountered")
DEAD_TOO = RuntimeError("CUDA error: unspecified launch failure\nCompile with `TORCH_USE_CUDA_DSA`")


class Spoiler(Silence):
    """Does something to a search or a training after so many rounds or steps."""

    def __init__(self, act, after=LATE):
        self.act, self.after = act, after

    def after_round(self, engine):
        if engine.rounds == self.after:
            self.act(engine)

    def after_step(self, engine):
        if engine.steps == self.after:
            self.act(engine)


def raising(error):
    def act(engine):
        def forward(*_, **__):
            raise error

        if isinstance(engine, Search):
            engine.supernet.forward = forward
        else:
            engine.forward = forward

    return act


def spoil_weights(value):
    def act(engine):
        module = engine.supernet if isinstance(engine, Search) else engine.model
        module.classifier.weight.data.fill_(value)

    return act


def spoil_gradients(value):
    """The loss stays finite: only what is handed back through the classifier is not."""

    def act(engine):
        module = engine.supernet if isinstance(engine, Search) else engine.model
        module.classifier.weight.register_hook(lambda gradient: gradient * value)

    return act


def explode_rewards(engine):
    plain = engine.method.step

    def step():
        for mixture in engine.mixtures.values():
            mixture.grad = mixture.grad + float("inf")
        plain()

    engine.method.step = step


def few():
    """Images for 2 rounds an epoch."""
    return searching.stripes(count=32)


def pictures():
    """Images for 4 steps an epoch."""
    return training.pictures(count=32)


def a_search(tmp_path, act):
    out = tmp_path / "run"
    search(searching.small(epochs=4, out=out), few(), display=Spoiler(act))


def a_training(tmp_path, act):
    out = tmp_path / "run"
    train(training.tiny(epochs=4, out=out), pictures(), display=Spoiler(act))


CASES = {
    "weights are NaN": (spoil_weights(float("nan")), "nan|finite", "--weights-lr|learning rate"),
    "weights are infinite": (
        spoil_weights(float("inf")),
        "nan|inf|finite",
        "--weights-lr|learning rate",
    ),
    "gradients are NaN": (spoil_gradients(float("nan")), "nan|finite", "--weights-lr|learning rate"),
    "gradients are infinite": (
        spoil_gradients(float("inf")),
        "nan|finite",
        "--weights-lr|learning rate",
    ),
    "out of memory": (raising(OUT_OF_MEMORY), "memory ran out", "--batch-size"),
    "out of the CPU's memory": (raising(CPU_OUT_OF_MEMORY), "memory ran out", "--batch-size"),
    "Python out of memory": (raising(MemoryError()), "memory ran out", "--batch-size"),
    "dead device": (raising(DEAD), "device failed", "--device"),
    "dead device, other words": (raising(DEAD_TOO), "device failed", "--device"),
}


TRAINED_ALONE = ("weights are NaN", "Python out of memory", "dead device")
LIKE_OTHERS = (
    "weights are infinite",
    "gradients are infinite",
    "out of the CPU's memory",
    "dead device, other words",
)


@pytest.mark.parametrize(
    ("case", "begin"),
    [
        pytest.param(c, a_search, marks=[pytest.mark.slow] * (c in LIKE_OTHERS + TRAINED_ALONE))
        for c in CASES
    ]
    + [pytest.param(c, a_training, marks=[pytest.mark.slow] * (c in LIKE_OTHERS)) for c in CASES],
)
def test_a_run_that_fails_says_where_what_and_what_to_try_and_keeps_a_checkpoint(tmp_path, case, begin):
    act, what, remedy = CASES[case]
    with pytest.raises(RoundError) as caught:
        begin(tmp_path, act)
    message = str(caught.value)
    assert re.search(r"(round|step) \d+, epoch \d", message), message
    assert re.search(what, message), message
    assert re.search(remedy, message), message
    kept = re.search(r"saved in (\S+\.pt)", message)
    assert kept, message
    state = torch.load(kept[1], weights_only=True)
    assert state["epoch"] >= 1
    numbers = state["supernet"] if "supernet" in state else state["model"]
    assert all(bool(t.isfinite().all()) for t in numbers.values())
    lines = (tmp_path / "run" / "metrics.jsonl").read_text(encoding="utf8").splitlines()
    assert len(lines) == state["epoch"]  # no epoch is reported that is not kept, and none is skipped
    assert all(json.loads(line)["train_loss"] < 1e6 for line in lines)


@pytest.mark.parametrize(
    ("begin", "resume", "images"),
    [
        (a_search, resume_search, few),
        (a_training, resume_training, pictures),
    ],
)
def test_a_run_that_ran_out_of_memory_resumes_from_its_checkpoint(tmp_path, begin, resume, images):
    with pytest.raises(RoundError):
        begin(tmp_path, raising(OUT_OF_MEMORY))
    assert len(resume(tmp_path / "run", data=images()).epochs) == 4


def test_rewards_that_explode_are_refused_by_the_round_that_gives_them(tmp_path):
    with pytest.raises(
        RoundError, match=r"round \d+, epoch \d: mixture 0 refused .* is -inf; .* saved in"
    ):
        a_search(tmp_path, explode_rewards)


def test_a_failure_before_the_first_checkpoint_says_that_nothing_was_kept(tmp_path):
    begin = Spoiler(raising(OUT_OF_MEMORY), after=1)
    with pytest.raises(RoundError, match=r"memory ran out .* nothing was saved"):
        search(searching.small(out=tmp_path / "run"), searching.stripes(), display=begin)


def test_other_errors_are_not_taken_for_failures():
    assert failure(RuntimeError("mat1 and mat2 shapes cannot be multiplied")) is None
    assert failure(KeyError("CUDA error")) is None


@pytest.mark.parametrize("kind", ["search", "train"])
def test_a_failure_at_the_very_end_keeps_the_last_checkpoint_and_resumes_from_it(
    tmp_path, monkeypatch, kind
):
    out = tmp_path / "run"
    job = {"search": SearchJob, "train": TrainJob}[kind]
    begin, again = {"search": (search, resume_search), "train": (train, resume_training)}[kind]
    tiny, data = {"search": (searching.small, few()), "train": (training.tiny, pictures())}[kind]

    def fail(*_, **__):
        raise OUT_OF_MEMORY

    with monkeypatch.context() as patch:
        patch.setattr(job, "conclude", fail)
        with pytest.raises(RoundError, match=r"after the last .*memory ran out .* saved in .*\.pt"):
            begin(tiny(epochs=1, out=out), data)
    assert len(again(out, data=data).epochs) == 1


@pytest.mark.parametrize("error", [OUT_OF_MEMORY, MemoryError(), DEAD_TOO])
def test_the_command_line_reports_a_failure_in_one_line(monkeypatch, capsys, error):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr("xnas.runs.search.search", fail)
    with pytest.raises(SystemExit) as end:
        main(["search", "digits", "--quiet"])
    told = capsys.readouterr().err
    assert end.value.code == 2
    assert re.fullmatch(r"xnas: (memory ran out|the device failed) .*\n", told), told


def test_the_command_line_does_not_let_a_name_command_the_terminal(capsys):
    with pytest.raises(SystemExit):
        main(["show", "a\x1b[2Jb"])
    assert "\x1b" not in capsys.readouterr().err
