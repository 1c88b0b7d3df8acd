"""A user's own space, with its own supernet, network, notation and defaults, from search to model."""

import json
from dataclasses import replace

import pytest
import torch
from searching import stripes
from torch import nn

import xnas
from xnas import ConfigError, Genotype, GenotypeError, SearchConfig, TrainConfig
from xnas.nn import Forecaster
from xnas.nn.operations import FINAL, SEARCH, build_operation
from xnas.space import (
    SPACES,
    CellGenotype,
    CellKind,
    Edge,
    Network,
    NetworkSpec,
    ParentNetwork,
    SearchSpace,
    SpaceDefaults,
)


def every_edge(space, kind, cell):
    """The rule: one edge per node, from the state before it."""
    if [edge.source for edges in cell.nodes for edge in edges] != list(range(space.nodes)):
        raise GenotypeError(f"the {kind} cell is no chain")


class Names:
    """The operations of the chain, joined by `>`."""

    def keys(self, kinds):  # noqa: ARG002
        return ("chain",)

    def write(self, cells):
        return {"chain": json.dumps(self.one_line(cells))}

    def read(self, values, kinds):
        names = str(values["chain"]).split(">")
        nodes = tuple((Edge(name, source),) for source, name in enumerate(names))
        return {kind: CellGenotype(nodes, (len(names),)) for kind in kinds}

    def one_line(self, cells):
        return ">".join(edges[0].operation for edges in cells[CellKind.NORMAL].nodes)


class ChainSupernet(ParentNetwork):
    """Every cell sends its input along the edges of a chain, one undecided operation after another."""

    def __init__(self, space, *, num_classes, in_chans, cells, channels):
        super().__init__(space, {"normal": cells})
        self.stem = nn.Conv2d(in_chans, channels, 3, padding=1, bias=False)
        self.chains = nn.ModuleList(
            nn.ModuleList(
                Forecaster(
                    {name: build_operation(name, channels, 1, SEARCH) for name in space.operations},
                    own_mixture=False,
                )
                for _ in space.edges
            )
            for _ in range(cells)
        )
        self.classifier = nn.Linear(channels, num_classes)

    def logits(self, x, mixtures):
        x = self.stem(x)
        for chain, mixture in zip(self.chains, mixtures["normal"], strict=True):
            for forecaster, u in zip(chain, mixture.unbind(-2), strict=True):
                x = forecaster(x, u)
        return self.classifier(x.mean((-2, -1)))

    def forecasters_of(self, kind, edge):  # noqa: ARG002 - there is one kind
        return [chain[edge] for chain in self.chains]


class ChainNetwork(Network):
    """The chosen operations one after another, once for each cell."""

    reductions = 0

    def __init__(self, genotype, spec):
        super().__init__(genotype, spec)
        self.stem = nn.Conv2d(spec.in_chans, spec.channels, 3, padding=1, bias=False)
        operations = [edge.operation for edges in genotype.normal.nodes for edge in edges]
        self.cells = nn.ModuleList(
            nn.Sequential(*(build_operation(name, spec.channels, 1, FINAL) for name in operations))
            for _ in range(spec.cells)
        )
        self.num_features = spec.channels
        self.classifier = nn.Linear(spec.channels, spec.num_classes)

    def maps(self, x):
        x = self.stem(x)
        for cell in self.cells:
            x = cell(x)
        return x, x


class Chain(SearchSpace):
    """A chain has one edge into every node, from the state before it."""

    @property
    def edges(self):
        return tuple((node - 1, node) for node in self.node_numbers)


SPACE = Chain(
    "chain",
    ("skip_connect", "sep_conv_3x3"),
    nodes=2,
    inputs=1,
    kept_edges=None,
    kinds=(CellKind.NORMAL,),
    rule=every_edge,
    notation=Names(),
    supernet=ChainSupernet,
    network=ChainNetwork,
    defaults=SpaceDefaults(
        cells_on_cpu=1,
        channels_on_cpu=3,
        least_cells=1,
        networks={"cifar": NetworkSpec(num_classes=2, channels=5, cells=2, stem_channels=5)},
        recipe_sizes=False,
    ),
)


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    monkeypatch.setitem(SPACES._entries, "chain", SPACE)


