"""Options of a comparison, from text and from Python."""

from pathlib import Path

import pytest

from xnas import CompareConfig, ConfigError


@pytest.mark.parametrize(
    ("given", "seeds"),
    [
        ("0-3", (0, 1, 2, 3)),
        ("7", (7,)),
        ("0,3, 5-6", (0, 3, 5, 6)),
        (4, (4,)),
        ([2, 0], (2, 0)),
        (range(2), (0, 1)),
    ],
)
def test_seeds_are_written_as_people_write_them(given, seeds):
    assert CompareConfig(seeds=given).seed_numbers == seeds


@pytest.mark.parametrize("given", ["", "a", "3-1", "-1", "0-", [True], [-1], "0-99999999999", [], 1.5])
def test_other_seeds_are_refused(given):
    with pytest.raises(ConfigError, match="--seeds must be"):
        CompareConfig(seeds=given)


def test_names_may_be_text_or_lists():
    config = CompareConfig(methods=["xnas", "darts"], samplers="random, evolution", space="darts,nasnet")
    assert config.method_names == ("xnas", "darts")
    assert config.sampler_names == ("random", "evolution")
    assert config.spaces == ("darts", "nasnet")
    assert CompareConfig().method_names == ("xnas", "darts", "random")
    assert CompareConfig(samplers="random").method_names == ()
    with pytest.raises(ConfigError, match="--samplers must be names such as a,b, got 'a,,b'"):
        _ = CompareConfig(samplers="a,,b").sampler_names


def test_settings_may_be_text_or_a_dictionary():
    config = CompareConfig(search="epochs=2,skip_dropout=0.6:0", train="quick,epochs=3", sample={"a": 1})
    assert config.settings_of("search") == {"epochs": 2, "skip_dropout": "0.6:0"}
    assert config.settings_of("train") == {"recipe": "quick", "epochs": 3}
    assert config.settings_of("sample") == {"a": 1}
    assert CompareConfig().settings_of("train") == {}
    with pytest.raises(ConfigError, match="--search must be like population=10,sample=3, got 'epochs'"):
        CompareConfig(search="epochs")


def test_each_space_has_its_truth():
    assert CompareConfig(truth="a.csv").truths == {"darts": Path("a.csv")}
    two = CompareConfig(space="darts,nasbench201", truth="darts=a.csv,nasbench201=b.csv")
    assert two.truths == {"darts": Path("a.csv"), "nasbench201": Path("b.csv")}
    assert CompareConfig(truth={"darts": "a.csv"}).truths == {"darts": Path("a.csv")}
    for truth, words in (
        ("a.csv", "there are the spaces darts, nasbench201; give darts=FILE,nasbench201=FILE"),
        ("darts=a.csv", "no file for the space: nasbench201"),
        ("nasnet=a.csv,darts=b,nasbench201=c", "for a space that is not compared: nasnet"),
    ):
        with pytest.raises(ConfigError, match=words):
            CompareConfig(space="darts,nasbench201", truth=truth)


def test_cells_are_compared_in_one_way():
    with pytest.raises(ConfigError, match="by --truth or by --train, not by both"):
        CompareConfig(truth="a.csv", train="quick")
