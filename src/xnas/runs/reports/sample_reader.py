"""A search by sampling as its run folder tells it.

Its ledger has every evaluation, and its costs the sizes of the networks. So a search that was stopped is
shown as far as it came.
"""

from __future__ import annotations

import json
from reprlib import repr as brief
from typing import Any

from xnas.errors import DamagedFileError
from xnas.records import Sampled
from xnas.records.reading import value_of
from xnas.report.page.stories import SampleStory
from xnas.runs.listing.kinds import REMEDY, number, text, whole
from xnas.runs.listing.own_kinds import is_possible, was_refused
from xnas.runs.reports.drawn_cells import GENOTYPE, saved_cell
from xnas.runs.reports.run_files import LEDGER, ReadRun
from xnas.runs.sampling.config import SampleConfig
from xnas.space import Genotype

COSTS = "costs.jsonl"
COST = ("seconds", "parameters", "macs")
"""What a line of it says of a trial."""


def sample_story(run: ReadRun) -> SampleStory:
    """All evaluations so far, and the best cell of a finished search."""
    cells: dict[int, str] = {}
    evaluations: list[Sampled] = []
    run.attempt(LEDGER, lambda: _read_ledger(run, cells, evaluations), None)
    graph = run.attempt(GENOTYPE, lambda: saved_cell(run.path), None)
    return SampleStory(
        head=run.head(SampleConfig),
        sampler=text(run.settings.get("sampler")) or "",
        evaluator=text(run.settings.get("evaluator")) or "",
        planned=whole(run.settings.get("evaluations")),
        evaluations=tuple(evaluations),
        cells=tuple(cells[one.number] for one in evaluations),
        graph=graph,
    )


def _read_ledger(run: ReadRun, cells: dict[int, str], evaluations: list[Sampled]) -> None:
    """Fill both up to a damaged line; refused cells, which were never evaluated, are left out."""
    costs = _costs(run)
    first: dict[str, int] = {}
    budgets: dict[int, int | None] = {}
    reported: set[int] = set()
    best: tuple[int, float] | None = None
    epochs, spent = 0, 0.0
    for place, line in enumerate(run.files.lines(LEDGER), start=1):
        event = run.files.line(LEDGER, place, line)
        if event.get("event") == "ask":
            cells[event["number"]] = _in_a_line(event["genotype"])
            budgets[event["number"]] = whole(event.get("budget"))
        if event.get("event") != "tell" or was_refused(event):
            continue
        value_of(str, event["state"], "state")
        trial, value = value_of(int, event["number"], "number"), number(event["value"])
        fault = ""
        if trial not in cells:
            fault = f"it tells trial {brief(trial)} before it was asked"
        elif trial in reported:
            fault = f"it tells trial {trial} again"
        elif (value is None) != (event["value"] is None) or not is_possible(run.settings, value):
            fault = f"its value is {brief(event['value'])}, which is no accuracy"
        elif (event["state"] == "done") != (value is not None):
            fault = f"its state is {brief(event['state'])} with the value {brief(event['value'])}"
        if fault:
            raise DamagedFileError(f"{run.path / LEDGER} is damaged in line {place}: {fault}; {REMEDY}")
        reported.add(trial)
        if value is not None:
            best = max(filter(None, (best, (budgets[trial] or 0, value))))
        epochs += value_of(int | None, event.get("at"), "at") or 0
        cost = costs.get(trial, {})
        spent += cost.get("seconds", 0.0)
        known = first.setdefault(cells[trial], trial)
        evaluations.append(
            Sampled(
                number=trial,
                value=value,
                best=None if best is None else best[1],
                epochs=epochs,
                seconds=spent if "seconds" in cost else None,
                parameters=int(cost.get("parameters", 0)),
                macs=int(cost.get("macs", 0)),
                same_as=None if known == trial else known,
                budget=budgets[trial],
            )
        )


def _costs(run: ReadRun) -> dict[int, dict[str, float]]:
    """Costs by trial; lines that cannot be read cost nothing but themselves."""
    found: dict[int, dict[str, float]] = {}
    for place, line in enumerate(run.files.lines(COSTS), start=1):

        def read(place: int = place, line: bytes = line) -> dict[str, float]:
            cost = run.files.line(COSTS, place, line)
            known = {name: cost[name] for name in ("number", *COST) if name in cost}
            return value_of(dict[str, float], known, "cost")  # type: ignore[no-any-return]  # it is one

        cost = run.attempt(COSTS, read, {})
        if "number" in cost:
            found[int(cost["number"])] = cost
    return found


def _in_a_line(genotype: dict[str, Any]) -> str:
    """A cell as text: the notation of its space, or the operations of its nodes."""
    cell = Genotype.from_json(json.dumps(genotype))
    if cell.one_line is not None:
        return cell.one_line
    nodes = (
        " + ".join(f"{edge.operation}({edge.source})" for edge in edges) for edges in cell.normal.nodes
    )
    return " | ".join(nodes)
