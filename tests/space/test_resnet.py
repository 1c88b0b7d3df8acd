"""Residual networks by name, by their blocks and as JSON."""

import pytest

from xnas import ConfigError, GenotypeError
from xnas.errors import VersionError
from xnas.space import ResNet, find_architecture
from xnas.space.architecture import load_architecture, run_of


@pytest.mark.parametrize(("name", "blocks"), [("resnet-8", 1), ("resnet-20", 3), ("resnet-110", 18)])
def test_a_name_says_the_depth_of_three_equal_stages(name, blocks):
    assert ResNet.named(name) == ResNet((blocks,) * 3) == find_architecture(name)
    assert run_of(name) is None


@pytest.mark.parametrize("name", ["resnet-18", "resnet-2", "resnet-9999"])
def test_another_depth_is_refused_with_those_that_are_there(name):
    with pytest.raises(ConfigError, match=f"no residual network is called '{name}'; the depth is 6 n"):
        ResNet.named(name)


@pytest.mark.parametrize("blocks", [(), (0,), (1.5,), "3", (1,) * 6, (201,), (True,)])
def test_blocks_that_are_none_are_refused(blocks):
    with pytest.raises(GenotypeError, match="the blocks of the residual network are"):
        ResNet(blocks)


def test_a_file_is_read_again(tmp_path):
    path = tmp_path / "resnet.json"
    ResNet((1, 2)).save(path)
    assert ResNet.load(path) == load_architecture(path) == find_architecture(tmp_path) == ResNet((1, 2))


def test_a_file_of_another_version_or_a_damaged_one_is_refused(tmp_path):
    path = tmp_path / "resnet.json"
    ResNet((1, 2)).save(path)
    path.write_text(path.read_text(encoding="utf8").replace(": 1,", ": 2,"), encoding="utf8")
    with pytest.raises(VersionError, match=r"resnet.json: the version of the resnet is 2"):
        ResNet.load(path)
    path.write_text('{"format": "xnas-resnet", "version": 1}', encoding="utf8")
    with pytest.raises(GenotypeError, match="blocks"):
        load_architecture(path)
