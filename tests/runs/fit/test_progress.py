"""Progress of a whole fit, in planned seconds."""

from types import SimpleNamespace

from fitting import Watching

from xnas.runs.fit.following import StageDisplay
from xnas.runs.fit.progress import FitProgress


def training(steps, epochs=2, each=10):
    settings = SimpleNamespace(epochs=epochs, steps_per_epoch=each)
    return SimpleNamespace(steps=steps, settings=settings)


def record(epoch, valid=0.5):
    return SimpleNamespace(epoch=epoch, valid_accuracy=valid, train_accuracy=0.25)


def test_the_bar_counts_planned_seconds_of_the_whole(capsys):
    progress = FitProgress(quiet=False)
    assert progress.standing() == "measuring the speed of this machine"
    progress.begin_stage("search", 40.0, 100.0)
    search = SimpleNamespace(rounds=15, settings=SimpleNamespace(epochs=3, rounds_per_epoch=10))
    progress.after_round(search)
    assert (progress.done, progress.total) == (20, 100)
    assert progress.standing().startswith("search, round 15/30; ")
    progress.begin_stage("resnet", 50.0, 60.0)
    progress.after_step(training(10))
    assert (progress.done, progress.total) == (65, 100)
    progress.begin_stage("end", 10.0, 10.0)
    assert progress.standing().startswith("the end; ")
    said = capsys.readouterr().out
    assert "search: about 40 s; 2 min left for all" in said
    assert "small ResNet: about 50 s; " in said


def test_a_resumed_fit_counts_from_its_first_stage():
    progress = FitProgress(quiet=True)
    progress.begin_stage("random", 30.0, 60.0)
    progress.after_step(training(10))
    assert (progress.done, progress.total) == (15, 60)


def test_some_epochs_of_a_stage_are_printed_and_the_last(capsys):
    progress = FitProgress(quiet=False)
    progress.begin_stage("found", 10.0, 10.0)
    capsys.readouterr()
    for epoch in range(1, 34):
        progress.after_epoch(record(epoch), 33)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 9  # every fourth, and the last
    assert lines[-1].startswith("  epoch 33/33: training 25.0 %, validation 50.0 %; ")


def test_the_runs_inside_pass_on_steps_epochs_and_warnings_only():
    watching = Watching()
    epochs = []
    watching.after_epoch = lambda record, _: epochs.append(record)
    stage = StageDisplay(watching, SimpleNamespace(save=lambda: None))
    stage.say("chosen: 3 cells")
    stage.warn("careful")
    stage.after_round(None)
    stage.after_step(None)
    stage.after_epoch("record", 3)
    assert (watching.lines, watching.warnings, watching.count) == ([], ["careful"], 2)
    assert epochs == ["record"]
