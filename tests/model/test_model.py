"""A trained network as files: saved from anywhere and loaded anywhere."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import nn
from trained import edited, network

from xnas import ConfigError, Genotype, create_model
from xnas.data import standardize
from xnas.model.model import load_model, save_model
from xnas.model.model_card import model_card

SAMPLES = Path(__file__).parents[1] / "samples"


def test_what_was_saved_answers_the_same(run, digits):
    model = network(digits)
    loaded, card = load_model(run)
    images = standardize(digits.images[:5], card.mean, card.std)
    assert not loaded.training
    torch.testing.assert_close(loaded(images), model(images), rtol=0, atol=0)
    assert (card.classes, card.size, card.trained_on) == (digits.classes, (8, 8), "digits")
    assert (card.recipe, card.seed, card.unknown_fields) == ("quick", 3, ())


class Compiled(nn.Module):
    """What `torch.compile` makes of a module, as far as its names go."""

    def __init__(self, module):
        super().__init__()
        self._orig_mod = module


def test_a_network_in_training_dress_is_saved_as_plain_weights(tmp_path, digits):
    model = network(digits, auxiliary=False)
    dressed = create_model("xnas", cells=3, channels=2, in_chans=1, auxiliary=True, drop_path_rate=0.2)
    dressed.load_state_dict(model.state_dict(), strict=False)
    dressed = dressed.to(memory_format=torch.channels_last).bfloat16().train()
    dressed.cells[0] = Compiled(dressed.cells[0])
    save_model(tmp_path, dressed, model_card(dressed, digits, recipe="quick", seed=0))
    assert dressed.training
    assert next(dressed.parameters()).dtype is torch.bfloat16
    loaded, _ = load_model(tmp_path)
    for name, tensor in loaded.state_dict().items():
        assert tensor.is_contiguous()
        wanted = model.state_dict()[name]
        torch.testing.assert_close(tensor, wanted.to(torch.bfloat16).to(tensor.dtype), rtol=0, atol=0)


@pytest.mark.parametrize(("name", "kind"), [("model-v1", "genotype"), ("model-v2", "wiring")])
def test_a_file_of_every_version_is_read_forever(name, kind):
    sample = SAMPLES / name
    loaded, card = load_model(sample)
    assert card.architecture.key == kind
    assert card.classes == ("cat", "dog")
    assert card.figures == {"test accuracy": 0.5}
    image = torch.linspace(-1, 1, 64).view(1, 1, 8, 8)
    known = json.loads((sample / "answer.json").read_text(encoding="utf8"))
    torch.testing.assert_close(loaded(image)[0], torch.tensor(known), rtol=1e-4, atol=1e-5)


def test_weights_of_another_network_are_refused(copied, tmp_path, digits):
    other = network(digits, channels=4)
    save_model(tmp_path / "other", other, model_card(other, digits, recipe="quick", seed=0))
    shutil.copy(tmp_path / "other" / "model.safetensors", copied)
    edited(copied, weights_digest=None)
    with pytest.raises(ConfigError, match=r"does not fit model\.json: .* is \(4, .* instead of \(2,"):
        load_model(copied)


def test_a_card_of_another_network_is_refused_and_nothing_is_written(tmp_path, digits):
    model = network(digits)
    wrong = replace(
        model_card(model, digits, recipe="quick", seed=0), architecture=Genotype.random("darts", seed=1)
    )
    with pytest.raises(ConfigError, match="the card does not describe the network"):
        save_model(tmp_path, model, wrong)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_is_named(tmp_path, digits):
    (tmp_path / "file").touch()
    model = network(digits)
    with pytest.raises(FileExistsError, match=r"File exists: .*file"):
        save_model(tmp_path / "file", model, model_card(model, digits, recipe="quick", seed=0))
