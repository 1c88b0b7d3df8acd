"""A whole search: what it writes, that it can be stopped and go on, that it never sees test images."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from nasbench201 import rows, write_table
from searching import small, stripes
from training import checkpoint, curve

from xnas import ConfigError, Genotype, resume_search, search
from xnas.engine import Checkpoints
from xnas.errors import DatasetError, DeviceError, GenotypeError, VersionError
from xnas.methods import METHODS
from xnas.methods import xnas as xnas_method
from xnas.nn.operations import OPERATIONS
from xnas.options import saved_options
from xnas.process.devices import pick_device
from xnas.process.interrupt import Interrupted
from xnas.runs.cells import architecture_of
from xnas.runs.displays import Silence
from xnas.runs.run_folder import RunFolder
from xnas.runs.search_config import SearchConfig, faithful
from xnas.runs.search_plan import resolve
from xnas.space import SPACES, SearchSpace
from xnas.space.guards import UNGUARDED

pytestmark = pytest.mark.usefixtures("small_space")


class Listening(Silence):
    """Remembers what was said; may ask to stop after a round."""

    def __init__(self, stop_after=None):
        self.lines, self.warnings, self.stop_after = [], [], stop_after

    def say(self, line):
        self.lines.append(line)

    def warn(self, line):
        self.warnings.append(line)

    def after_round(self, search):
        if search.rounds == self.stop_after:
            os.kill(os.getpid(), signal.SIGINT)


def metrics(out):
    """Metrics of a run without what depends on the machine."""
    lines = (Path(out) / "metrics.jsonl").read_text(encoding="utf8").splitlines()
    return [{k: v for k, v in json.loads(line).items() if k != "cost"} for line in lines]


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    out = tmp_path_factory.mktemp("search") / "run"
    display = Listening()
    result = search(small(out=out, relaxation=0.02, gap_every=2), stripes(), display=display)
    return out, result, display


def test_a_search_ends_with_a_cell_of_one_expert_an_edge(finished):
    out, result, _ = finished
    genotype = Genotype.load(out / "genotype.json")
    assert genotype == result.genotype
    assert result.rounds == 15
    assert all(ledger.living == 5 for ledger in result.ledgers.values())


def test_the_run_folder_holds_all_that_is_needed(finished):
    out, result, _ = finished
    names = {path.name for path in out.iterdir()}
    assert names == {
        "config.json",
        "metrics.jsonl",
        "genotype.json",
        "discretization.json",
        "ledger.json",
        "checkpoints",
        "tensorboard",
    }
    config = json.loads((out / "config.json").read_text(encoding="utf8"))
    assert config["format"] == "xnas-run"
    assert config["config"]["epochs"] == 3
    assert config["config"]["skip_dropout"] == "0.5"
    assert [e["epoch"] for e in metrics(out)] == [1, 2, 3]
    reasons = json.loads((out / "discretization.json").read_text(encoding="utf8"))["edges"]
    assert sum(edge["kept"] for edge in reasons) == 8
    assert len(reasons) == 10
    assert result.epochs[-1].cost.seconds_per_round > 0


def test_every_epoch_records_its_cell_and_the_last_one_is_the_genotype(finished):
    out, result, _ = finished
    cells = [Genotype.from_json(json.dumps(line["cell"])) for line in metrics(out)]
    assert cells[-1] == Genotype.load(out / "genotype.json") == result.genotype
    assert cells[0] != cells[-1]


def test_experts_leave_during_the_search_and_the_gap_is_measured_before_the_last_round(finished):
    _, result, _ = finished
    assert result.epochs[0].deleted or result.epochs[1].deleted
    assert sum(len(e.deleted) for e in result.epochs) == 70 - 10
    assert result.epochs[1].gap is not None
    assert result.epochs[2].gap is not None
    assert result.epochs[2].weights_alive < result.epochs[0].weights_alive


def test_what_was_chosen_and_what_to_expect_is_said(finished):
    _, _, display = finished
    told = "\n".join(display.lines)
    assert "learning rate of the normal mixture: paper" in told
    assert "estimate: " in told
    assert any(
        "80 images are few for a search; a fine-tuned" in line and "xnas fit" in line
        for line in display.warnings
    )


@pytest.mark.parametrize("method", ["xnas", pytest.param("darts", marks=pytest.mark.slow)])
def test_a_search_that_was_stopped_ends_like_one_that_was_not(tmp_path, method):
    relaxation = 0.02 if method == "xnas" else None
    config = small(relaxation=relaxation, method=method, epochs=2)
    whole = search(SearchConfig(**_fields(config, out=tmp_path / "whole")), stripes())
    path = tmp_path / "parts"
    with pytest.raises(Interrupted, match="stopped after round 4; resume with: xnas"):
        search(SearchConfig(**_fields(config, out=path)), stripes(), display=Listening(stop_after=4))
    with pytest.raises(Interrupted, match="stopped after round 7"):
        resume_search(path, data=stripes(), display=Listening(stop_after=7))
    parts = resume_search(path, data=stripes())
    assert parts.genotype == whole.genotype
    assert parts.ledgers == whole.ledgers
    assert metrics(tmp_path / "parts") == metrics(tmp_path / "whole")
    saved = [checkpoint(tmp_path / name) for name in ("whole", "parts")]
    for name, value in saved[0]["supernet"].items():
        assert torch.equal(value, saved[1]["supernet"][name]), name


@pytest.mark.slow
@pytest.mark.parametrize("stop", [5, *(pytest.param(n, marks=pytest.mark.slow) for n in (9, 10))])
def test_a_stop_in_the_last_round_of_an_epoch_closes_the_epoch_first(tmp_path, stop):
    config = small(relaxation=0.02, epochs=2)
    whole = search(SearchConfig(**_fields(config, out=tmp_path / "whole")), stripes())
    path, display = tmp_path / "parts", Listening(stop_after=stop)
    if stop == 10:  # nothing is left to stop
        parts = search(SearchConfig(**_fields(config, out=path)), stripes(), display=display)
    else:
        with pytest.raises(Interrupted, match=f"stopped after round {stop}"):
            search(SearchConfig(**_fields(config, out=path)), stripes(), display=display)
        parts = resume_search(path, data=stripes())
    assert parts.ledgers == whole.ledgers
    assert metrics(path) == metrics(tmp_path / "whole")


def test_other_images_are_not_resumed_on(tmp_path):
    path = tmp_path / "run"
    with pytest.raises(Interrupted, match=r"resume with: xnas.resume_search\(.*data=...\)"):
        search(small(out=path), stripes(), display=Listening(stop_after=2))
    with pytest.raises(ConfigError, match="was given its images in memory; resume it with"):
        resume_search(str(path))
    with pytest.raises(ConfigError, match=r"the images are not those that the search in .* began with"):
        resume_search(path, data=stripes(seed=1))


def test_images_that_are_gone_are_asked_for_where_they_were(tmp_path):
    path = tmp_path / "run"
    with pytest.raises(Interrupted):
        search(small(out=path), "digits", display=Listening(stop_after=2))
    _edit(path, lambda saved: saved.update(data="/nowhere"))
    told = (
        r"'/nowhere'; .*config\.json says that the run began with /nowhere: restore it, or write there"
    )
    with pytest.raises(DatasetError, match=told):
        resume_search(path)


def test_a_folder_is_held_by_one_process_at_a_time(finished):
    out, _, _ = finished
    folder = RunFolder.open(out)
    with folder.locked():
        other = "import sys; from pathlib import Path; from xnas.runs.run_folder import RunFolder\n"
        other += "with RunFolder.open(Path(sys.argv[1])).locked(): pass"
        done = subprocess.run(
            [sys.executable, "-c", other, str(out)], capture_output=True, text=True, check=False
        )
    assert "another process is running in" in done.stderr
    with folder.locked():
        pass


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda p: (p / "config.json").write_text("[]"), "is damaged: it does not hold an object"),
        (lambda p: (p / "config.json").write_text("{"), "cannot read .*config.json"),
        (lambda p: _edit(p, lambda c: c.pop("config")), "is damaged: the settings are missing"),
        (
            lambda p: _edit(p, lambda c: c["config"].update(experts_lr="x")),
            "experts-lr must be paper, matched",
        ),
        (lambda p: _edit(p, lambda c: c.update(version=9)), "has format version 9, this xnas reads 1"),
        (
            lambda p: _edit(p, lambda c: c.update(kind="training")),
            "not a search; give the run folder of",
        ),
        (lambda p: _edit(p, lambda c: c.update(kind="x" * 10**5)), "holds a x{50}, not a search"),
        (lambda p: _edit(p, lambda c: c.update(processes=["x"] * 10**4)), "number of processes is"),
        (lambda p: _edit(p, lambda c: c.update(processes=-1)), "number of processes is -1"),
        (lambda p: _edit(p, lambda c: c["config"].update(seed=10**30)), r"seed must be below 2\^63"),
        (
            lambda p: _edit(p, lambda c: c["config"].update(weights_lr=10**400)),
            r"lr must be below 2\^63",
        ),
        (lambda p: _damage(p, "tally"), "the checkpoint does not fit this search"),
    ],
)
def test_damaged_run_folders_are_named(tmp_path, spoil, words, stopped_run):
    copy = tmp_path / "copy"
    shutil.copytree(stopped_run, copy)
    spoil(copy)
    with pytest.raises(ConfigError, match=words) as caught:
        resume_search(copy, data=stripes())
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 1000


@pytest.fixture(scope="module")
def stopped_run(tmp_path_factory):
    path = tmp_path_factory.mktemp("stopped") / "run"
    with pytest.raises(Interrupted):
        search(small(out=path), stripes(), display=Listening(stop_after=6))
    return path


def _edit(folder, change):
    saved = json.loads((folder / "config.json").read_text(encoding="utf8"))
    change(saved)
    (folder / "config.json").write_text(json.dumps(saved), encoding="utf8")


def _damage(folder, key):
    state = checkpoint(folder)
    del state[key]
    shutil.rmtree(folder / "checkpoints")
    Checkpoints(folder / "checkpoints").save(state)


def test_a_checkpoint_of_a_gpu_is_not_called_damaged_on_a_cpu(tmp_path, stopped_run):
    copy = tmp_path / "copy"
    shutil.copytree(stopped_run, copy)
    of_a_gpu = torch.zeros(16, dtype=torch.uint8)
    Checkpoints(copy / "checkpoints").save(checkpoint(copy) | {"dropout": of_a_gpu})
    with pytest.raises(DeviceError, match=r"\.pt: .* the device cuda, and this is cpu") as caught:
        resume_search(copy, data=stripes())
    assert "damaged" not in str(caught.value)
    assert "--out" not in str(caught.value)


def test_a_damaged_checkpoint_is_told_and_the_one_before_it_leads_to_the_same_end(tmp_path, finished):
    out, result, _ = finished
    path, display = tmp_path / "run", Listening()
    with pytest.raises(Interrupted):
        search(
            small(out=path, relaxation=0.02, gap_every=2), stripes(), display=Listening(stop_after=12)
        )
    newest = Checkpoints(path / "checkpoints").files()[0]
    newest.write_bytes(newest.read_bytes()[:-1])
    (path / "metrics.jsonl").write_text('{"torn', encoding="utf8")
    assert resume_search(path, data=stripes(), display=display).ledgers == result.ledgers
    assert metrics(path) == metrics(out)
    assert any(
        "is damaged" in line and "resuming from the one before" in line for line in display.warnings
    )
    assert any("is restored from there" in line for line in display.warnings)
    assert "resuming after round 10" in display.lines


def test_checkpoints_are_taken_inside_an_epoch_when_the_last_is_old(tmp_path):
    path = tmp_path / "run"
    rounds = []

    class Looking(Silence):
        def after_round(self, search):
            kept = Checkpoints(path / "checkpoints").files()
            rounds.append((search.rounds, int(kept[0].name[:6]) if kept else 0))

    search(small(out=path, epochs=2, checkpoint_minutes=0.0), stripes(), display=Looking())
    # One a round before; none after the last round of an epoch but that of the epoch itself.
    assert rounds == [(n, n - 1) for n in range(1, 11)]


def test_a_damaged_genotype_is_written_again_and_a_whole_one_never(tmp_path, finished):
    out, result, _ = finished
    copy, display = tmp_path / "copy", Listening()
    shutil.copytree(out, copy)
    (copy / "genotype.json").write_text(result.genotype.to_json()[:100], encoding="utf8")
    assert resume_search(copy, data=stripes(), display=display).genotype == result.genotype
    assert (copy / "genotype.json").read_bytes() == (out / "genotype.json").read_bytes()
    assert any("the end of the search is written again" in line for line in display.warnings)
    newer = result.genotype.to_json().replace('"version": 1', '"version": 9')
    (copy / "genotype.json").write_text(newer, encoding="utf8")
    with pytest.raises(ConfigError, match="is finished"):
        resume_search(copy, data=stripes())


@pytest.mark.slow
def test_warnings_are_told_once_a_run_however_often_it_is_resumed(tmp_path, monkeypatch):
    monkeypatch.setattr(sys.modules["xnas.engine.outlook"], "SKIPS_TAKE_OVER", -1.0)
    path, told = tmp_path / "run", []
    for stop in (5, 7, None):
        display = Listening(stop_after=stop)
        if stop == 5:
            with pytest.raises(Interrupted):
                search(small(out=path), stripes(), display=display)
        elif stop:
            with pytest.raises(Interrupted):
                resume_search(path, data=stripes(), display=display)
        else:
            resume_search(path, data=stripes(), display=display)
        told += display.warnings
    assert len(told) == len(set(told)) >= 2


def test_a_folder_that_somebody_else_began_meanwhile_is_left_alone(tmp_path):
    mine, theirs = (RunFolder.create(lambda: tmp_path / "run") for _ in range(2))
    with theirs.locked(new=True):
        theirs.write_json("config.json", {})
    with pytest.raises(ConfigError, match="is not empty"), mine.locked(new=True):
        pass


def test_a_run_that_was_killed_before_it_began_is_begun_again(tmp_path):
    scratch = tmp_path / ".xnas-123-config.json.part"
    scratch.write_text("{", encoding="utf8")
    with pytest.raises(ConfigError, match="killed before it wrote that is begun again by its first com"):
        resume_search(tmp_path)
    search(small(out=tmp_path, epochs=1), stripes())
    assert not scratch.exists()


@pytest.mark.parametrize("name", [".movie.1.part", ".config.json.1.part", ".xnas-1-movie.part"])
def test_a_folder_with_a_file_of_somebody_else_is_left_alone(tmp_path, name):
    (tmp_path / name).write_text("precious", encoding="utf8")
    with pytest.raises(ConfigError, match=f"is not empty: it holds {name}; choose another --out"):
        search(small(out=tmp_path), stripes())
    assert (tmp_path / name).read_text(encoding="utf8") == "precious"


@pytest.fixture(scope="module")
def of_seed_7(tmp_path_factory):
    path = tmp_path_factory.mktemp("seed 7") / "run"
    with pytest.raises(Interrupted):
        search(small(out=path, seed=7), stripes(), display=Listening(stop_after=7))
    return path


def test_checkpoints_of_other_settings_are_refused_by_name(tmp_path, stopped_run, of_seed_7):
    copy = shutil.copytree(stopped_run, tmp_path / "copy")
    shutil.rmtree(copy / "checkpoints")
    shutil.copytree(of_seed_7 / "checkpoints", copy / "checkpoints")
    before = (copy / "metrics.jsonl").read_bytes()
    with pytest.raises(ConfigError, match=r"00002-.*\.pt: .* other settings \(seed 7, not 0\)"):
        resume_search(copy, data=stripes())
    assert (copy / "metrics.jsonl").read_bytes() == before


def test_settings_that_were_changed_in_the_middle_of_a_run_are_refused_by_name(tmp_path, stopped_run):
    copy = shutil.copytree(stopped_run, tmp_path / "copy")
    _edit(copy, lambda saved: saved["config"].update(seed=1, epochs=9))
    with pytest.raises(ConfigError, match=r"other settings \(seed 0, not 1; epochs 3, not 9\)"):
        resume_search(copy, data=stripes())
    _edit(copy, lambda saved: saved["config"].update(seed=0, epochs=3))
    _edit(copy, lambda saved: saved["config"].pop("relaxation"))
    with pytest.raises(ConfigError, match=r"other settings \(relaxation, which is missing now\)"):
        resume_search(copy, data=stripes())


def test_settings_that_change_no_round_may_be_others(tmp_path, stopped_run):
    copy = shutil.copytree(stopped_run, tmp_path / "copy")
    free = {"out": "moved", "checkpoint_minutes": 3.0, "backend": "auto", "quiet": True}
    _edit(copy, lambda saved: saved["config"].update(free))
    display = Listening(stop_after=7)
    with pytest.raises(Interrupted):
        resume_search(copy, data=stripes(), display=display)
    assert "resuming after round 6" in display.lines


@pytest.mark.slow
def test_a_search_goes_on_with_the_backend_that_it_is_given(tmp_path, stopped_run):
    copy, display = shutil.copytree(stopped_run, tmp_path / "copy"), Listening()
    before = (copy / "config.json").read_bytes()
    assert json.loads(before)["config"]["backend"] == "reference"
    with pytest.raises(
        Interrupted, match=r"with: xnas.resume_search\('.*', data=..., backend='fused'\)"
    ):
        resume_search(copy, data=stripes(), display=Listening(stop_after=7), backend="fused")
    result = resume_search(copy, data=stripes(), display=display, backend="fused")
    assert "resuming after round 7" in display.lines
    assert any(line.endswith("rounds on cpu (fused, fp32)") for line in display.lines)
    assert len(result.epochs) == 3
    assert (copy / "config.json").read_bytes() == before


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"epochs": 9}, "a resumed run keeps its --epochs; leave it out: only --backend, --check"),
        (
            {"batch_size": 9},
            "keeps its --batch-size.*backend, --checkpoint-minutes, --data-dir, --dev",
        ),
        ({"truth": "x.csv"}, "a resumed run keeps its --truth"),
        ({"warp": 1}, "a run has no setting --warp; leave it out: only --backend"),
        ({"backend": "warp"}, "backend must be auto, reference, captured or fused, got 'warp'"),
    ],
)
def test_settings_that_say_which_rounds_are_played_are_not_given_anew(
    tmp_path, stopped_run, changes, words
):
    copy = shutil.copytree(stopped_run, tmp_path / "copy")
    with pytest.raises(ConfigError, match=words):
        resume_search(copy, data=stripes(), **changes)
    assert metrics(copy) == metrics(stopped_run)


@pytest.mark.parametrize("told", [True, False])
def test_one_checkpoint_of_another_run_is_passed_over(tmp_path, stopped_run, of_seed_7, told):
    """Also one that does not tell its settings, as of earlier versions, and does not fit."""
    copy, display = shutil.copytree(stopped_run, tmp_path / "copy"), Listening(stop_after=7)
    state = checkpoint(of_seed_7)
    if not told:
        del state["settings"]
        state["deleted"] = [["normal", 99, 99]]
    foreign = Checkpoints(copy / "checkpoints").save(state)
    with pytest.raises(Interrupted):
        resume_search(copy, data=stripes(), display=display)
    assert "resuming after round 6" in display.lines
    assert display.warnings[0].startswith(f"{foreign}: the checkpoint ")
    assert "resuming from the one before it, 000002-" in display.warnings[0]


def test_a_checkpoint_of_a_training_in_a_search_is_named(tmp_path, stopped_run):
    copy = shutil.copytree(stopped_run, tmp_path / "copy")
    shutil.rmtree(copy / "checkpoints")
    path = Checkpoints(copy / "checkpoints").save({"format": "xnas-train-checkpoint", "version": 2})
    with pytest.raises(ConfigError, match=f"{path}: not a checkpoint of a search: its format is 'xnas-"):
        resume_search(copy, data=stripes())


def test_epochs_whose_checkpoints_are_lost_are_not_played_again_silently(tmp_path, stopped_run):
    copy, display = shutil.copytree(stopped_run, tmp_path / "copy"), Listening(stop_after=1)
    for path in Checkpoints(copy / "checkpoints").files():
        path.unlink()
    before = (copy / "metrics.jsonl").read_bytes()
    words = r"no checkpoint is left in .*copy, though metrics.jsonl has 1 epoch; .* delete metrics"
    with pytest.raises(ConfigError, match=words):
        resume_search(copy, data=stripes())
    assert (copy / "metrics.jsonl").read_bytes() == before
    (copy / "metrics.jsonl").unlink()
    with pytest.raises(Interrupted):
        resume_search(copy, data=stripes(), display=display)
    assert "holds no checkpoint; the run begins again from its start" in display.warnings[0]


def test_a_run_that_was_killed_between_checkpoint_and_metric_goes_on(tmp_path, finished):
    out, _, _ = finished
    path, display = tmp_path / "run", Listening(stop_after=6)
    with pytest.raises(Interrupted):
        search(small(out=path, relaxation=0.02, gap_every=2), stripes(), display=Listening(stop_after=5))
    (path / "metrics.jsonl").unlink()
    with pytest.raises(Interrupted):
        resume_search(path, data=stripes(), display=display)
    assert metrics(path) == metrics(out)[:1]
    assert "resuming after round 5" in display.lines
    assert not any("metrics.jsonl" in line for line in display.warnings)


def test_workers_do_not_hold_the_folder_of_a_run_that_was_killed(tmp_path):
    folder = RunFolder.create(lambda: tmp_path / "run")
    killed = (
        "import os, signal, sys; from pathlib import Path; from xnas.runs.run_folder import RunFolder\n"
        "with RunFolder(Path(sys.argv[1])).locked():\n"
        "    worker = os.fork()\n"
        "    if not worker: os.close(1), os.close(2), signal.pause()\n"
        "    print(worker, flush=True)\n"
        "    os.kill(os.getpid(), signal.SIGKILL)"
    )
    done = subprocess.run(
        [sys.executable, "-c", killed, str(folder.path)], capture_output=True, text=True, check=False
    )
    try:
        assert done.returncode == -signal.SIGKILL
        with folder.locked():
            pass
    finally:
        os.kill(int(done.stdout), signal.SIGKILL)


def _fields(config, **changes):
    return vars(config) | changes


def test_a_run_without_a_checkpoint_resumes_from_its_start(tmp_path, finished):
    out, result, _ = finished
    copy = tmp_path / "copy"
    copy.mkdir()
    (copy / "config.json").write_bytes((out / "config.json").read_bytes())
    (copy / "metrics.jsonl").write_text('{"half": "a line', encoding="utf8")
    assert resume_search(copy, data=stripes()).genotype == result.genotype
    assert metrics(copy) == metrics(out)


def test_the_same_seed_gives_the_same_search_and_test_images_play_no_part(tmp_path, finished):
    out, result, _ = finished
    poison = torch.randint(0, 255, (10, 1, 8, 8), dtype=torch.uint8)
    again = search(small(out=tmp_path / "again", relaxation=0.02, gap_every=2), stripes(test=poison))
    assert again.genotype == result.genotype
    assert metrics(tmp_path / "again") == metrics(out)


def test_without_wipeout_everybody_stays_to_the_end(tmp_path):
    result = search(small(out=tmp_path / "all", wipeout=False, epochs=2), stripes())
    assert result.epochs[-1].experts_alive == {"normal": 35, "reduction": 35}
    assert sum(len(e.deleted) for e in result.epochs) == 0


def test_per_sample_accounting_plays_every_round_of_its_horizon(tmp_path):
    result = search(small(out=tmp_path / "fine", accounting="sample", epochs=2), stripes())
    assert result.ledgers["normal"].rounds == 10 * 8 * 1
    assert result.ledgers["reduction"].rounds == 10 * 8 * 2
    assert "several rounds shared one mixture" in result.ledgers["normal"].bound_note


def test_darts_runs_by_its_own_protocol(tmp_path):
    result = search(small(out=tmp_path / "darts", method="darts", epochs=1), stripes())
    assert result.ledgers == {}
    config = json.loads((tmp_path / "darts" / "config.json").read_text(encoding="utf8"))["config"]
    assert (config["skip_dropout"], config["include_none"], config["auto_augment"]) == ("0", True, False)
    assert "none" not in result.genotype.to_json()


def test_faithful_switches_every_guard_off():
    resolved = resolve(SearchConfig(faithful=True), examples=25_000, device=torch.device("cpu"))
    assert (resolved.experts_lr, resolved.relaxation, resolved.guards) == ("paper", 1.0, UNGUARDED)
    assert (resolved.auto_augment, resolved.include_none) == (True, False)
    paper = faithful()
    assert (paper.epochs, paper.batch_size, paper.cells, paper.channels) == (50, 96, 8, 16)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("cuda:99", "device cuda:99 is not there: .* use --device cpu"),
        ("toaster", "no such device: 'toaster'; use auto, cpu, cuda or cuda:0"),
        ("mps", "device mps cannot search: sums of rewards need float64"),
    ],
)
def test_devices_that_cannot_be_used_are_named(name, words):
    with pytest.raises(ConfigError, match=words):
        pick_device(name)


def test_a_batch_larger_than_a_half_is_named_and_nothing_is_written(tmp_path):
    with pytest.raises(ConfigError, match="batch of 64, but only 40 images in a half"):
        search(small(out=tmp_path / "x", batch_size=64), stripes())
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_empty_is_left_alone(tmp_path, finished):
    out, _, _ = finished
    with pytest.raises(ConfigError, match=r"is not empty: it holds config.json; .*resume it with --"):
        search(small(out=out), stripes())
    with pytest.raises(ConfigError, match=r"is finished; its cell is in genotype.json"):
        resume_search(out)
    with pytest.raises(ConfigError, match=r"is no run folder: config.json is not there"):
        resume_search(tmp_path)


def test_a_checkpoint_that_is_damaged_or_foreign_is_named(tmp_path, finished):
    out, _, _ = finished
    for content, words in (
        (b"half a file", "pt: the checkpoint is damaged"),
        (None, "not a checkpoint of a search"),
    ):
        copy = tmp_path / words[:3].strip()
        (copy / "checkpoints").mkdir(parents=True)
        (copy / "config.json").write_bytes((out / "config.json").read_bytes())
        path = Checkpoints(copy / "checkpoints").save({"format": "other"})
        if content:
            path.write_bytes(content)
        with pytest.raises(ConfigError, match=words):
            resume_search(copy, data=stripes())


def test_settings_of_another_version_are_named():
    with pytest.raises(
        ConfigError, match=r"config.json has the setting 'warp', which this version of xnas does not"
    ):
        saved_options(SearchConfig, {"warp": 9}, {})
    with pytest.raises(
        ConfigError, match=r"in config.json cannot be used: --epochs must .* 'five'; rest"
    ):
        saved_options(SearchConfig, {"epochs": "five"}, {})


def test_curves_are_written_where_tensorboard_is_installed(finished):
    out, result, _ = finished
    alive = [(e.rounds, e.experts_alive["normal"]) for e in result.epochs]
    assert curve(out, "experts/normal") == alive


def test_a_registered_space_and_method_of_one_s_own_are_searched_by_name(tmp_path):
    operations = ("skip_connect", "sep_conv_3x3", "test_negative")
    OPERATIONS.add("test_negative", lambda _channels, stride, _norm: Negative(stride))
    SPACES.add("test_space", SearchSpace("test_space", operations, nodes=2))
    METHODS.add("test_method", xnas_method)
    try:
        config = small(out=tmp_path / "own", epochs=1, space="test_space", method="test_method")
        result = search(config, stripes())
        genotype = Genotype.load(tmp_path / "own" / "genotype.json")
    finally:
        for registry, name in (
            (OPERATIONS, "test_negative"),
            (SPACES, "test_space"),
            (METHODS, "test_method"),
        ):
            del registry._entries[name]
    assert len(genotype.normal.nodes) == 2
    assert result.ledgers["normal"].forecasters == 5


class Negative(torch.nn.Module):
    def __init__(self, stride):
        super().__init__()
        self.stride = stride

    def forward(self, x):
        return -x[:, :, :: self.stride, :: self.stride]


@pytest.mark.parametrize("words", ["xnas version 2", "run"])
def test_a_damaged_genotype_is_told_by_its_error_not_by_the_name_of_its_folder(
    tmp_path, finished, words
):
    out, result, _ = finished
    copy, display = tmp_path / words, Listening()
    shutil.copytree(out, copy)
    (copy / "genotype.json").write_text("{", encoding="utf8")
    with pytest.raises(GenotypeError, match=r"xnas search --resume .* writes that of a finished search"):
        architecture_of(copy)
    assert resume_search(copy, data=stripes(), display=display).genotype == result.genotype
    assert any("the end of the search is written again" in line for line in display.warnings)


def test_a_damaged_genotype_without_a_checkpoint_begins_no_search_anew(tmp_path, finished):
    out, _, _ = finished
    copy = tmp_path / "copy"
    shutil.copytree(out, copy)
    shutil.rmtree(copy / "checkpoints")
    (copy / "genotype.json").write_text("{", encoding="utf8")
    before = (copy / "metrics.jsonl").read_bytes()
    with pytest.raises(ConfigError, match=r"json is damaged .* holds nothing to write it again"):
        resume_search(copy, data=stripes())
    assert (copy / "metrics.jsonl").read_bytes() == before


def test_a_genotype_of_another_version_is_named_and_kept(tmp_path, finished):
    out, result, _ = finished
    copy = tmp_path / "copy"
    shutil.copytree(out, copy)
    newer = result.genotype.to_json().replace('"version": 1', '"version": 9')
    (copy / "genotype.json").write_text(newer, encoding="utf8")
    with pytest.raises(VersionError, match="is 9; this xnas reads version 1"):
        Genotype.load(copy / "genotype.json")
    with pytest.raises(ConfigError, match=r"is finished; .*is 9; this xnas reads version 1"):
        resume_search(copy, data=stripes())
    assert (copy / "genotype.json").read_text(encoding="utf8") == newer


def test_a_warm_up_has_no_cell_no_truth_and_no_skips_that_lead(tmp_path):
    table = tmp_path / "table.csv"
    write_table(table, rows())
    display = Listening()
    config = small(space="nasbench201", cells=1, epochs=4, warmup=0.5, truth=table, out=tmp_path / "run")
    result = search(config, stripes(), display=display)
    assert [record.cell is None for record in result.epochs] == [True, True, False, False]
    assert [record.truth is None for record in result.epochs] == [True, True, False, False]
    assert [record.skip_share["normal"] for record in result.epochs[:2]] == [0, 0]
    assert any("20 rounds on cpu" in line for line in display.lines)
