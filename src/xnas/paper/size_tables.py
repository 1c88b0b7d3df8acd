"""Sizes of the networks of every published cell at the paper's widths, and of XNAS's variants."""

from __future__ import annotations

from dataclasses import replace

from xnas.paper.columns import Column, table_of
from xnas.paper.network_sizes import CIFAR, DARTS_IMAGENET, IMAGENET, counted_network
from xnas.paper.table_claims import size_claims
from xnas.records import Claim, Table
from xnas.space import PRESETS, zoo_cell
from xnas.space.zoo import CountedNetwork


def size_records(cells: list[str]) -> list[CountedNetwork]:
    """Networks of cells at the paper's widths, some without MACs, which take a forward pass."""
    return [
        counted_network(cell, spec, with_macs=with_macs)
        for cell in cells
        for spec, with_macs in (
            (CIFAR, True),
            *(
                (CIFAR.but(channels=channels), False)
                for channels in PRESETS.values()
                if channels != CIFAR.channels
            ),
            (IMAGENET, True),
            (DARTS_IMAGENET, True),
        )
    ]


def xnas_variants() -> list[CountedNetwork]:
    """XNAS's networks with what Tables 1 to 3 leave out of their parameters."""
    cifar = [CIFAR.but(channels=channels) for channels in PRESETS.values()]
    plain = replace(IMAGENET, squeeze_excitation=False)
    specs = [
        *cifar,
        *(replace(spec, auxiliary=True) for spec in cifar),
        replace(CIFAR, num_classes=100),
        replace(CIFAR, in_chans=1, stem_channels=CIFAR.channels),
        *(IMAGENET, replace(IMAGENET, auxiliary=True)),
        *(plain, replace(plain, stem_channels=plain.channels)),
    ]
    return [counted_network("xnas", spec) for spec in specs]


def size_table(networks: list[CountedNetwork]) -> Table:
    """A table with one row per cell and the sizes of its networks."""
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
    """A table with one row per network of XNAS's cell."""
    columns: tuple[Column[CountedNetwork, None], ...] = (
        Column("network", lambda n: n.spec.network),
        Column("channels", lambda n: n.spec.channels),
        Column("stem", lambda n: n.spec.stem_channels),
        Column("squeeze-excitation", lambda n: n.spec.squeeze_excitation),
        Column("classes", lambda n: n.spec.num_classes),
        Column("image channels", lambda n: n.spec.in_chans),
        Column("auxiliary tower", lambda n: n.spec.auxiliary),
        Column("parameters", lambda n: n.parameters),
        Column("MACs", lambda n: n.macs),
    )
    note = "MACs leave the auxiliary tower out: only training computes it."
    return table_of("Networks of XNAS's cell", columns, networks, note=note)


def xnas_size_claims(variants: list[CountedNetwork]) -> list[Claim]:
    """Claims on the sizes of XNAS's networks, by the printed ones."""
    printed = {
        row.network: row.parameters
        for row in zoo_cell("xnas").paper
        if row.network is not None and row.parameters is not None
    }
    cifar = {
        millions: counted_network("xnas", spec, with_macs=False)
        for spec, millions in printed.items()
        if spec.network == "cifar"
    }
    described = [n for n in variants if n.spec.network == "imagenet" and not n.spec.squeeze_excitation]
    return size_claims(cifar, described, printed[IMAGENET])


def _kind(network: CountedNetwork) -> str:
    spec = network.spec
    if spec.network == "cifar":
        return f"CIFAR {spec.channels}"
    excitation = " SE" if spec.squeeze_excitation else ""
    return f"ImageNet {spec.channels}, stem {spec.stem_channels}{excitation}"


def size_numbers(networks: list[CountedNetwork]) -> list[dict[str, object]]:
    """The records as plain values, each network's description with its counts."""
    names = (
        *("network", "channels", "stem_channels", "squeeze_excitation"),
        *("num_classes", "in_chans", "auxiliary"),
    )
    return [
        {"cell": n.cell}
        | {name: getattr(n.spec, name) for name in names}
        | {"parameters": n.parameters, "macs": n.macs}
        for n in networks
    ]
