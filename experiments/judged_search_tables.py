"""Tables of the recorded searches, from results/judged_searches.json and judged_cells.json.

Every search that came to a cell has a row. Searches with the same guards are one kind, whatever their
variants are called: wipeout at the very end is not counted as a guard.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import sqrt
from statistics import mean, stdev

from edge_rules import RULES
from jobs import Record
from judged_searches import DARTS, DRAWN, FEW, FEW_EPOCHS, INPUTS
from result_tables import NOTHING, Results, spread, table

UNJUDGED = f"N{NOTHING[1:]}: no search has been judged."
EPOCHS = (5, 10, 15, 20, 25)
REWARD_EPOCHS = (1, 2, 3, 5, 10, 15, 20, 25)
REFERENCES = ("pc_darts_cifar", "xnas")
NONE = "—"


def searches(results: Results, *, space: str | None = None, size: str | None = None) -> list[Record]:
    """Searches with a cell, of a space or a size: those with all guards first, kinds together."""
    found = [s for s in results.whole("judged_searches.json") or [] if "judged" in s or "true" in s]
    chosen = [s for s in found if space in (None, s["space"]) and size in (None, s["size"])]
    return sorted(chosen, key=lambda s: (not combined(s), kind_of(s), s["seed"], s["variant"]))


def combined(search: Record) -> bool:
    """Whether it has absent experts, the best temperature and a warm-up, and no AutoAugment."""
    on = search["guards"]
    return bool(
        on["expert_dropout"]
        and on["best_temperature"]
        and on["warmup_epochs"]
        and on["auto_augment"] == "no"
    )


def kind_of(search: Record) -> tuple[str, ...]:
    """Guards in words, one for each column of GUARDS."""
    on = search["guards"]
    return (
        f"{on['expert_dropout']:g}" if on["expert_dropout"] else NONE,
        "yes" if on["best_temperature"] else NONE,
        f"{on['warmup_epochs']} epochs" if on["warmup_epochs"] else NONE,
        {"no": NONE, "always": "yes", "balance": "in balance"}[on["auto_augment"]],
        on["edges"],
    )


GUARDS = ("absent experts", "best temperature", "warm-up", "AutoAugment", "edges by")
"""Columns; the last has no meaning where every edge is kept."""


def last(search: Record) -> float:
    """The accuracy at the end."""
    accuracies: dict[str, float] = search["judged" if search["space"] == DARTS else "true"]
    return list(accuracies.values())[-1]


def by_epoch(search: Record, epochs: Iterable[int]) -> list[str]:
    """Accuracies at these epochs; a dash where there was no cell, or no such epoch."""
    known = search["judged" if search["space"] == DARTS else "true"]
    return [f"{known[str(e)]:.2f}" if str(e) in known else NONE for e in epochs]


def _kinds(found: Sequence[Record]) -> dict[tuple[str, ...], list[Record]]:
    kinds: dict[tuple[str, ...], list[Record]] = {}
    for search in found:
        kinds.setdefault(kind_of(search), []).append(search)
    return kinds


def darts(results: Results) -> str:
    """One row per search of the DARTS space, below what the judge says of other cells."""
    found = searches(results, space=DARTS)
    if not found:
        return UNJUDGED
    rows = [
        [s["variant"], str(s["seed"]), *kind_of(s), *by_epoch(s, EPOCHS), f"{s['error']:.2f}"]
        for s in found
    ]
    header = ("search", "seed", *GUARDS, *(f"epoch {e}" for e in EPOCHS), "error of the judge")
    return f"{_references(results)}\n\n{table(header, rows)}"


def _references(results: Results) -> str:
    others = results.whole("judged_cells.json")
    if others is None:
        return f"Other cells: {NOTHING}."
    drawn = "; ".join(f"{row['cells']} {row['mean']:.2f}" for row in others["random"])
    rows = {row["cell"]: row for row in (*others["published"], *others["trained"])}
    cells = [*REFERENCES, *sorted(name for name in rows if name.startswith("darts-default-"))]
    told = ", ".join(f"`{n}` {rows[n]['judged']:.2f}" for n in cells if n in rows)
    return (
        f"The same judge, random cells on average: {drawn}. Published cells and the default's: {told}."
    )


def taken_apart(results: Results) -> str:
    """The last cells taken apart, one row per search and one per kind."""
    found = searches(results, space=DARTS)
    if not found:
        return UNJUDGED
    rows = []
    for search in found:
        apart = search["taken_apart"]
        rows.append(
            [
                search["variant"],
                str(search["seed"]),
                *(f"{apart[name]:.2f}" for name in ("found", "shuffled", "drawn")),
                *(f"{apart[f'better_than_{name}']:.0f} %" for name in ("shuffled", "drawn")),
                f"{from_inputs(search, 'normal')}, {from_inputs(search, 'reduction')}",
            ]
        )
    header = (
        "search",
        "seed",
        "found",
        "same shape, operations shuffled",
        "same operations, shape drawn",
        "better than so many shuffled",
        "drawn",
        "edges from the inputs, of 8 (normal, reduction)",
    )
    kinds = [
        [
            *kind,
            spread([last(s) for s in of_kind]),
            *(gain(of_kind, name) for name in ("shuffled", "drawn")),
        ]
        for kind, of_kind in _kinds(found).items()
    ]
    summary = (*GUARDS, "found", "more than shuffled", "more than drawn")
    return f"{table(header, rows)}\n\n{table(summary, kinds)}"


def from_inputs(search: Record, kind: str) -> int:
    """Edges of a cell that come from the cell's two inputs."""
    return sum(int(edge.rpartition(":")[2]) < 2 for edge in search[kind].split())


