"""The data of a run, found by what its folder says."""

import json

import pytest
from PIL import Image
from trained import edited, saved_run

from xnas.data import load_data
from xnas.errors import ConfigError, DamagedFileError
from xnas.model.model_card import read_card
from xnas.runs.model_options import EvaluateConfig
from xnas.runs.run_data import CHANGED, inherit_data_options, is_its_own, load_own_data
from xnas.runs.train_config import TrainConfig, resolve_images


@pytest.fixture
def run(tmp_path):
    folder = tmp_path / "run"
    saved_run(folder)
    return folder


def own_data(run):
    """The data and the notes, without options of the user."""
    return load_own_data(run, read_card(run)[0], EvaluateConfig())


def rewrite(run, **changes):
    path = run / "config.json"
    saved = json.loads(path.read_text(encoding="utf8")) | changes
    path.write_text(json.dumps(saved), encoding="utf8")


def test_changed_training_images_are_noted(run):
    assert own_data(run)[1] == ()
    rewrite(run, data_fingerprint="other")
    assert own_data(run)[1] == (CHANGED,)


def test_a_model_without_its_config_finds_a_dataset_of_its_name(run):
    (run / "config.json").unlink()
    assert own_data(run)[0].name == "digits"
    edited(run, trained_on="my photos")
    with pytest.raises(ConfigError, match=r"does not say where its images are \(my photos\); give DATA"):
        own_data(run)


def test_the_best_weights_in_a_run_find_the_data_of_the_run(run):
    saved_run(run / "best", config=False)
    edited(run / "best", trained_on="my photos")
    assert own_data(run / "best")[0].name == "digits"


def test_images_in_files_are_found_again_unchanged(tmp_path):
    for part in ("train", "test"):
        for index in range(8):
            folder = tmp_path / "photos" / part / f"class {index % 2}"
            folder.mkdir(parents=True, exist_ok=True)
            Image.new("L", (8, 8), 20 * index).save(folder / f"{index}.png")
    saved_run(tmp_path / "run", load_data(tmp_path / "photos", stream=True))
    for streamed, notes in ((True, ()), (False, (CHANGED,))):
        rewrite(tmp_path / "run", data=str(tmp_path / "photos"), config={"stream": streamed})
        assert own_data(tmp_path / "run")[1] == notes


def test_images_are_those_of_the_run_by_place_or_by_content(run):
    digits = load_data("digits")
    assert is_its_own(run, "digits", digits)
    rewrite(run, data="elsewhere")
    assert is_its_own(run, None, digits)
    rewrite(run, data_fingerprint="other")
    assert not is_its_own(run, "digits", digits)


@pytest.mark.parametrize("text", ["{", " " * ((1 << 20) + 1), "[" * 100_000])
def test_a_config_that_cannot_be_read_is_named_and_never_read_whole(run, text):
    (run / "config.json").write_text(text, encoding="utf8")
    with pytest.raises(DamagedFileError, match=r"cannot read .*config\.json: .*damaged: give DATA"):
        own_data(run)


def found_cell(folder, **settings):
    """The run folder of a search of digits with these data options."""
    folder.mkdir()
    saved = {"format": "xnas-run", "version": 1, "kind": "search", "data": "digits", "config": settings}
    (folder / "config.json").write_text(json.dumps(saved), encoding="utf8")
    return folder


def test_a_training_inherits_the_data_options_of_its_search(tmp_path):
    found = found_cell(
        tmp_path / "found",
        image_size=16,
        skip_bad_images=True,
        use_val=False,
        stream=False,
        epochs=3,
    )
    options, notes = inherit_data_options(TrainConfig(), found, "digits")
    assert (options.image_size, options.skip_bad_images, options.use_val) == (16, True, False)
    assert (options.stream, options.epochs) == (None, None)
    assert notes == [f"--no-use-val --skip-bad-images --image-size 16, as in {found}"]


def test_what_a_user_says_goes_before_the_search(tmp_path):
    found = found_cell(tmp_path / "found", image_size=16, resize="pad", stream=True)
    options, notes = inherit_data_options(TrainConfig(image_size=24), found, "digits")
    assert (options.image_size, options.resize, options.stream) == (24, "pad", True)
    assert notes == [f"--resize pad --stream, as in {found}"]


def test_what_a_user_types_goes_before_the_search_even_at_its_default(tmp_path):
    found = found_cell(tmp_path / "found", image_size=16, skip_bad_images=True)
    given = resolve_images(TrainConfig(skip_bad_images=False), "digits")
    options, notes = inherit_data_options(given, found, "digits")
    assert (options.image_size, options.skip_bad_images) == (16, False)
    assert notes == [f"--image-size 16, as in {found}"]


def test_other_images_and_other_cells_inherit_nothing(tmp_path):
    found = found_cell(tmp_path / "found", image_size=16)
    for run, data in ((found, "cifar10"), (None, "digits"), (tmp_path, "digits")):
        assert inherit_data_options(TrainConfig(), run, data) == (TrainConfig(), [])


def test_an_inherited_option_that_cannot_be_used_is_named(tmp_path):
    found = found_cell(tmp_path / "found", image_size="large")
    with pytest.raises(ConfigError, match=r"json cannot be used: --image-size must be a whole"):
        inherit_data_options(TrainConfig(), found, "digits")
