"""Links, pipes and devices where a run has files and folders: nothing outside of it is written."""

import os
import shutil
import signal

import pytest
import training
from searching import small, stripes
from trained import saved_run

from xnas.benchmarks import TabularBenchmark
from xnas.cli import main
from xnas.engine import Checkpoints
from xnas.errors import ConfigError, DatasetError, XnasError
from xnas.files import whole_file
from xnas.model.evaluation_files import read_evaluation
from xnas.model.image_inputs import ImageReader
from xnas.model.model import load_model
from xnas.process.folder import filled_folder
from xnas.process.interrupt import Interrupted
from xnas.runs.displays import Silence
from xnas.runs.evaluate import evaluate_run
from xnas.runs.search import resume_search, search
from xnas.runs.train import train
from xnas.space import Genotype, create_model
from xnas.space.authors_weights import load_authors_weights

pytestmark = pytest.mark.usefixtures("small_space")


class Stopping(Silence):
    """Asks to stop after the second round; remembers warnings."""

    def __init__(self):
        self.warnings = []

    def warn(self, line):
        self.warnings.append(line)

    def after_round(self, engine):
        if engine.rounds == 2:
            os.kill(os.getpid(), signal.SIGINT)


@pytest.fixture(scope="module")
def stopped(tmp_path_factory):
    """A search with one checkpoint, in the middle of its only epoch."""
    path = tmp_path_factory.mktemp("stopped") / "run"
    with pytest.raises(Interrupted):
        search(small(out=path, epochs=1), stripes(), display=Stopping())
    return path


@pytest.fixture
def run(tmp_path, stopped):
    return shutil.copytree(stopped, tmp_path / "run")


@pytest.fixture
def outside(tmp_path):
    """A folder with a file that nobody may touch."""
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "file").write_text("as it was", encoding="utf8")
    yield folder
    assert [path.name for path in folder.iterdir()] == ["file"]
    assert (folder / "file").read_text(encoding="utf8") == "as it was"


@pytest.mark.parametrize("name", ["metrics.jsonl", "checkpoints", "best", "figures", "tensorboard"])
@pytest.mark.parametrize("target", ["outside", "outside/file", "nowhere"])
def test_what_a_run_writes_into_may_be_no_link(run, outside, name, target):
    path, place = run / name, outside.parent / target
    shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    path.symlink_to(place)
    with pytest.raises(ConfigError, match=f"{name} is a link to .*{target}, .* replace the link"):
        resume_search(run, data=stripes())
    assert not (outside.parent / "nowhere").exists()


def test_a_run_folder_may_be_no_link(run, outside):
    link = outside.parent / "link"
    link.symlink_to(run)
    with pytest.raises(ConfigError, match=r"link is a link to .*run, .* give the folder itself"):
        resume_search(link, data=stripes())
    link.unlink()
    for target in (outside, outside.parent / "nowhere"):
        link.symlink_to(target)
        with pytest.raises(ConfigError, match="is a link to"):
            search(small(out=link), stripes())
        with pytest.raises(ConfigError, match="is a link to"):
            train(training.tiny(out=link), training.pictures())
        with pytest.raises(ConfigError, match="is a link to"), filled_folder(link, overwrite=True):
            pass
        link.unlink()
    assert not (outside.parent / "nowhere").exists()


@pytest.mark.slow
@pytest.mark.parametrize("target", ["/dev/zero", "a copy", "a pipe"])
def test_a_checkpoint_that_is_no_file_of_its_own_is_passed_over(run, tmp_path, target):
    checkpoints = Checkpoints(run / "checkpoints")
    (first,) = checkpoints.files()
    newer = first.with_name(first.name.replace("000001", "000002"))
    copy = shutil.copy(first, tmp_path / "copy")
    before = copy.read_bytes()
    if target == "a pipe":
        os.mkfifo(newer)
    else:
        newer.symlink_to(copy if target == "a copy" else target)
    display = Stopping()
    resume_search(run, data=stripes(), display=display)
    assert any("it is a link, or no file" in line for line in display.warnings)
    assert copy.read_bytes() == before


def test_a_single_checkpoint_that_is_a_device_is_refused(run):
    (first,) = Checkpoints(run / "checkpoints").files()
    first.unlink()
    first.symlink_to("/dev/zero")
    with pytest.raises(ConfigError, match=r"it is a link, or no file.*no other one before it: restore"):
        resume_search(run, data=stripes())


@pytest.mark.parametrize("name", ["metrics.jsonl", "genotype.json"])
def test_a_pipe_keeps_no_run_waiting(run, name):
    (run / name).unlink(missing_ok=True)
    os.mkfifo(run / name)
    with pytest.raises(ConfigError, match=f"{name} is no file, but a run reads it; remove it"):
        resume_search(run, data=stripes())


@pytest.mark.parametrize("target", ["pipe", "/dev/zero"])
def test_a_given_file_that_is_a_pipe_or_a_device_keeps_nobody_waiting(tmp_path, capsys, target):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(target)
    given, network = tmp_path / "link", create_model("xnas", channels=4, cells=3)
    saved_run(tmp_path / "model")
    (tmp_path / "model" / "model.json").unlink()
    (tmp_path / "model" / "model.json").symlink_to(given)
    for read, wrong in (
        (lambda: Genotype.load(given), "genotype"),
        (lambda: TabularBenchmark.load(given), "benchmark"),
        (lambda: load_authors_weights(given, network), "weights"),
        (lambda: load_model(tmp_path / "model"), "model.json"),
        (lambda: read_evaluation(given), "evaluation"),
    ):
        with pytest.raises(XnasError, match=f"cannot read .*{wrong}.* it is a pipe or a device"):
            read()
    with pytest.raises(SystemExit) as end:
        main(["train", str(given), "digits"])
    assert end.value.code == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
    with pytest.raises(DatasetError, match="link is a pipe or a device; give image files"):
        next(ImageReader(channels=3, size=(8, 8), resize="crop", example="x")(given))


def test_files_that_are_written_whole_take_the_place_of_links(outside, tmp_path):
    path = tmp_path / "genotype.json"
    path.symlink_to(outside / "file")
    path.with_name(f".xnas-{os.getpid()}-genotype.json.part").symlink_to(outside / "file")
    with whole_file(path) as file:
        file.write(b"mine")
    assert path.read_bytes() == b"mine"
    assert not path.is_symlink()


def test_figures_of_an_evaluation_do_not_follow_a_link(tmp_path, outside, capsys):
    saved_run(tmp_path / "run")
    (tmp_path / "run" / "figures").symlink_to(outside)
    with pytest.raises(ConfigError, match="figures is a link to"):
        evaluate_run(tmp_path / "run")
    with pytest.raises(SystemExit) as end:
        main(["evaluate", str(tmp_path / "run"), "--device", "cpu"])
    assert end.value.code == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_folders_that_may_not_be_looked_into_are_reported_in_one_line(tmp_path, monkeypatch):
    def refuse(self):
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr("pathlib.Path.is_symlink", refuse)
    for begin in (
        lambda: resume_search(tmp_path / "run", data=stripes()),
        lambda: search(small(out=tmp_path / "run"), stripes()),
        lambda: filled_folder(tmp_path / "run").__enter__(),
    ):
        with pytest.raises(ConfigError, match=r"cannot write to .*run: Permission denied; "):
            begin()
