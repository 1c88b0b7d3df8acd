"""The page of a fit: its networks beside each other, what was planned, and how the time held."""

from __future__ import annotations

from xnas.records import FitPlan, FitRow, FitSummary
from xnas.report.fitting import (
    HEADER,
    SECONDS,
    TITLES,
    WEIGHTS,
    accuracy_text,
    best_first,
    missing_lines,
    row_cells,
    verdict,
)
from xnas.report.page.blocks import (
    Block,
    Cell,
    Command,
    DataTable,
    Fact,
    Facts,
    Link,
    Page,
    Section,
    Text,
)
from xnas.report.page.charts import Chart, Panel, Series
from xnas.report.page.run_sections import duration, head_notices, page_of, run_section
from xnas.report.page.stories import FitStory

STAGES = {"beginning": "reading and measuring", "search": "search", "end": "latencies, test, export"}
STAGES |= TITLES


def fit_page(story: FitStory) -> Page:
    """The page of a fit that is running, has stopped or is finished."""
    plan, summary = story.plan, story.summary
    return page_of(
        story.head,
        kind="Fit",
        title=f"A network for {story.head.data_name}",
        subtitle="" if story.minutes is None else f"within {story.minutes:g} minutes",
        summary=tuple(_summary(story)),
        sections=(
            Section(title="Accuracy and size", blocks=() if summary is None else (size_chart(summary),)),
            Section(title="Plan", blocks=() if plan is None else _plan(plan)),
            Section(title="Time", blocks=_times(story)),
            run_section(story.head),
        ),
    )


def _summary(story: FitStory) -> list[Block]:
    blocks: list[Block] = list(head_notices(story.head))
    summary = story.summary
    if summary is not None:
        lines = [*verdict(summary), *missing_lines(summary.missing)]
        blocks += [Facts(_facts(story, summary)), _networks(story, summary)]
        blocks += [Text(f"{line[0].upper()}{line[1:]}.") for line in lines]
    blocks += [Text(f"{line[0].upper()}{line[1:]}.") for line in story.punctuality]
    if story.head.next_command:
        blocks.append(Command("Next", story.head.next_command))
    return blocks


def _facts(story: FitStory, summary: FitSummary) -> tuple[Fact, ...]:
    winner = summary.winner
    images = f"of {summary.images:,} images that no training saw, {WEIGHTS}, with its 95 % interval"
    facts = [
        Fact("Best", TITLES[winner.name], winner.what),
        Fact("Validation accuracy", accuracy_text(winner), images),
    ]
    if summary.test is not None:
        note = f"of {summary.test.images:,} images, tested once"
        facts.append(Fact("Test accuracy", f"{100 * summary.test.top1:.2f} %", note))
    macs = f"{winner.macs / 1e6:,.1f} M multiply-adds per image"
    latency = winner.cost.latency
    facts += [
        Fact("Parameters", f"{winner.parameters:,}", macs),
        Fact("Latency", f"{latency.milliseconds:.2f} ms", f"of one image on {latency.device}"),
        Fact("Time", duration(sum(story.stages.values())), _of_minutes(story)),
    ]
    return tuple(facts)


def _of_minutes(story: FitStory) -> str:
    return "" if story.minutes is None else f"of {story.minutes:g} min"


def _networks(story: FitStory, summary: FitSummary) -> DataTable:
    rows = best_first(summary.rows)
    return DataTable(
        caption=f"The networks, the best by validation first; accuracy {WEIGHTS}, with its 95 % "
        f"interval{f'; {SECONDS}' if any(row.name == 'found' for row in rows) else ''}",
        header=(*HEADER, "epochs"),
        rows=tuple(_network(story, row) for row in rows),
        left=(0, 1),
        strong=(0,),
    )


def _network(story: FitStory, row: FitRow) -> tuple[Cell, ...]:
    title, *others = row_cells(row)
    return (_linked(story, row.name, title), *others, str(row.epochs))


def _linked(story: FitStory, stage: str, title: str) -> Cell:
    """A title that leads to the report of the run, if there is one."""
    address = story.pages.get(stage)
    return Link(title, address) if address else title


def size_chart(summary: FitSummary) -> Chart:
    """Accuracy with its interval against parameters, a series for each network."""
    return Chart(
        name="networks",
        title="Accuracy against size",
        caption="Validation accuracy of every network with its 95 % interval, against its parameters. "
        "Whether two of them differ is said by the test above, not by whether intervals overlap.",
        x="parameters",
        y="accuracy (%)",
        places=tuple(float(row.parameters) for row in summary.rows),
        panels=(Panel(title="", series=tuple(one for row in summary.rows for one in _drawn(row))),),
    )


def _drawn(row: FitRow) -> tuple[Series, ...]:
    """The interval as a line, without dots at its ends, and the measurement as a dot."""
    place = float(row.parameters)
    interval = Series(
        name=TITLES[row.name],
        values=(100 * row.lower, 100 * row.upper),
        places=(place,) * 2,
        labels=("lower end of the interval", "upper end of the interval"),
        shape="steps",  # a line of so few points would have them marked
    )
    measured = Series(
        name=TITLES[row.name],
        values=(100 * row.accuracy,),
        places=(place,),
        labels=(row.what,),
        shape="dots",
    )
    return interval, measured


def _plan(plan: FitPlan) -> tuple[Block, ...]:
    blocks: list[Block] = [
        DataTable(
            caption="What was decided before anything was trained",
            header=("", "plan", "because"),
            rows=tuple((one.subject, one.choice, one.reason) for one in plan.decisions),
            left=(0, 1, 2),
        )
    ]
    if plan.settled:
        rows = tuple(
            (_settled(one.stage), str(one.epochs), f"{one.seconds:.0f} s") for one in plan.settled
        )
        blocks.append(
            DataTable(
                caption="Epochs of each training, set at its start by the time that was left",
                header=("training", "epochs", "expected"),
                rows=rows,
            )
        )
    return tuple(blocks)


def _settled(stage: str) -> str:
    return "each of both cells" if stage == "cells" else TITLES[stage]


def _times(story: FitStory) -> tuple[Block, ...]:
    if not story.stages:
        return ()
    planned = {} if story.plan is None else {"beginning": story.plan.spent} | story.plan.stages()
    if "published" in story.stages:
        planned["published"] = planned.pop("found", 0.0)
    rows = tuple(
        (
            _linked(story, stage, STAGES.get(stage, stage)),
            f"{planned[stage]:.0f} s" if stage in planned else "",
            f"{seconds:.0f} s",
        )
        for stage, seconds in story.stages.items()
    )
    return (
        DataTable(
            caption="Seconds by the clock, of all calls",
            header=("stage", "planned", "took"),
            rows=rows,
        ),
    )
