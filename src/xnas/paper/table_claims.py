"""Claims that compare entries of the paper's tables, judged by the entries.

Errors are those that the paper prints: no network was trained for these. A difference of two errors is
given in standard errors of the two, with as many coin flips as there are test images; how much a network
varies from training to training, the paper does not say.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from xnas.paper.compared_rows import ComparedRow
from xnas.paper.found_here import FoundHere
from xnas.paper.network_sizes import agreement
from xnas.paper.verdicts import STANDARD_ERRORS, judge, standard_score
from xnas.records import Claim, DepthRow, RandomDepths
from xnas.space.zoo import CountedNetwork

TEST_IMAGES = {
    "cifar10": 10_000,
    "cifar100": 10_000,
    "fashion_mnist": 10_000,
    "svhn": 26_032,
    "freiburg": 1_000,
    "cinic10": 90_000,
    "imagenet": 50_000,
}
"""Freiburg comes in five parts of about a thousand images; the paper does not say what it tested on."""
NAMES = {
    "cifar10": "CIFAR-10",
    "cifar100": "CIFAR-100",
    "fashion_mnist": "Fashion-MNIST",
    "svhn": "SVHN",
    "freiburg": "Freiburg",
    "cinic10": "CINIC10",
    "imagenet": "ImageNet",
}
NEW_RECORDS = ("fashion_mnist", "freiburg", "cinic10")
"""Data sets for which the paper claims the state of the art."""
NO_NAS = ("AutoAugment", "Known SotA")
OURS = "XNAS"
EARLIER_WORKS = ("NASNet-A", "PNAS", "Amoeba-A", "Amoeba-B")
LATER_WORKS = ("ENAS", "DARTS(1nd)", "DARTS(2nd)")
SEARCH_EPOCHS, EPOCH_MINUTES = 50, 8.5
DAYS_A_YEAR = 365.25
MOBILE_MACS = 600_000_000


def table_1_claims(rows: Sequence[ComparedRow], found: Sequence[FoundHere] = ()) -> list[Claim]:
    """CIFAR-10: errors, parameters and search costs (Sec. 1, 4.1, 4.2); `found` decides nothing."""
    errors = _errors(rows, "cifar10")
    rivals = _rivals(errors)
    small, large = errors["XNAS-Small"], errors["XNAS-Large"]
    best = min(rivals, key=rivals.__getitem__)
    gain = 1 - large / rivals[best]
    top = min(errors, key=errors.__getitem__)
    place = sorted(errors.values()).index(large) + 1
    size = {row.paper.row: row.paper.parameters for row in rows}
    ratio = (size[top] or math.nan) / (size["XNAS-Large"] or math.nan)
    return [
        Claim(
            statement="1.60 % on CIFAR-10 is more than 20 % better than existing NAS methods",
            where="Sec. 1, Table 1",
            measured=f"printed errors: {large:.2f} against {rivals[best]:.2f} of {best}, which is "
            f"{100 * gain:.1f} % less (the other way round, {rivals[best]:.2f} is "
            f"{100 * (rivals[best] / large - 1):.1f} % more)",
            verdict=judge(gain > 0.2),
        ),
        Claim(
            statement="XNAS-Small outperforms previous NAS methods on CIFAR-10 by a large margin",
            where="Sec. 4.2, Table 1",
            measured=f"printed errors: {small:.2f} against {rivals[best]:.2f} of {best}; "
            f"{_lead_text('cifar10', small, rivals[best])}",
            verdict=judge(
                small < rivals[best], _lead("cifar10", small, rivals[best]) >= STANDARD_ERRORS
            ),
        ),
        Claim(
            statement="XNAS-Large has the second highest score reported on CIFAR-10",
            where="Sec. 4.2, Table 1",
            measured=f"printed errors: place {place} of the table's {len(errors)} rows, after {top}",
            verdict=judge(place == 2),
        ),
        Claim(
            statement="... with 4 times less parameters than the top one",
            where="Sec. 4.2, Table 1",
            measured=f"{size[top]:g} M over {size['XNAS-Large']:g} M is {ratio:.2f}, which is 4 if "
            "rounded",
            verdict=judge(ratio >= 4, round(ratio) == 4),
        ),
        *_search_cost_claims(rows, found),
    ]


def _search_cost_claims(rows: Sequence[ComparedRow], found: Sequence[FoundHere]) -> list[Claim]:
    cost = {row.paper.row: row.paper.search_cost for row in rows if row.paper.search_cost is not None}
    ours = cost["XNAS-Small"]
    rivals = _rivals(cost)
    faster = {name: value for name, value in rivals.items() if value < ours}
    as_fast = [name for name, value in rivals.items() if value == ours]
    earlier = {name: rivals[name] for name in EARLIER_WORKS}
    later = {name: rivals[name] for name in LATER_WORKS}
    hours = SEARCH_EPOCHS * EPOCH_MINUTES / 60
    return [
        Claim(
            statement="XNAS is among the fastest NAS methods",
            where="Sec. 4.2, Table 1",
            measured=f"printed search costs: {ours:g} GPU days; of {len(rivals)} others {len(faster)} "
            f"less ({_listed(faster)}), {len(as_fast)} as much ({', '.join(as_fast)}); on different "
            "GPUs",
            verdict=judge(len(faster) < len(rivals) / 4),
        ),
        Claim(
            statement="Earlier searches sometimes took years of GPU time, more recent ones far less",
            where="Sec. 1, Table 1",
            measured="printed search costs in years: "
            + ", ".join(f"{name} {days / DAYS_A_YEAR:.1f}" for name, days in earlier.items())
            + f"; in days: {_listed(later)}",
            verdict=judge(
                max(earlier.values()) > DAYS_A_YEAR, 10 * max(later.values()) < min(earlier.values())
            ),
        ),
        Claim(
            statement="A search of 50 epochs, 8.5 minutes each, takes 7 hours, 0.3 days",
            where="Sec. 4.1, 9.2, Table 1",
            measured=f"{SEARCH_EPOCHS} x {EPOCH_MINUTES} minutes are {hours:.2f} hours, "
            f"{hours / 24:.3f} days; printed: {ours:g}. {_minutes_text(found)}",
            verdict=judge(round(hours) == 7, round(hours / 24, 1) == ours),
        ),
    ]


def _minutes_text(found: Sequence[FoundHere]) -> str:
    """How long searches took here, which says nothing about the paper's time."""
    if not found:
        return "The time was not measured here"
    took = " and ".join(f"{row.search_minutes:.1f} minutes on one {row.device}" for row in found)
    return f"A search of our own took {took}, another GPU and another program"


