"""Frozen results: what engines and toys write, and reports and files read.

Only plain numbers, strings and tuples, so that `dataclasses.asdict` turns any record into JSON.
"""

from xnas.records.costs import (
    DataCost,
    EpochCost,
    MethodCost,
    RoundCost,
    StepCost,
    TrainStepCost,
)
from xnas.records.listing import ListedRun, State
from xnas.records.paper import (
    Agreement,
    Claim,
    DepthRow,
    Entry,
    RandomDepths,
    Table,
    Verdict,
)
from xnas.records.sampling import Sampled
from xnas.records.searching import (
    Deletion,
    EdgeChoice,
    Gap,
    Judgement,
    SearchEpoch,
    Truth,
)
from xnas.records.theory import (
    AdversaryStudy,
    Attenuation,
    AxesStudy,
    CoinGame,
    CoinStudy,
    EntropyPoint,
    EntropyStudy,
    Ledger,
    Point,
    RegretCurve,
    Selection,
    SelectionStudy,
    Trajectory,
    Wipeout,
)
from xnas.records.training import (
    CalibrationBin,
    Evaluation,
    ExportedFile,
    ExportResult,
    Latency,
    Prediction,
    TrainEpoch,
)

__all__ = [
    "AdversaryStudy",
    "Agreement",
    "Attenuation",
    "AxesStudy",
    "CalibrationBin",
    "Claim",
    "CoinGame",
    "CoinStudy",
    "DataCost",
    "Deletion",
    "DepthRow",
    "EdgeChoice",
    "EntropyPoint",
    "EntropyStudy",
    "Entry",
    "EpochCost",
    "Evaluation",
    "ExportResult",
    "ExportedFile",
    "Gap",
    "Judgement",
    "Latency",
    "Ledger",
    "ListedRun",
    "MethodCost",
    "Point",
    "Prediction",
    "RandomDepths",
    "RegretCurve",
    "RoundCost",
    "Sampled",
    "SearchEpoch",
    "Selection",
    "SelectionStudy",
    "State",
    "StepCost",
    "Table",
    "TrainEpoch",
    "TrainStepCost",
    "Trajectory",
    "Truth",
    "Verdict",
    "Wipeout",
]
