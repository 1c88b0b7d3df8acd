"""The charts of a comparison: the result of every seed, and accuracy against epochs."""

from __future__ import annotations

from collections.abc import Sequence

from xnas.records import ComparedRun, RunComparison
from xnas.report.colours import GREY, PALETTE
from xnas.report.comparison_rows import accuracy_words
from xnas.report.page.charts import Chart, Panel, Series

Place = tuple[str, str, str]
"""Entry, data and space."""
CURVES = {
    "true": "True accuracy of the cell",
    "judged": "Judged accuracy of the cell",
    "trained": "Validation accuracy of the search",
    "supernet": "Validation accuracy of the search",
}
"""What the curves of runs are, by what is compared."""
MOST_NAMED = len(PALETTE)
"""Seeds that have colours of their own."""


def comparison_charts(found: RunComparison) -> tuple[Chart, ...]:
    """Results by entry, and curves of searches and of samplings, as far as there are any."""
    places = [(one.entry, one.data, one.space) for one in found.summaries]
    dense = {place: _is_dense(_runs(found, place)) for place in places}
    searches = [place for place in places if dense[place] is True]
    samplings = [place for place in places if dense[place] is False]
    charts = (
        _results(found),
        _curves(found, searches, sampled=False),
        _curves(found, samplings, sampled=True),
    )
    return tuple(chart for chart in charts if chart is not None)


def _results(found: RunComparison) -> Chart | None:
    """The accuracy of every finished run as a dot, with the mean of its entry."""
    done = [run for run in found.runs if run.accuracy is not None]
    if not done:
        return None
    blocks = list(dict.fromkeys((one.data, one.space) for one in found.summaries))
    return Chart(
        name="results",
        title="Result of every seed",
        caption="A dot per run, and the mean of each entry; the grey line is the mean of random cells."
        if found.random_mean
        else "A dot per run, and the mean of each entry.",
        x="",
        y=f"{accuracy_words(found.measure)} (%)",
        places=tuple(dict.fromkeys(one.entry for one in found.summaries)),
        panels=tuple(
            Panel(
                title=", ".join(block) if len(blocks) > 1 else "",
                series=_results_of(found, done, block),
            )
            for block in blocks
        ),
        half=len(blocks) == 1,
    )


def _results_of(
    found: RunComparison, done: Sequence[ComparedRun], block: tuple[str, str]
) -> tuple[Series, ...]:
    runs = [run for run in done if (run.data, run.space) == block]
    means = [one for one in found.summaries if (one.data, one.space) == block and one.mean is not None]
    series = [
        Series(
            name="mean",
            values=tuple(one.mean for one in means),
            places=tuple(one.entry for one in means),
            labels=tuple(f"{one.runs} runs" for one in means),
            colour=PALETTE[1],
            shape="ticks",
        ),
        Series(
            name="a seed",
            values=tuple(run.accuracy for run in runs),
            places=tuple(run.entry for run in runs),
            labels=tuple(f"seed {run.seed}" for run in runs),
            colour=PALETTE[0],
            shape="dots",
        ),
    ]
    random = found.random_mean.get(", ".join(block))
    if random is not None:
        entries = tuple(one.entry for one in means)
        series.insert(
            0, Series(name="random cells", values=(random,) * len(means), places=entries, colour=GREY)
        )
    return tuple(one for one in series if one.values)


def _curves(found: RunComparison, places: Sequence[Place], *, sampled: bool) -> Chart | None:
    """A panel for every entry, with a line for every seed."""
    if not places:
        return None
    several = len({(one.data, one.space) for one in found.summaries}) > 1
    seeds = sorted({run.seed for run in found.runs})
    panels = tuple(
        Panel(
            title=", ".join(place if several else place[:1]),
            series=(
                *_lines(_runs(found, place), seeds, sampled=sampled),
                *_random(found, place, sampled=sampled),
            ),
        )
        for place in places
    )
    what, lines = CURVES[found.measure], "A line per seed, a panel per entry."
    return Chart(
        name="evaluations" if sampled else "accuracy",
        title=f"{what}, by {'evaluations' if sampled else 'epoch'}",
        caption=f"Of the best cell so far. {lines}" if sampled else lines,
        x="evaluations" if sampled else "epoch",
        y="accuracy (%)",
        places=(),
        panels=panels,
        half=len(panels) == 1,
        legend=len(seeds) <= MOST_NAMED,
    )


def _lines(runs: Sequence[ComparedRun], seeds: Sequence[int], *, sampled: bool) -> list[Series]:
    named = len(seeds) <= MOST_NAMED
    return [
        Series(
            name=f"seed {run.seed}",
            values=tuple(accuracy for _, accuracy in run.curve),
            places=tuple(at for at, _ in run.curve),
            colour=PALETTE[seeds.index(run.seed)] if named else PALETTE[0],
            shape="steps" if sampled else "line",
            marked=len(run.curve) == 1,
        )
        for run in runs
        if run.curve
    ]


def _random(found: RunComparison, place: Place, *, sampled: bool) -> list[Series]:
    """The mean of random cells, over the same places; not where curves are of something else."""
    mean = found.random_mean.get(", ".join(place[1:]))
    ends = [at for run in _runs(found, place) if run.curve for at in (run.curve[0][0], run.curve[-1][0])]
    if mean is None or found.measure in {"trained", "supernet"}:
        return []
    ends = sorted({min(ends), max(ends)})
    return [
        Series(
            name="random cells",
            values=(mean,) * len(ends),
            places=tuple(ends),
            colour=GREY,
            shape="steps" if sampled else "line",
        )
    ]


def _runs(found: RunComparison, place: Place) -> list[ComparedRun]:
    return [run for run in found.runs if (run.entry, run.data, run.space) == place]


def _is_dense(runs: Sequence[ComparedRun]) -> bool | None:
    """Whether curves have a point for every epoch, as a search's; a sampling's where it improved.

    None without curves.
    """
    curves = [run.curve for run in runs if run.curve]
    return all(len(curve) == curve[-1][0] for curve in curves) if curves else None
