"""A ledger that was lost: the run folder shows that cells were evaluated, and ledger.jsonl has none.

A resumed search would silently begin again, and write over what is left of the first one.
"""

from __future__ import annotations

from pathlib import Path

from xnas.errors import DamagedFileError
from xnas.files import read_plain
from xnas.runs.run_folder import RunFolder
from xnas.runs.sampling.costs_file import NAME as COSTS
from xnas.runs.sampling.costs_file import CostsFile
from xnas.runs.sampling.trial_ledger import MOST_BYTES, REMEDY, TrialLedger
from xnas.runs.sampling.trial_ledger import NAME as LEDGER
from xnas.samplers import Result
from xnas.words import counted

ANSWERS = ("curve.json", "genotype.json")
TRIALS = "trials"


def require_ledger(folder: RunFolder) -> None:
    """Raise if evaluations were made that the ledger does not know; nothing is written."""
    path = folder.path
    if _has_events(path / LEDGER):
        return
    costs = len(CostsFile(path / COSTS, folder.storage_errors).seconds())
    trials = sum(found.is_dir() for found in (path / TRIALS).glob("*"))
    evaluations = max(costs, trials)
    left = [name for name in (*ANSWERS, COSTS, TRIALS) if (path / name).exists()]
    if evaluations or any(name in left for name in ANSWERS):
        made = f" of {counted(evaluations, 'evaluation')}" if evaluations else ""
        raise DamagedFileError(
            f"{path / LEDGER} is missing or empty, though the folder has {', '.join(left)}{made}; "
            f"{REMEDY}"
        )


def require_evaluations(folder: RunFolder) -> None:
    """Raise if a line of a finished search's ledger is damaged, or if it has fewer than the curve."""
    ledger = TrialLedger(folder.path / LEDGER, folder.storage_errors, durable=False)
    results = [e.content for e in ledger.events if isinstance(e.content, Result)]
    found = sum(result.state != "refused" for result in results)
    try:
        had = (folder.path / ANSWERS[0]).read_bytes().count(b'"number"')
    except OSError:
        return  # it is written again
    if found < had:
        raise DamagedFileError(
            f"{ledger.path} has {found} of {counted(had, 'evaluation')}, though the search was "
            f"finished; {REMEDY}"
        )


def _has_events(path: Path) -> bool:
    """Whether a line follows the first one; True for a file that cannot be read, which has its error."""
    try:
        return read_plain(path, MOST_BYTES).count(b"\n") > 1
    except FileNotFoundError:
        return False
    except OSError:
        return True
