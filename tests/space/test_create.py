"""`create_model` and the counts: known parameters and MACs, and settings that cannot be built."""

import json
from pathlib import Path

import pytest
import torch
from torch import nn

from xnas import (
    ConfigError,
    Genotype,
    GenotypeError,
    count_macs,
    count_parameters,
    create_model,
)

ROOT = Path(__file__).parents[1]


KNOWN = json.loads((ROOT / "known_answers.json").read_text(encoding="utf8"))


COUNTS = KNOWN["parameter_counts"]


def counted(cell, shape=(3, 32, 32), **options):
    """Parameters and MACs; nothing is computed on the meta device."""
    with torch.device("meta"):
        model = create_model(cell, **options)
    return count_parameters(model), count_macs(model, shape)


def small(cell="xnas", **options):
    torch.manual_seed(0)
    return create_model(cell, **{"channels": 4, "cells": 5} | options)


class TestCounts:
    @pytest.mark.parametrize(
        ("cell", "channels"),
        [
            pytest.param(cell, channels, marks=[pytest.mark.slow] * ((cell, channels) != ("XNAS", 36)))
            for cell in COUNTS["cifar20"]
            for channels in (36, 44, 50)
        ],
    )
    def test_cifar_networks_have_the_known_parameters_and_macs(self, cell, channels):
        known = COUNTS["cifar20"][cell][str(channels)]
        name = cell.lower()
        assert counted(name, channels=channels) == (known["params"], known["macs"])

    @pytest.mark.parametrize("channels", [36, 44, 50])
    def test_towers_and_more_classes_have_the_known_parameters(self, channels):
        known = COUNTS["cifar20"]["XNAS"][str(channels)]
        with torch.device("meta"):
            model = create_model("xnas", channels=channels, auxiliary=True)
        assert count_parameters(model) == known["params_with_aux"]
        model.auxiliary_tower = None
        model.reset_classifier(100)
        assert count_parameters(model) == known["params_100_classes"]

    @pytest.mark.parametrize(
        ("preset", "parameters"),
        [("xnas_small", 3_793_438), ("xnas_medium", 5_594_918), ("xnas_large", 7_174_760)],
    )
    def test_presets_are_the_networks_of_the_paper(self, preset, parameters):
        with torch.device("meta"):
            assert count_parameters(create_model(preset)) == parameters

    @pytest.mark.slow
    def test_grey_images_have_a_stem_of_a_third(self):
        known = COUNTS["xnas_variants"]["36"]["gray_in"]
        assert counted("xnas", (1, 32, 32), in_chans=1) == (known["params"], known["macs"])

    @pytest.mark.slow
    def test_excitation_and_another_stem_are_counted(self):
        known = COUNTS["xnas_variants"]["36"]
        excited = counted("xnas", squeeze_excitation=True)
        assert excited == (known["concat_SE"]["params"], known["concat_SE"]["macs"])
        wider = counted("xnas", stem_channels=4 * 36)
        assert wider == (known["stem_mult_4"]["params"], known["stem_mult_4"]["macs"])

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("key", "options"),
        [
            ("official(C_stem=56,SE)", {}),
            ("no_SE(C_stem=56)", {"squeeze_excitation": False}),
            ("DARTS_stem(C_stem=C),SE", {"stem_channels": 46}),
            ("DARTS_stem(C_stem=C),no_SE", {"stem_channels": 46, "squeeze_excitation": False}),
        ],
    )
    def test_imagenet_networks_have_the_known_parameters_and_macs(self, key, options):
        known = COUNTS["imagenet14"][key]
        found = counted("xnas", (3, 224, 224), network="imagenet", **options)
        assert found == (known["params"], known["macs"])

    @pytest.mark.slow
    def test_auxiliary_towers_are_counted_where_they_are_computed(self):
        with torch.device("meta"):
            cifar = create_model("xnas", auxiliary=True)
            imagenet = create_model("xnas", network="imagenet", auxiliary=True)
        assert count_parameters(imagenet) == COUNTS["imagenet14"]["official+aux"]["params"]

        class Both(nn.Module):
            def __init__(self, model):
                super().__init__()
                self.model = model

            def forward(self, x):
                return self.model.forward_with_auxiliary(x)

        known = COUNTS["cifar20"]["XNAS"]["36"]
        assert count_macs(cifar, (3, 32, 32)) == known["macs"]
        assert count_macs(Both(cifar), (3, 32, 32)) == known["macs_with_aux"]
        assert count_macs(Both(imagenet), (3, 224, 224)) == COUNTS["imagenet14"]["official+aux"]["macs"]

    def test_counting_leaves_a_model_as_it_was(self):
        model = small()
        model.cells[0].eval()
        before = {name: value.clone() for name, value in model.state_dict().items()}
        modes = [module.training for module in model.modules()]
        count_macs(model, (3, 16, 16))
        assert [module.training for module in model.modules()] == modes
        assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())

    def test_any_model_can_be_counted(self):
        model = nn.Sequential(nn.Conv2d(2, 4, 3, padding=1, groups=2), nn.Flatten(), nn.Linear(64, 5))
        assert count_macs(model, (2, 4, 4)) == 16 * 9 * 4 + 64 * 5
        for shape in ((3, 32), "abc", None, (3.0, 32, 32)):
            with pytest.raises(ConfigError, match=r"an image is \(channels, height, width\), got "):
                count_macs(model, shape)
        for count in (count_parameters, lambda model: count_macs(model, (3, 32, 32))):
            with pytest.raises(
                ConfigError, match=r"a model is a torch.nn.Module, got 5; xnas.create_model"
            ):
                count(5)


