"""What all pages about runs share: notices at the top, and how the run can be made again."""

from __future__ import annotations

from xnas.report.page.blocks import Block, Command, DataTable, Notice, Page, Section
from xnas.report.page.stories import RunHead

REFRESH = 10
"""Seconds after which the page of a run that is watched loads itself again."""


def page_of(
    head: RunHead,
    *,
    kind: str,
    title: str,
    subtitle: str,
    summary: tuple[Block, ...],
    sections: tuple[Section, ...],
) -> Page:
    """A page about a run."""
    return Page(
        kind=kind,
        title=title,
        state=head.state,
        subtitle=", ".join(filter(None, (subtitle, f"run {head.path}"))),
        summary=summary,
        sections=sections,
        foot=head.written,
    )


def head_notices(head: RunHead) -> tuple[Block, ...]:
    """What is wrong with the files, and that a run is under way or was stopped."""
    found: list[Block] = [Notice(fault) for fault in head.faults]
    if head.state == "running":
        found.append(Notice("The run is under way; this page shows what was recorded so far.", "plain"))
    elif head.state == "stopped":
        found.append(Notice("The run was stopped before its end; this page shows what was recorded."))
    return tuple(found)


def run_section(head: RunHead) -> Section:
    """The command, settings, versions, seed and machine."""
    blocks: list[Block] = []
    if head.command:
        blocks.append(Command("Command", head.command))
    facts = [
        ("data", head.data if head.data != head.data_name else ""),
        ("seed", "" if head.seed is None else str(head.seed)),
        ("machine", head.machine),
        *head.versions,
    ]
    known = tuple((name, value) for name, value in facts if value)
    if known:
        blocks.append(DataTable(caption="Made with", header=("what", "value"), rows=known, left=(0, 1)))
    if head.settings:
        blocks.append(
            DataTable(
                caption="Resolved settings; those that differ from their default are bold",
                header=("setting", "value"),
                rows=head.settings,
                left=(0, 1),
                folded=True,
                strong=tuple(at for at, (name, _) in enumerate(head.settings) if name in head.changed),
            )
        )
    return Section(title="This run", blocks=tuple(blocks))


def duration(seconds: float) -> str:
    """A time in two units at most: `42 s`, `3 min 5 s`, `2 h 10 min`."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min"
