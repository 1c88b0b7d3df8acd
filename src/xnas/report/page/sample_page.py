"""The page of a search by sampling: the best cell, how it was found, and what else was evaluated."""

from __future__ import annotations

from xnas.records import Sampled
from xnas.report.colours import GREY, PALETTE
from xnas.report.page.blocks import Block, Command, DataTable, Fact, Facts, Page, Section
from xnas.report.page.cell_graphs import finished_graphs
from xnas.report.page.charts import Chart, Panel, Series
from xnas.report.page.run_sections import duration, head_notices, page_of, run_section
from xnas.report.page.stories import SampleStory
from xnas.report.sampling import best_cells, evaluations_line, highest_rung, pareto_front, rung_text

MOST_ROWS = 200
MOST_DOTS = 2000
"""Evaluations that are drawn one by one; of more, every second, third, ..."""


def sample_page(story: SampleStory) -> Page:
    """The page of a search by sampling that is running, has stopped or is finished."""
    summary: list[Block] = [*head_notices(story.head), Facts(_facts(story))]
    if story.graph is not None:
        summary.append(finished_graphs(story.graph, "The best cell"))
    if story.head.next_command:
        summary.append(Command("Next", story.head.next_command))
    return page_of(
        story.head,
        kind="Sampling",
        title=f"Cells for {story.head.data_name}",
        subtitle=f"sampler {story.sampler}, evaluator {story.evaluator}",
        summary=tuple(summary),
        sections=(
            Section(title="Progress and size", blocks=sample_charts(story)),
            Section(title="Cells", blocks=_tables(story)),
            run_section(story.head),
        ),
    )


def _facts(story: SampleStory) -> tuple[Fact, ...]:
    records = story.evaluations
    planned = "" if story.planned is None else f" of {story.planned:,}"
    facts = [Fact("Evaluations", f"{len(records):,}{planned}", evaluations_line(records))]
    best = best_cells(records, 1)
    if best:
        value = f"{100 * (best[0].value or 0.0):.2f} %"
        epochs = "" if best[0].budget is None else f", after {best[0].budget} epochs"
        facts.insert(0, Fact("Best validation accuracy", value, f"trial {best[0].number}{epochs}"))
        if best[0].parameters:
            size = f"{best[0].parameters:,}"
            facts.append(Fact("Parameters", size, f"{best[0].macs / 1e6:,.1f} M multiply-adds"))
    if story.truth:
        facts.append(Fact("By the benchmark", story.truth))
    spent = [record.seconds for record in records if record.seconds is not None]
    if spent:
        facts.append(Fact("Time", duration(spent[-1]), "of all evaluations, on whatever machines"))
    return tuple(facts)


def sample_charts(story: SampleStory) -> tuple[Chart, ...]:
    """Best so far against evaluations, and accuracy against size with its front."""
    known = [(place, r) for place, r in enumerate(story.evaluations, start=1) if r.value is not None]
    if not known:
        return ()
    dots = known[:: 1 + len(known) // MOST_DOTS]
    least = _least_shown([100 * (record.value or 0.0) for _, record in known])
    rung = rung_text(story.evaluations)
    found = [_progress(known, dots, least, " at the highest rung until then" if rung else " until then")]
    if all(record.parameters for _, record in known):
        compared = highest_rung(story.evaluations)
        compared = compared[:: 1 + len(compared) // MOST_DOTS]
        front = pareto_front(story.evaluations)
        found.append(_sizes(compared, front, least, f"{rung}. " if rung else ""))
    return tuple(found)


def _least_shown(values: list[float]) -> float:
    """Leave out cells that learned nothing, which would press the others into one line."""
    ordered = sorted(values)
    tenth, best = ordered[len(ordered) // 10], ordered[-1]
    return max(0.0, min(tenth, best - 1) - (best - tenth) / 10)


def _progress(
    known: list[tuple[int, Sampled]], dots: list[tuple[int, Sampled]], least: float, until: str
) -> Chart:
    return Chart(
        name="progress",
        title="Best so far",
        caption=f"Each dot is an evaluation; the line is the best{until}.",
        x="evaluations",
        y="validation accuracy (%)",
        least=least,
        places=(),
        panels=(
            Panel(
                title="",
                series=(
                    _dots([place for place, _ in dots], [record for _, record in dots]),
                    Series(
                        name="best so far",
                        values=tuple(100 * (record.best or 0.0) for _, record in known),
                        places=tuple(place for place, _ in known),
                        colour=PALETTE[0],
                        shape="steps",
                    ),
                ),
            ),
        ),
    )


def _sizes(dots: list[Sampled], front: list[Sampled], least: float, rung: str) -> Chart:
    return Chart(
        name="pareto",
        title="Accuracy and size",
        caption=f"{rung}The line joins the cells that no other is both smaller than and as accurate as.",
        x="parameters (M)",
        y="validation accuracy (%)",
        least=least,
        places=(),
        panels=(
            Panel(
                title="",
                series=(
                    _dots([record.parameters / 1e6 for record in dots], dots),
                    Series(
                        name="Pareto front",
                        values=tuple(100 * (record.value or 0.0) for record in front),
                        places=tuple(record.parameters / 1e6 for record in front),
                        labels=tuple(f"trial {record.number}" for record in front),
                        colour=PALETTE[1],
                        shape="steps",
                        marked=True,
                    ),
                ),
            ),
        ),
    )


def _dots(places: list[float] | list[int], dots: list[Sampled]) -> Series:
    return Series(
        name="evaluated",
        values=tuple(100 * (record.value or 0.0) for record in dots),
        places=tuple(places),
        labels=tuple(f"trial {record.number}" for record in dots),
        colour=GREY,
        shape="dots",
    )


def _tables(story: SampleStory) -> tuple[Block, ...]:
    cell = {r.number: text for r, text in zip(story.evaluations, story.cells, strict=True)}
    front = {record.number for record in pareto_front(story.evaluations)}
    ordered = best_cells(story.evaluations, len(story.evaluations))
    shown = [record for at, record in enumerate(ordered) if at < MOST_ROWS or record.number in front]
    if not shown:
        return ()
    left_out = len(ordered) - len(shown)
    more = f"; {left_out} more were evaluated" if left_out else ""
    rung = rung_text(story.evaluations)
    cells = f"The cells of {rung}" if rung else "The cells"
    return (
        DataTable(
            caption=f"{cells}, the best first; bold ones are on the Pareto front{more}",
            header=("trial", "validation", "parameters", "multiply-adds", "cell"),
            rows=tuple(
                (
                    str(record.number),
                    f"{100 * (record.value or 0.0):.2f} %",
                    f"{record.parameters:,}" if record.parameters else "",
                    f"{record.macs:,}" if record.macs else "",
                    cell[record.number],
                )
                for record in shown
            ),
            left=(4,),
            folded=len(shown) > 15,
            strong=tuple(at for at, record in enumerate(shown) if record.number in front),
        ),
    )
