"""The parts of a claim: a statement, the rule that decides on it, and the runs that the rule needs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import claim_rules
from claim_rules import Verdict
from jobs import Job
from result_tables import NOTHING, Results

Outcome = tuple[str, Verdict]
"""What was measured, and what follows."""


@dataclass(frozen=True, kw_only=True)
class Part:
    """One statement, with the rule that decides on it."""

    statement: str
    rule: str
    jobs: Sequence[Job]
    """Runs that the rule needs, all of them."""
    judge: Callable[[Results], Outcome]
    """What was measured, and what follows; called when all runs are there."""
    remark: str = ""
    """What the rule did not foresee, or when the part was added to others; it changes no verdict."""

    def outcome(self, results: Results) -> Outcome:
        """As measured, or that it is not measured yet."""
        done = len(results.measured(self.jobs))
        if done < len(self.jobs):
            return f"{NOTHING}: {done} of {len(self.jobs)} runs.", "not measured yet"
        return self.judge(results)


@dataclass(frozen=True, kw_only=True)
class SearchClaim:
    """What the paper says, where, and our parts of it."""

    title: str
    says: str
    """With the place of each quotation."""
    evidence: str
    parts: Sequence[Part]

    def verdict(self, results: Results) -> Verdict:
        """Of all parts together."""
        return claim_rules.all_parts([part.outcome(results)[1] for part in self.parts])
