"""The page of a comparison: who is better by how much, whether that is noise, and every run."""

from __future__ import annotations

from xnas.records import EntrySummary, RunComparison
from xnas.report.comparison_rows import (
    accuracy_words,
    difference_rows,
    how_tested,
    minutes_text,
    percent,
    summary_rows,
    verdicts,
)
from xnas.report.page.blocks import (
    Block,
    Cell,
    Command,
    DataTable,
    Fact,
    Facts,
    Link,
    Notice,
    Page,
    Section,
    Text,
    Tone,
)
from xnas.report.page.comparison_charts import comparison_charts
from xnas.report.page.run_sections import duration, head_notices, page_of, run_section
from xnas.report.page.stories import ComparisonStory
from xnas.words import counted

NOTHING_BEATEN = (
    "A method that does not beat random cells has found nothing, however high its accuracy is."
)
NO_COMMAND = (
    "Images in memory, or entries with settings of their own, came from a program or a TOML file, so "
    "no command line makes this comparison again. All settings are below."
)
MANY = 40
"""Runs from which their list is folded."""


def comparison_page(story: ComparisonStory) -> Page:
    """The page of a comparison that is running, has stopped or is finished."""
    found = story.comparison
    if found is None:
        return _damaged_page(story)
    return page_of(
        story.head,
        kind="Comparison",
        title=_title(found),
        subtitle=_subtitle(found),
        summary=(
            *head_notices(story.head),
            *_notices(found),
            Facts(comparison_facts(found)),
            entries_table(found),
            *map(Text, verdicts(found)),
            *([Command("Next", story.head.next_command)] if story.head.next_command else []),
        ),
        sections=(
            Section(title="Accuracy", blocks=comparison_charts(found)),
            Section(title="Differences", blocks=_differences(found)),
            Section(title="Runs", blocks=(_runs(found, story),)),
            _run_section(story),
        ),
    )


def _run_section(story: ComparisonStory) -> Section:
    """The command and all settings; what no command line makes is said to be so."""
    section = run_section(story.head)
    if story.head.command:
        return section
    return Section(title=section.title, blocks=(Text(NO_COMMAND), *section.blocks))


def _title(found: RunComparison) -> str:
    *names, last = dict.fromkeys(run.entry for run in found.runs)
    return f"{', '.join(names)} and {last} compared" if names else f"{last} alone"


def _subtitle(found: RunComparison) -> str:
    data = ", ".join(dict.fromkeys(run.data for run in found.runs))
    spaces = ", ".join(dict.fromkeys(run.space for run in found.runs))
    seeds = counted(len({run.seed for run in found.runs}), "seed")
    return f"by {accuracy_words(found.measure)}, {seeds} each, on {data} in the space {spaces}"


def _notices(found: RunComparison) -> list[Block]:
    failed, notes = found.failed, [f"{note[0].upper()}{note[1:]}." for note in found.notes if note]
    tone: Tone = "warning" if found.measure == "supernet" else "plain"
    blocks: list[Block] = [Notice(note, tone) for note in notes]
    if failed:
        blocks.insert(
            0,
            Notice(
                f"{counted(failed, 'run')} of {len(found.runs)} failed, for the reasons in the list of "
                "runs; the others are compared nevertheless."
            ),
        )
    return blocks


def comparison_facts(found: RunComparison) -> tuple[Fact, ...]:
    """The numbers that matter most."""
    done = f"{found.done} of {len(found.runs)}"
    waiting = len(found.runs) - found.done - found.failed
    parts = [f"{found.failed} failed"] * bool(found.failed) + [f"{waiting} to come"] * bool(waiting)
    tone: Tone = "warning" if found.failed else "plain"
    facts = [Fact("Runs", done, ", ".join(parts) or "all finished", tone)]
    best = _highest(found)
    if best is not None and best.mean is not None:
        spread = "" if best.deviation is None else f", ± {best.deviation:.2f}"
        note = f"{best.entry}, {counted(best.runs, 'seed')}{spread}"
        facts.insert(0, Fact("Highest mean", f"{best.mean:.2f} %", note))
    if len(found.random_mean) == 1:
        (mean,) = found.random_mean.values()
        facts.append(Fact("Random cells", f"{mean:.2f} %", found.random_words))
    if found.test is not None and found.differences:
        clear = sum(one.noise is False for one in found.differences)
        note = f"differences from {found.reference}, after Holm's correction"
        facts.append(Fact("More than noise", f"{clear} of {len(found.differences)}", note))
    minutes = [run.minutes for run in found.runs if run.minutes is not None]
    if minutes:
        facts.append(Fact("Device time", duration(60 * sum(minutes)), "of all runs together"))
    return tuple(facts)