def gains(found: Sequence[Record], name: str) -> list[float]:
    """What each found cell has more than the mean of those that share a half of it."""
    return [s["taken_apart"]["found"] - s["taken_apart"][name] for s in found]


def standard_error(values: Sequence[float]) -> float:
    """Of the mean."""
    return stdev(values) / sqrt(len(values))


def gain(found: Sequence[Record], name: str) -> str:
    """The mean gain with its standard error over searches."""
    values = gains(found, name)
    error = f" ± {standard_error(values):.3f}" if len(values) > 1 else ""
    return f"{mean(values):+.3f}{error} ({len(values)})"


def edge_rules(results: Results) -> str:
    """Judged accuracies by rule for edges at the end, means over searches of a kind."""
    found = [s for s in searches(results, space=DARTS) if "by_edge_rule" in s]
    if not found:
        return UNJUDGED
    names = (DRAWN, INPUTS, *RULES)
    rows = []
    for kind, of_kind in _kinds(found).items():
        known = [[s["by_edge_rule"].get(name) for s in of_kind] for name in names]
        told = [NONE if None in values else f"{mean(values):.2f}" for values in known]
        rows.append([*kind[:-1], str(len(of_kind)), *told])
    return table((*GUARDS[:-1], "searches", *names), rows)


def rewards(results: Results) -> str:
    """How large rewards were in some epochs, means over searches of a kind."""
    found = searches(results, space=DARTS)
    if not found:
        return UNJUDGED
    rows = []
    for kind, of_kind in _kinds(found).items():
        for cells in ("normal", "reduction"):
            by_search = [s["rewards"][cells] for s in of_kind]
            told = [_mean_size([r[e - 1] for r in by_search if len(r) >= e]) for e in REWARD_EPOCHS]
            rows.append([*kind[:-1], cells, *told])
    return table((*GUARDS[:-1], "cells", *(f"epoch {e}" for e in REWARD_EPOCHS)), rows)


def _mean_size(values: Sequence[float]) -> str:
    return f"{mean(values):.5f}" if any(values) else NONE


def benchmark(results: Results) -> str:
    """One row per search of NAS-Bench-201 with all images."""
    found = searches(results, size="benchmark")
    if not found:
        return UNJUDGED
    epochs = EPOCHS[:-1]
    rows = [
        [
            s["variant"],
            str(s["seed"]),
            *kind_of(s)[:-1],
            *by_epoch(s, epochs),
            f"`{s['arch']}`".replace("|", "\\|"),
        ]
        for s in found
    ]
    return table(("search", "seed", *GUARDS[:-1], *(f"epoch {e}" for e in epochs), "last cell"), rows)


def few(results: Results) -> str:
    """One row per search of few images."""
    found = searches(results, size=FEW)
    if not found:
        return UNJUDGED
    rows = [
        [
            s["variant"],
            str(s["seed"]),
            *kind_of(s)[:-1],
            *by_epoch(s, FEW_EPOCHS),
            f"{s['least']['true']:.2f} (epoch {s['least']['epoch']})",
            f"{s['skips']} of 6",
        ]
        for s in found
    ]
    epochs = (f"epoch {e}" for e in FEW_EPOCHS)
    return table(("search", "seed", *GUARDS[:-1], *epochs, "least", "skips at the end"), rows)