class TestBadInput:
    @pytest.mark.parametrize(
        ("options", "words"),
        [
            ({"channels": "8"}, "channels must be a whole number, got '8'"),
            ({"cells": 3.0}, r"cells must be a whole number, got 3\.0"),
            ({"auxiliary": "no"}, "auxiliary must be True or False, got 'no'"),
            ({"squeeze_excitation": "no"}, "squeeze_excitation must be True or False"),
        ],
    )
    def test_settings_of_another_kind_are_named(self, options, words):
        with pytest.raises(ConfigError, match=words):
            create_model("xnas", **options)

    def test_presets_are_presets_as_paths_and_for_cifar_alone(self):
        with torch.device("meta"):
            assert count_parameters(create_model(Path("xnas_large"))) == 7_174_760
            assert count_parameters(create_model("xnas_small", network="imagenet")) == 5_258_564
        with pytest.raises(ConfigError, match="'xnas_smal'; did you mean xnas_small"):
            create_model("xnas_smal")

    def test_names_that_no_file_can_have_are_one_line(self):
        with pytest.raises(
            GenotypeError, match=r"cannot read 'xxx.*: File name too long; give another"
        ) as e:
            create_model("x" * 5000)
        assert len(str(e.value)) < 200
        with pytest.raises(ConfigError, match="no cell was named"):
            create_model("")
        with pytest.raises(ConfigError, match="a cell is a name, a Genotype or a path, got None"):
            create_model(None)

    def test_unknown_names_offer_the_nearest(self):
        with pytest.raises(ConfigError, match=r"'darts_v3'; did you mean darts_v\d, darts_v\d or "):
            create_model("darts_v3")
        with pytest.raises(ConfigError, match="no network called 'mnist'; there are: cifar, imagenet"):
            create_model("xnas", network="mnist")

    def test_files_and_folders_are_read(self, tmp_path):
        genotype = Genotype.random("darts", 1)
        genotype.save(tmp_path / "genotype.json")
        for cell in (tmp_path, str(tmp_path), tmp_path / "genotype.json", genotype):
            assert create_model(cell, cells=3, channels=2).genotype == genotype
        (tmp_path / "empty").mkdir()
        with pytest.raises(GenotypeError, match=r"no genotype.json in .*empty; give a genotype"):
            create_model(tmp_path / "empty")
        with pytest.raises(GenotypeError, match=r"cannot read the genotype .*missing.json"):
            create_model(tmp_path / "missing.json")

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            ({"num_classes": 0}, "num_classes must be at least 1, got 0"),
            ({"in_chans": 0}, "in_chans must be at least 1, got 0"),
            ({"channels": 0}, "channels must be at least 1, got 0"),
            ({"cells": 2}, "cells must be at least 3, got 2"),
            ({"stem_channels": 0}, "stem_channels must be at least 1, got 0"),
            ({"drop_path_rate": 1.0}, r"drop_path_rate must lie in \[0, 1\), got 1.0"),
            ({"network": "imagenet", "channels": 5}, "got 5 channels; use an even number"),
            ({"network": "imagenet", "stem_channels": 7}, "got stem_channels 7; use an even number"),
        ],
    )
    def test_sizes_that_cannot_be_built_are_named(self, options, words):
        with pytest.raises(ConfigError, match=words):
            create_model("xnas", **options)

    @pytest.mark.parametrize(("network", "least"), [("cifar", 4), ("imagenet", 32)])
    def test_images_too_small_for_the_reductions_are_named(self, network, least):
        model = small(network=network, stem_channels=6).eval()
        assert model(torch.randn(1, 3, least, least)).shape[0] == 1
        with pytest.raises(ConfigError, match=rf"too small for .* reductions; they need {least} a side"):
            model(torch.randn(1, 3, least, least - 1))

    def test_a_state_dict_for_other_classes_is_named_and_changes_nothing(self):
        model, other = small(num_classes=4), small(num_classes=10)
        before = model.state_dict()["classifier.weight"].clone()
        with pytest.raises(ConfigError, match="with 10 classes, this one has 4; build it with num_cl"):
            model.load_state_dict(other.state_dict())
        assert torch.equal(model.classifier.weight, before)
        model.load_state_dict(small(num_classes=4).state_dict())

    def test_bytes_are_named(self):
        with pytest.raises(ConfigError, match=r"standardised floats, got torch.uint8; standardize"):
            small()(torch.zeros(2, 3, 8, 8, dtype=torch.uint8))

    def test_images_of_other_channels_are_named(self):
        with pytest.raises(ConfigError, match=r"images \(batch, 3, height, width\), got \(2, 1, 8, 8\)"):
            small()(torch.randn(2, 1, 8, 8))
