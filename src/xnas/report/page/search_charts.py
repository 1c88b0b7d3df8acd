"""The charts of a search: what was measured in every epoch, and the accounts of the forecasters."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from xnas.records import Ledger, SearchEpoch, Truth
from xnas.report.colours import PALETTE, operation_colours
from xnas.report.page.charts import Chart, Panel, Series, line_chart
from xnas.report.page.stories import SearchedCells, SearchStory

TRAIN, VALID = "training", "validation"


def progress_charts(story: SearchStory) -> tuple[Chart, ...]:
    """Losses, accuracies, entropy, skip connections, experts, gap and truth."""
    epochs = story.epochs
    if not epochs:
        return ()
    found = [
        _by_epoch(
            epochs,
            "accuracy",
            "Accuracy",
            "Share of right answers of the mixture on both halves of the images; the two should rise "
            "together.",
            {
                TRAIN: lambda e: 100 * e.train_accuracy,
                VALID: lambda e: 100 * e.valid_accuracy,
            },
            y="accuracy (%)",
        ),
        _by_epoch(
            epochs,
            "loss",
            "Loss",
            "Mean cross-entropy of the mixture; the validation loss is what the mixtures learn from.",
            {TRAIN: lambda e: e.train_loss, VALID: lambda e: e.valid_loss},
            y="cross-entropy",
        ),
        _by_kind(
            epochs,
            "entropy",
            "Entropy of the mixtures",
            "1 if all experts have equal weight, 0 if one has it all; it falls as the search decides.",
            lambda e: e.entropy,
            y="normalised entropy",
        ),
        _by_kind(
            epochs,
            "alive",
            "Experts alive",
            "Experts that are still in the network; each step down is a wipeout.",
            lambda e: {kind: float(count) for kind, count in e.experts_alive.items()},
            y="experts",
            zero=True,
        ),
        _by_kind(
            epochs,
            "skips",
            "Skip connections",
            "Share of edges that a skip connection leads; near 100 % the search has collapsed.",
            lambda e: {kind: 100 * share for kind, share in e.skip_share.items()},
            y="edges (%)",
            zero=True,
        ),
    ]
    return (*found, *_gap(epochs), *_truth(epochs))


def cost_charts(story: SearchStory) -> tuple[Chart, ...]:
    """Seconds per round and memory."""
    if not story.epochs:
        return ()
    return (
        _by_epoch(
            story.epochs,
            "seconds",
            "Time per round",
            "Mean over the rounds of an epoch; it falls when experts leave the network.",
            {"round": lambda e: 1000 * e.cost.seconds_per_round},
            y="milliseconds",
            zero=True,
        ),
        _by_epoch(
            story.epochs,
            "memory",
            "Memory",
            "Of the process, or of the GPU where one computes.",
            {"memory": lambda e: e.cost.memory_bytes / 2**20},
            y="MiB",
            zero=True,
        ),
    )


def mixture_charts(story: SearchStory) -> tuple[Chart, ...]:
    """The weight of every expert on every edge, epoch by epoch."""
    cells, epochs = story.cells, [e for e in story.epochs if e.mixtures is not None]
    if cells is None or len(epochs) < 2:
        return ()
    colours = operation_colours(cells.operations)
    return tuple(
        Chart(
            name=f"mixtures-{kind}",
            title=f"Mixtures of the {kind} cell",
            caption="The weight of each operation after every epoch, a panel per edge; a line that ends "
            "at 0 was wiped out.",
            x="epoch",
            y="weight",
            places=tuple(e.epoch for e in epochs),
            panels=tuple(
                Panel(title=edge_name(cells, at), series=_weights(kind, at, cells, epochs, colours))
                for at in range(len(cells.edges))
            ),
            zero=True,
            half=False,
        )
        for kind in (epochs[-1].mixtures or {})
        if all(len((e.mixtures or {}).get(kind, ())) == len(cells.edges) for e in epochs)
    )


def reward_charts(story: SearchStory) -> tuple[Chart, ...]:
    """Mean rewards by operation, for every kind of cell and stage of the network."""
    epochs = [e for e in story.epochs if e.rewards_by_stage]
    if len(epochs) < 2:
        return ()
    names = tuple(dict.fromkeys(n for e in epochs for found in e.rewards.values() for n in found))
    colours = operation_colours(story.cells.operations if story.cells else names)
    return tuple(
        Chart(
            name=f"rewards-{kind}",
            title=f"Rewards in the {kind} cell, by stage",
            caption="Mean reward per round of the living experts of each operation; above 0 it would "
            "lower the validation loss if it counted more.",
            x="epoch",
            y="mean reward",
            places=tuple(e.epoch for e in epochs),
            panels=tuple(
                Panel(
                    title=f"stage {stage}",
                    series=tuple(
                        Series(name=name, values=values, colour=colours.get(name, PALETTE[-1]))
                        for name, values in _rewards(epochs, kind, stage, names)
                    ),
                )
                for stage in stages
            ),
            half=len(stages) == 1,
        )
        for kind, stages in _stages(epochs).items()
    )


def regret_chart(kind: str, ledger: Ledger, cells: SearchedCells | None) -> Chart | None:
    """Regret of every forecaster beside its bound."""
    if ledger.regret_bound is None:
        return None
    places = tuple(
        edge_name(cells, at) if cells and at < len(cells.edges) else str(at)
        for at in range(len(ledger.regret))
    )
    return Chart(
        name=f"regret-{kind}",
        title=f"Regret in the {kind} cell",
        caption="For every edge what the mixture earned less than its best living expert, beside the "
        "most that Theorem 1 allows; bars should stay below their bound.",
        x="edge",
        y="summed rewards",
        places=places,
        panels=(
            Panel(
                title="",
                series=(
                    Series(name="regret", values=ledger.regret, colour=PALETTE[0], shape="bars"),
                    Series(name="bound", values=ledger.regret_bound, colour="#B9C0C8", shape="bars"),
                ),
            ),
        ),
        zero=True,
    )


def edge_name(cells: SearchedCells, at: int) -> str:
    """An edge as its two states: `in 2 → 3`."""
    source, node = cells.edges[at]
    if source >= cells.inputs:
        return f"{source} → {node}"
    return f"in {source + 1} → {node}" if cells.inputs > 1 else f"in → {node}"


def _weights(
    kind: str,
    at: int,
    cells: SearchedCells,
    epochs: Sequence[SearchEpoch],
    colours: dict[str, str],
) -> tuple[Series, ...]:
    """Lines of one edge; they end after the first 0."""
    found = []
    for expert, name in enumerate(cells.operations):
        values: list[float | None] = [(e.mixtures or {})[kind][at][expert] for e in epochs]
        if 0 in values:
            first = values.index(0)
            values[first + 1 :] = [None] * (len(values) - first - 1)
        found.append(Series(name=name, values=tuple(values), colour=colours[name]))
    return tuple(found)


def _stages(epochs: Sequence[SearchEpoch]) -> dict[str, list[str]]:
    """Stages with rewards, by kind of cell."""
    kinds = dict.fromkeys(kind for e in epochs for kind in e.rewards_by_stage)
    return {
        kind: list(dict.fromkeys(s for e in epochs for s in e.rewards_by_stage.get(kind, {})))
        for kind in kinds
    }


def _rewards(
    epochs: Sequence[SearchEpoch], kind: str, stage: str, names: Sequence[str]
) -> Iterator[tuple[str, tuple[float | None, ...]]]:
    """Of every operation that was ever paid in a stage."""
    found = [e.rewards_by_stage.get(kind, {}).get(stage, {}) for e in epochs]
    for name in names:
        values = tuple(rewards.get(name) for rewards in found)
        if any(value is not None for value in values):
            yield name, values


def _gap(epochs: Sequence[SearchEpoch]) -> tuple[Chart, ...]:
    measured = [(e.epoch, e.gap) for e in epochs if e.gap is not None]
    if not measured:
        return ()
    readings: dict[str, list[float | None]] = {
        "all experts": [100 * gap.mixture for _, gap in measured],
        "strongest experts": [100 * gap.experts for _, gap in measured],
        "the cell": [None if gap.cell is None else 100 * gap.cell for _, gap in measured],
    }
    return (
        line_chart(
            "gap",
            "Discretization gap",
            "Validation accuracy, with the weights of the search, of all experts, of the strongest "
            "of every edge, and of the cell alone; close lines mean that little is lost.",
            places=[epoch for epoch, _ in measured],
            series=readings,
            y="accuracy (%)",
        ),
    )


def _truth(epochs: Sequence[SearchEpoch]) -> tuple[Chart, ...]:
    known = [(e.epoch, e.truth) for e in epochs if e.truth is not None]
    if not known:
        return ()
    exact = isinstance(known[-1][1], Truth)
    word = "True" if exact else "Judged"
    source = "a benchmark's table" if exact else "a judge's estimate"
    return (
        line_chart(
            "truth",
            f"{word} accuracy of the cell",
            f"What {source} says of the cell of each epoch; the search never sees it.",
            places=[epoch for epoch, _ in known],
            series={"the cell": [truth.accuracy for _, truth in known]},
            y="test accuracy (%)" if exact else "validation accuracy (%)",
        ),
    )


def _by_epoch(
    epochs: Sequence[SearchEpoch],
    name: str,
    title: str,
    caption: str,
    series: dict[str, Callable[[SearchEpoch], float]],
    *,
    y: str,
    zero: bool = False,
) -> Chart:
    return line_chart(
        name,
        title,
        caption,
        places=[e.epoch for e in epochs],
        series={key: [read(e) for e in epochs] for key, read in series.items()},
        y=y,
        zero=zero,
    )


def _by_kind(
    epochs: Sequence[SearchEpoch],
    name: str,
    title: str,
    caption: str,
    read: Callable[[SearchEpoch], dict[str, float]],
    *,
    y: str,
    zero: bool = False,
) -> Chart:
    kinds = dict.fromkeys(kind for e in epochs for kind in read(e))
    return line_chart(
        name,
        title,
        caption,
        places=[e.epoch for e in epochs],
        series={kind: [read(e).get(kind) for e in epochs] for kind in kinds},
        y=y,
        zero=zero,
    )
