"""What a search may find: spaces, cells and the genotypes that name them."""

from xnas.space.discretize import discretize, explain
from xnas.space.genotype import CellGenotype, CellKind, Edge, Genotype, cell_depth
from xnas.space.spaces import SPACES, SearchSpace

__all__ = [
    "SPACES",
    "CellGenotype",
    "CellKind",
    "Edge",
    "Genotype",
    "SearchSpace",
    "cell_depth",
    "discretize",
    "explain",
]