def table_2_claims(rows: Sequence[ComparedRow]) -> list[Claim]:
    """ImageNet (Sec. 4.3)."""
    errors = _errors(rows, "imagenet")
    rivals = _rivals(errors)
    best = min(rivals, key=rivals.__getitem__)
    network = next(row.counted for row in rows if row.paper.row == OURS)
    macs = (network and network.macs) or 0
    return [
        Claim(
            statement="On ImageNet XNAS outperforms all previous NAS cells",
            where="Sec. 4.3, Table 2",
            measured=f"printed errors: {errors[OURS]:.1f} against {rivals[best]:.1f} of {best}; "
            f"{_lead_text('imagenet', errors[OURS], rivals[best])}. The network of the printed size has "
            "squeeze-and-excitation, which is no part of the cell",
            verdict=judge(errors[OURS] < rivals[best]),
        ),
        Claim(
            statement="With 46 channels the ImageNet network stays below 600 M FLOPs (mobile settings)",
            where="Abstract, Sec. 4.3",
            measured=f"{macs / 1e6:.1f} M multiply-accumulates, which such comparisons mean; each is "
            "two operations",
            verdict=judge(network is not None and network.spec.channels == 46, macs < MOBILE_MACS),
        ),
    ]


def table_3_claims(rows: Sequence[ComparedRow]) -> list[Claim]:
    """Other data sets (Sec. 4.3), and all together; `rows` are those of all three tables."""
    third = [row for row in rows if row.paper.table == 3]
    records = {
        d: (_errors(third, d)["XNAS-Small"], _errors(third, d)["Known SotA"]) for d in NEW_RECORDS
    }
    rest = {d: _against_nas(rows, d) for d in TEST_IMAGES if d not in NEW_RECORDS}
    cifar = _errors(third, "cifar100")
    next_cell = min(_rivals(cifar), key=_rivals(cifar).__getitem__)
    ahead = [name for name, error in cifar.items() if error < cifar["XNAS-Small"]]
    points = cifar[next_cell] - cifar["XNAS-Small"]
    leads = {d: _lead(d, *pair) for d, pair in {**records, **rest}.items()}
    return [
        Claim(
            statement="On CIFAR-100 XNAS surpasses the next top cell by 1 %",
            where="Sec. 4.3, Table 3",
            measured=f"printed errors: {cifar['XNAS-Small']:g} against {cifar[next_cell]:g} of "
            f"{next_cell}: {points:.1f} points",
            verdict=judge(round(points, 1) >= 1.0),
        ),
        Claim(
            statement="... the second highest score reported on CIFAR-100, after AutoAugment",
            where="Sec. 4.3, Table 3",
            measured=f"printed errors: of {len(cifar) - 1} other entries {len(ahead)} less, "
            f"{', '.join(f'{name} {cifar[name]:g}' for name in ahead)}",
            verdict=judge(ahead == ["Known SotA"]),
        ),
        Claim(
            statement="XNAS is the new state of the art on Fashion-MNIST, Freiburg and CINIC10",
            where="Abstract, Sec. 1, 4.3, Table 3",
            measured=f"printed errors, XNAS against the best known: {_pairs_text(records)}",
            verdict=judge(*(ours < best for ours, best in records.values())),
        ),
        Claim(
            statement="... and the best NAS method on the other four data sets",
            where="Sec. 1, Tables 1-3",
            measured=f"printed errors, XNAS against the best other NAS: {_pairs_text(rest)}",
            verdict=judge(*(ours < best for ours, best in rest.values())),
        ),
        Claim(
            statement="... with significant improvements",
            where="Sec. 1, Tables 1-3",
            measured="lead in standard errors: "
            + ", ".join(f"{NAMES[d]} {lead:.1f}" for d, lead in leads.items())
            + f"; {STANDARD_ERRORS:g} count as clear",
            verdict=judge(*(lead >= STANDARD_ERRORS for lead in leads.values())),
        ),
        _same_size_claim(rows),
    ]


