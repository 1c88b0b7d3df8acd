"""Many trials of one scenario: kills spread over the phases of a run, faults at its file operations."""

import random
import shutil
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from soak.events import FAULTS, LEDGER, PHASES, READING, ROUND, Fault
from soak.trials import FINISHED, KILLED, REFUSED, Scenario, clean, differences, in_child, verdict


@dataclass
class Tally:
    """What happened, by phase."""

    kills: dict = field(default_factory=lambda: defaultdict(int))
    faults: dict = field(default_factory=lambda: defaultdict(int))
    survived: int = 0
    """Faults that the run got over without stopping."""
    failures: list = field(default_factory=list)


def campaign(
    scenario: Scenario, work: Path, *, kills: int, fault_step: int, seed: int = 0, chance: float = 0.4
) -> Tally:
    """`kills` kills for each phase, some resumed runs killed in turn, and one of `fault_step` faults."""
    work.mkdir(parents=True, exist_ok=True)
    return _Campaign(scenario, work, seed, chance).run(kills, fault_step)


class _Campaign:
    def __init__(self, scenario, work, seed, chance):
        self.scenario, self.work, self.reference = scenario, work, work / "reference"
        self.tally, self.chance = Tally(), chance
        self.draw = random.Random(f"{scenario.name} {seed}")

    def run(self, kills, fault_step):
        whole = in_child(self.scenario, self.reference)
        if whole.status != FINISHED:
            return self.fail(f"{whole.status} untouched: {whole.message}")
        again = in_child(self.scenario, self.work / "again")
        if again.phases != whole.phases or differences(self.reference, self.work / "again"):
            return self.fail("two untouched runs differ")
        moments = defaultdict(list)
        for number, phase in enumerate(whole.phases):
            moments[phase].append(number)
        for phase in PHASES:
            found = moments[phase]
            often = kills if phase != READING else 0  # what resuming reads is met in the chains
            for stop in self.draw.sample(found, often) if len(found) >= often else found:
                self.kill(stop)
        if fault_step:
            offset = self.draw.randrange(fault_step)
            self.fail_everywhere(None, fault_step, offset)
            stopped = self.work / "stopped"
            played = moments[ROUND] or moments[LEDGER]
            in_child(self.scenario, stopped, stop=played[len(played) * 3 // 4])
            self.fail_everywhere(stopped, fault_step, offset)
        return self.tally

    def fail(self, told):
        self.tally.failures.append(f"{self.scenario.name}: {told}")
        return self.tally

    def kill(self, stop):
        """Kill a run at an event, perhaps also its resumption, and so on; then see how it ends."""
        out = self.work / "killed"
        clean(out)
        outcome = in_child(self.scenario, out, stop=stop)
        told = [stop]
        _note(self.tally.kills, outcome)
        while outcome.status == KILLED and self.draw.random() < self.chance:
            stop = int(200 ** self.draw.random()) - 1  # early ones more often
            told.append(stop)
            outcome = in_child(self.scenario, out, stop=stop)
            _note(self.tally.kills, outcome)
        if outcome.status == REFUSED and "is finished" in outcome.message:
            wrong = ", ".join(differences(self.reference, out))
        else:
            wrong = verdict(self.scenario, self.reference, out, outcome)
        if wrong:
            self.fail(f"killed at {told} ({outcome.phase}): {wrong}")

    def fail_everywhere(self, begun, step, offset):
        """One fault after another at the file operations of a run, or of the resumption of `begun`."""
        out = self.work / "failed"
        _fresh(out, begun)
        operations = in_child(self.scenario, out).operations
        trials = [
            Fault(number, kind)
            for number, (operation, _) in enumerate(operations)
            for kind in FAULTS
            if kind != "short write" or operation == "write"
        ]
        for fault in trials[offset::step]:
            _fresh(out, begun)
            outcome = in_child(self.scenario, out, fault=fault)
            _note(self.tally.faults, outcome)
            self.tally.survived += outcome.status == FINISHED
            wrong = verdict(self.scenario, self.reference, out, outcome)
            if wrong:
                where = f"{fault.kind} at {operations[fault.number]}"
                self.fail(f"{where}: {outcome.message[:200]} {wrong}")


def _fresh(out, begun):
    clean(out)
    if begun is not None:
        shutil.copytree(begun, out)
        config = out / "config.json"
        text = config.read_text(encoding="utf8").replace(str(begun), str(out))
        config.write_text(text, encoding="utf8")


def _note(counts, outcome):
    if outcome.phase:
        counts[outcome.phase] += 1
