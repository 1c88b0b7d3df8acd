"""What a search may find: spaces, cells, the genotypes that name them and the networks built of them."""

from xnas.space.architecture import Architecture, find_architecture
from xnas.space.create import (
    build_network,
    count_macs,
    count_parameters,
    create_model,
    network_spec,
)
from xnas.space.discretize import discretize, explain
from xnas.space.encoding import ENCODINGS, Encoding, Position, encoding_of
from xnas.space.genotype import CellGenotype, CellKind, Edge, Genotype, cell_depth
from xnas.space.network import NETWORKS, Network
from xnas.space.network_spec import NetworkSpec
from xnas.space.parent import ParentNetwork
from xnas.space.resnet import ResNet
from xnas.space.spaces import SPACES, SearchSpace, SpaceDefaults
from xnas.space.wiring import Wiring
from xnas.space.zoo import PRESETS, find_genotype, list_cells, zoo_cell

__all__ = [
    "ENCODINGS",
    "NETWORKS",
    "PRESETS",
    "SPACES",
    "Architecture",
    "CellGenotype",
    "CellKind",
    "Edge",
    "Encoding",
    "Genotype",
    "Network",
    "NetworkSpec",
    "ParentNetwork",
    "Position",
    "ResNet",
    "SearchSpace",
    "SpaceDefaults",
    "Wiring",
    "build_network",
    "cell_depth",
    "count_macs",
    "count_parameters",
    "create_model",
    "discretize",
    "encoding_of",
    "explain",
    "find_architecture",
    "find_genotype",
    "list_cells",
    "network_spec",
    "zoo_cell",
]