def _same_size_claim(rows: Sequence[ComparedRow]) -> Claim:
    """Judge rows of CIFAR networks that stand in Tables 1 and 3 under one name."""
    sizes = [
        {
            row.paper.row.rstrip("†"): row.paper.parameters
            for row in rows
            if row.paper.table == table and row.paper.parameters
        }
        for table in (1, 3)
    ]
    # Table 3 shortens two names.
    renamed = {"NASNet": "NASNet-A", "DARTS": "DARTS(2nd)"}
    pairs = {
        name: (sizes[0][renamed.get(name, name)], size)
        for name, size in sizes[1].items()
        if renamed.get(name, name) in sizes[0]
    }
    same = [name for name, (one, other) in pairs.items() if one == other]
    differ = ", ".join(f"{n} {a:g} and {b:g} M" for n, (a, b) in pairs.items() if n not in same)
    return Claim(
        statement="A row of Table 1 has the same size in Table 3 (implied)",
        where="Tables 1, 3",
        measured=f"the same: {', '.join(same)}; not: {differ}. The 100 classes of CIFAR-100 add 0.05 M "
        "to such networks; P-DARTS searched on CIFAR-100 again",
        verdict=judge(*(one == other for one, other in pairs.values())),
    )


def size_claims(
    cifar: Mapping[float, CountedNetwork], imagenet: Sequence[CountedNetwork], printed: float
) -> list[Claim]:
    """Sizes of XNAS's networks: CIFAR's by their printed millions; ImageNet's as the text has them."""
    found = {size: agreement(network.parameters, size) for size, network in cifar.items()}
    described = {
        f"{n.parameters:,} with a stem of {n.spec.stem_channels} channels": agreement(
            n.parameters, printed
        )
        for n in imagenet
    }
    return [
        Claim(
            statement="XNAS-Small, -Medium and -Large have 3.7, 5.6 and 7.2 M parameters",
            where="Sec. 4.2, Table 1",
            measured="; ".join(
                f"{size:g} M for {network.parameters:,} at {network.spec.channels} channels "
                f"({found[size]})"
                for size, network in cifar.items()
            ),
            verdict=judge(*(text in {"yes", "yes, rounded"} for text in found.values())),
        ),
        Claim(
            statement=f"The ImageNet network, as described, has {printed:g} M parameters",
            where="Sec. 4.3, 9.3, Table 2",
            measured=f"{' and '.join(described)}; {printed:g} M need the squeeze-and-excitation of the "
            "authors' code and its stem of 56 channels, which the paper does not mention",
            verdict=judge(*(text != "no" for text in described.values())),
        ),
    ]


