"""What the networks of every published cell count at the paper's widths, and XNAS's in all variants."""

from __future__ import annotations

from dataclasses import replace

from xnas.paper.network_sizes import CIFAR, DARTS_IMAGENET, IMAGENET, counted_network, shape_of
from xnas.paper.table_claims import size_claims
from xnas.records import Claim, CountedNetwork, Table
from xnas.space import PRESETS, zoo_cell


def size_records(cells: list[str]) -> list[CountedNetwork]:
    """Networks of cells at the paper's widths, some without MACs: to count them takes a forward pass."""
    return [
        counted_network(cell, shape, with_macs=with_macs)
        for cell in cells
        for shape, with_macs in (
            (CIFAR, True),
            *(
                (CIFAR.at(channels), False)
                for channels in PRESETS.values()
                if channels != CIFAR.channels
            ),
            (IMAGENET, True),
            (DARTS_IMAGENET, True),
        )
    ]


def xnas_variants() -> list[CountedNetwork]:
    """XNAS's networks with what Tables 1 to 3 leave out of their parameters."""
    cifar = [CIFAR.at(channels) for channels in PRESETS.values()]
    plain = replace(IMAGENET, squeeze_excitation=False)
    shapes = [
        *cifar,
        *(replace(shape, auxiliary=True) for shape in cifar),
        replace(CIFAR, num_classes=100),
        replace(CIFAR, in_chans=1, stem_channels=CIFAR.channels),
        *(IMAGENET, replace(IMAGENET, auxiliary=True)),
        *(plain, replace(plain, stem_channels=plain.channels)),
    ]
    return [counted_network("xnas", shape) for shape in shapes]


def size_table(networks: list[CountedNetwork]) -> Table:
    """A row for every cell, its networks side by side."""
    cells = list(dict.fromkeys(n.cell for n in networks))
    kinds = list(dict.fromkeys(map(_kind, networks)))
    by_kind = {(n.cell, _kind(n)): n for n in networks}
    counted = [kind for kind in kinds if by_kind[cells[0], kind].macs is not None]
    header = (
        *("cell", "nodes", "depth"),
        *(f"{kind}: parameters" for kind in kinds),
        *(f"{kind}: MACs" for kind in counted),
    )
    rows = tuple(
        (
            cell,
            len(zoo_cell(cell).genotype.normal.nodes),
            zoo_cell(cell).depth,
            *(by_kind[cell, kind].parameters for kind in kinds),
            *(by_kind[cell, kind].macs for kind in counted),
        )
        for cell in cells
    )
    note = (
        "CIFAR networks for 32 x 32 pixels and 10 classes, ImageNet networks for 224 x 224 and 1000; SE "
    )
    return Table(
        title="Parameters and multiply-accumulates of published cells",
        header=header,
        rows=rows,
        note=note + "is squeeze-and-excitation. Auxiliary towers are left out.",
    )


def variant_table(networks: list[CountedNetwork]) -> Table:
    """A row for every network of XNAS's cell."""
    header = (
        *("network", "channels", "stem", "squeeze-excitation", "classes", "image channels"),
        *("auxiliary tower", "parameters", "MACs"),
    )
    rows = tuple(
        (
            *(n.network, n.channels, n.stem_channels, n.squeeze_excitation),
            *(n.num_classes, n.in_chans, n.auxiliary, n.parameters, n.macs),
        )
        for n in networks
    )
    note = "MACs leave the auxiliary tower out: only training computes it."
    return Table(title="Networks of XNAS's cell", header=header, rows=rows, note=note)


def xnas_size_claims(variants: list[CountedNetwork]) -> list[Claim]:
    """Claims on the sizes of XNAS's networks, by the printed ones."""
    printed = {
        shape_of(row.network): row.parameters
        for row in zoo_cell("xnas").paper
        if row.network is not None and row.parameters is not None
    }
    cifar = {
        millions: counted_network("xnas", shape, with_macs=False)
        for shape, millions in printed.items()
        if shape.network == "cifar"
    }
    described = [n for n in variants if n.network == "imagenet" and not n.squeeze_excitation]
    return size_claims(cifar, described, printed[IMAGENET])


def _kind(network: CountedNetwork) -> str:
    if network.network == "cifar":
        return f"CIFAR {network.channels}"
    excitation = " SE" if network.squeeze_excitation else ""
    return f"ImageNet {network.channels}, stem {network.stem_channels}{excitation}"