def _highest(found: RunComparison) -> EntrySummary | None:
    """The entry with the highest mean, if all are of one data set and space."""
    known = [one for one in found.summaries if one.mean is not None]
    if len({(one.data, one.space) for one in found.summaries}) != 1:
        return None
    return max(known, key=lambda one: one.mean or 0.0, default=None)


def _best(found: RunComparison) -> tuple[int, ...]:
    best = _highest(found)
    return tuple(at for at, one in enumerate(found.summaries) if one is best)


def _words(found: RunComparison) -> tuple[int, ...]:
    """Columns of text: the entry and, if there are several, data and space."""
    return (0, 1, 2) if len({(one.data, one.space) for one in found.summaries}) > 1 else (0,)


def entries_table(found: RunComparison) -> DataTable:
    """Mean, spread, gains and cost of every entry."""
    what = accuracy_words(found.measure).capitalize()
    return _table(
        *summary_rows(found),
        caption=f"{what} in percent, mean ± standard deviation over seeds; gains in points, cost per "
        "run",
        left=_words(found),
        strong=_best(found),
    )


def _differences(found: RunComparison) -> tuple[Block, ...]:
    if not found.differences:
        return ()
    several = len({(one.data, one.space) for one in found.differences}) > 1
    baseline: list[Block] = [Text(NOTHING_BEATEN)] if found.random_mean else []
    return (
        Text(how_tested(found)),
        _table(
            *difference_rows(found),
            caption=f"Compared with {found.reference}, in points of accuracy",
            left=(0, 1, 2) if several else (0,),
            strong=tuple(at for at, one in enumerate(found.differences) if one.noise is False),
        ),
        *baseline,
    )


def _runs(found: RunComparison, story: ComparisonStory) -> DataTable:
    """Every run, with links to its pages: the name leads to the first, and a column to the training."""
    several = len({(run.data, run.space) for run in found.runs}) > 1
    trained = any(training for _, training in story.pages.values())
    header = ["run", *["data", "space"] * several, "seed", "state", "accuracy", "minutes"]
    rows = []
    for run in found.runs:
        search, training = story.pages.get(run.name, ("", ""))
        row: list[Cell] = [Link(run.name, search) if search else run.name]
        row += [*[run.data, run.space] * several, str(run.seed), run.state, percent(run.accuracy)]
        row += ["" if run.minutes is None else minutes_text(run.minutes)]
        row += [Link("training", training) if training else ""] * trained
        rows.append((*row, run.reason if run.state == "failed" else run.cell or ""))
    header += [*["of its cell"] * trained, "cell, or why it failed" if found.failed else "cell"]
    return DataTable(
        caption="Every run that was planned; names lead to the reports of those that have one",
        header=tuple(header),
        rows=tuple(tuple(cell or "" for cell in row) for row in rows),
        left=(0, *((1, 2) if several else ()), len(header) - 1),
        folded=len(rows) > MANY,
        warned=tuple(at for at, run in enumerate(found.runs) if run.state == "failed"),
    )


def _table(
    header: list[str],
    rows: list[list[str]],
    *,
    caption: str,
    left: tuple[int, ...],
    strong: tuple[int, ...],
) -> DataTable:
    return DataTable(
        caption=caption,
        header=tuple(header),
        rows=tuple(tuple(row) for row in rows),
        left=left,
        strong=strong,
    )


def _damaged_page(story: ComparisonStory) -> Page:
    """What is left of a comparison whose file cannot be read: its runs."""
    rows = tuple(
        (
            run.path.rpartition("/")[2],
            run.kind,
            run.state,
            "" if run.seed is None else str(run.seed),
            "" if run.validation is None else f"{100 * run.validation:.2f} %",
            run.cell or run.fault or "",
        )
        for run in story.listed
    )
    table = DataTable(
        caption="The runs that were found",
        header=("run", "kind", "state", "seed", "validation", "cell"),
        rows=rows,
        left=(0, 1, 2, 5),
    )
    return page_of(
        story.head,
        kind="Comparison",
        title="A comparison",
        subtitle="",
        summary=(*head_notices(story.head), *([table] if rows else [])),
        sections=(run_section(story.head),),
    )