def depth_claims(rows: Sequence[DepthRow], random: RandomDepths) -> list[Claim]:
    """How deep cells are (Sec. 10)."""
    named = [row for row in rows if row.row]
    reached = {row.row: [r.reached for r in named if r.row == row.row] for row in named}
    plainly = [row for row, ways in reached.items() if "as numbered" in ways]
    barely = [row for row, ways in reached.items() if row not in plainly and set(ways) != {"none"}]
    never = [row for row, ways in reached.items() if set(ways) == {"none"}]
    xnas = next(row for row in rows if row.cell == "xnas")
    others = [row for row in rows if row is not xnas]
    printed = {row.row: row.printed or 0 for row in named if row.row != OURS}
    as_deep = {row.cell: row.depth for row in others if row.depth >= xnas.depth}
    amoeba = {row.cell: row.depth for row in others if row.cell.startswith("amoebanet_b")}
    swapped = {row.cell: row.swapped for row in others if row.cell in amoeba}
    shallow = [row for row in others if row.depth < row.random_mean]
    deviations = (xnas.depth - random.exact_mean) / random.exact_deviation
    return [
        Claim(
            statement="The cells of Table 4 have the depths that it prints",
            where="Sec. 10, Table 4",
            measured=f"as their sources number them: {_rows_text(plainly)}; only with inputs and nodes "
            f"renumbered: {_rows_text(barely)}; by no numbering: {_rows_text(never)}",
            verdict=judge(*(row in plainly for row in reached)),
        ),
        Claim(
            statement="XNAS's cell is deeper than those of ASAP, DARTS, AmoebaNet, NASNet, SNAS, PNAS",
            where="Sec. 10, Table 4",
            measured=f"printed: {xnas.printed:g} against {max(printed.values()):g} at most; but the "
            f"table leaves Amoeba-B out, which Table 1 has: {_listed(amoeba)} as published, "
            f"{_listed(swapped)} with its two inputs swapped",
            verdict=judge(
                xnas.depth > max(row.depth for row in named if row is not xnas),
                xnas.depth > max(amoeba.values(), default=0),
            ),
        ),
        Claim(
            statement="XNAS's cell is much deeper than a typical NAS cell",
            where="Sec. 10, Table 4",
            measured=f"{xnas.depth:g}: of {len(others)} other published cells {len(as_deep)} as deep or "
            f"deeper ({_listed(as_deep)}); random cells have {random.exact_mean:g} on average, "
            f"{deviations:.2f} standard deviations less, and {100 * random.exact_share_deeper:.0f} % of "
            "them are deeper",
            verdict=judge(2 * len(as_deep) < len(others), deviations >= STANDARD_ERRORS),
        ),
        Claim(
            statement="Most NAS methods produce shallow cells",
            where="Sec. 10",
            measured=f"{len(shallow)} of {len(others)} other published cells are shallower than the "
            "mean random cell with as many nodes",
            verdict=judge(2 * len(shallow) > len(others)),
        ),
    ]


def _errors(rows: Sequence[ComparedRow], dataset: str) -> dict[str, float]:
    """Printed errors by row; a row with several cells counts once."""
    return {row.paper.row: row.paper.errors[dataset] for row in rows if dataset in row.paper.errors}


def _rivals(values: Mapping[str, float]) -> dict[str, float]:
    """Values of other NAS methods."""
    return {
        name: value for name, value in values.items() if not name.startswith(OURS) and name not in NO_NAS
    }


def _against_nas(rows: Sequence[ComparedRow], dataset: str) -> tuple[float, float]:
    """The least error of XNAS and of other NAS methods."""
    errors = _errors(rows, dataset)
    ours = min(error for name, error in errors.items() if name.startswith(OURS))
    return ours, min(_rivals(errors).values())


def _lead(dataset: str, ours: float, theirs: float) -> float:
    """Difference of two errors in percent, in standard errors."""
    spread = [math.sqrt(e * (100 - e) / TEST_IMAGES[dataset]) for e in (ours, theirs)]
    return standard_score(theirs - ours, *spread)


def _lead_text(dataset: str, ours: float, theirs: float) -> str:
    return (
        f"{theirs - ours:.2f} points, {_lead(dataset, ours, theirs):.1f} standard errors with "
        f"{TEST_IMAGES[dataset]:,} test images"
    )


def _pairs_text(pairs: Mapping[str, tuple[float, float]]) -> str:
    return ", ".join(f"{NAMES[d]} {ours:g} against {best:g}" for d, (ours, best) in pairs.items())


def _rows_text(rows: Sequence[str | None]) -> str:
    return ", ".join(str(row) for row in rows) or "none"


def _listed(values: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {value:g}" for name, value in values.items()) or "none"
