"""Architectures as a user names them: by name, string, file, run folder, or as they are."""

import pytest

from xnas import ConfigError, Genotype
from xnas.space import build_network, find_architecture, find_genotype
from xnas.space.architecture import ARCHITECTURES, run_of
from xnas.space.create import network_spec

STRING = "|skip_connect~0|+|none~0|none~1|+|none~0|none~1|nor_conv_3x3~2|"


def test_what_is_a_genotype_is_found_as_one(tmp_path):
    genotype = Genotype.random("darts", 0)
    genotype.save(tmp_path / "genotype.json")
    for cell in (genotype, tmp_path, tmp_path / "genotype.json"):
        assert find_architecture(cell) == genotype
    for cell in ("darts_v2", "xnas_large", STRING):
        assert find_architecture(cell) == find_genotype(cell)
    with pytest.raises(ConfigError, match="a cell is a name, a Genotype or a path, got 5"):
        find_architecture(5)


def test_only_a_run_folder_is_the_run_of_a_cell(tmp_path):
    Genotype.random("darts", 0).save(tmp_path / "genotype.json")
    assert run_of(tmp_path) == tmp_path
    for cell in (tmp_path / "genotype.json", "darts_v2", STRING, Genotype.random("darts", 0)):
        assert run_of(cell) is None


def test_an_architecture_is_read_again_and_builds_its_networks():
    genotype = Genotype.random("nasbench201", 0)
    assert ARCHITECTURES[genotype.key].from_json(genotype.to_json()) == genotype
    spec = network_spec(genotype).but(channels=2, cells=1)
    assert build_network(genotype, spec).architecture is genotype
    assert genotype.origin == "the space nasbench201"