def test_a_space_brings_its_supernet_network_and_defaults_from_search_to_model(tmp_path):
    data = stripes(test=torch.randint(0, 255, (4, 1, 8, 8), dtype=torch.uint8))
    searched = SearchConfig(
        space="chain", epochs=2, batch_size=20, device="cpu", out=tmp_path / "search"
    )
    result = xnas.search(searched, data)
    config = json.loads((tmp_path / "search" / "config.json").read_text(encoding="utf8"))["config"]
    assert (config["cells"], config["channels"]) == (1, 3)
    saved = json.loads((tmp_path / "search" / "genotype.json").read_text(encoding="utf8"))
    assert set(saved["chain"].split(">")) <= set(SPACE.operations)
    assert result.rounds == 4

    trained = TrainConfig(
        cell=tmp_path / "search", epochs=1, batch_size=20, device="cpu", out=tmp_path / "train"
    )
    xnas.train(trained, data)
    classifier = xnas.load(tmp_path / "train", "cpu")
    assert isinstance(classifier.model, ChainNetwork)
    assert classifier.model.architecture == Genotype.load(tmp_path / "search" / "genotype.json")
    assert (classifier.model.spec.channels, classifier.model.spec.cells) == (5, 2)
    assert len(classifier.predict(data.images[:3])) == 3


def test_a_training_takes_any_network_that_the_space_brings(tmp_path, monkeypatch):
    sizes = {
        name: NetworkSpec(
            network=name, num_classes=2, channels=channels, cells=1, stem_channels=channels
        )
        for name, channels in (("small", 3), ("large", 6))
    }
    own = replace(SPACE, defaults=replace(SPACE.defaults, networks=sizes))
    monkeypatch.setitem(SPACES._entries, "chain", own)
    data, cell = stripes(), Genotype.random(own, 1)
    for network, channels in ((None, 3), ("large", 6)):
        out = tmp_path / str(network)
        config = TrainConfig(cell=cell, network=network, epochs=1, batch_size=20, device="cpu", out=out)
        xnas.train(config, data)
        spec = xnas.load(out, "cpu").model.spec
        assert (spec.network, spec.channels) == (network or "small", channels)
    with pytest.raises(ConfigError, match="no network called 'cifar'; there are: small, large"):
        xnas.train(TrainConfig(cell=cell, network="cifar", device="cpu", out=tmp_path / "none"), data)
    assert not (tmp_path / "none").exists()


def test_its_genotypes_are_written_and_read_in_its_notation(tmp_path):
    header = '{"format": "xnas-genotype", "version": 1, "space": "chain"'
    genotype = Genotype.from_json(header + ', "chain": "skip_connect>sep_conv_3x3"}')
    assert genotype.one_line == "skip_connect>sep_conv_3x3"
    genotype.save(tmp_path / "cell.json")
    assert Genotype.load(tmp_path / "cell.json") == genotype
    with pytest.raises(GenotypeError, match="the genotype lacks 'chain'; its keys are format, version"):
        Genotype.from_json(header + "}")
    assert set(Genotype.random(SPACE, 1).one_line.split(">")) <= set(SPACE.operations)


def test_its_networks_are_built_by_name_with_its_sizes():
    genotype = Genotype(
        "chain", CellGenotype(((Edge("skip_connect", 0),), (Edge("skip_connect", 1),)), (2,))
    )
    model = xnas.create_model(genotype, in_chans=1)
    assert isinstance(model, ChainNetwork)
    assert model(torch.randn(2, 1, 8, 8)).shape == (2, 2)
    with pytest.raises(ConfigError, match="cells must be at least 1, got 0"):
        xnas.create_model(genotype, cells=0)
    with pytest.raises(ConfigError, match="no network called 'imagenet'; there are: cifar"):
        xnas.create_model(genotype, network="imagenet")
    with pytest.raises(ConfigError, match="cells must be at least 1, got 0"):
        SearchConfig(space="chain", cells=0)


def test_a_space_of_one_kind_cannot_have_the_supernet_of_darts():
    space = SearchSpace("plain", ("skip_connect",), kinds=(CellKind.NORMAL,))
    with pytest.raises(ConfigError, match="the space 'plain' has normal; give the space a supernet"):
        space.supernet(space, num_classes=2, in_chans=1, cells=3, channels=2)
