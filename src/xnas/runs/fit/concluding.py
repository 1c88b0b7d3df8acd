"""The end of a fit: compare, test the winner once, export it, and say so in fit.json."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path

from xnas.data import Images
from xnas.errors import XnasError
from xnas.model.evaluation import evaluate_model
from xnas.model.export import ONNX_FILE, TORCH_FILE, require_onnx
from xnas.model.model import load_model, save_model
from xnas.process.devices import pick_device
from xnas.records import Evaluation
from xnas.records.fitting import FitCost, FitRow, FitSummary
from xnas.runs.export import export_run
from xnas.runs.fit.comparing import Answers, compare, gain_of_search, lead_of_baseline
from xnas.runs.fit.plan_file import SUMMARY, summary_text
from xnas.runs.fit.stage_times import StageTimes
from xnas.runs.model_options import ExportConfig
from xnas.runs.run_folder import RunFolder


def conclude(
    rows: Sequence[FitRow],
    answers: Answers,
    folder: RunFolder,
    images: Images,
    *,
    missing: Mapping[str, str],
    times: StageTimes,
    warn: Callable[[str], None],
    device: str,
) -> FitSummary:
    """Write the model of the best row into the run folder, tested and exported, and last fit.json."""
    comparison = compare(rows, answers)
    winner = next(row for row in rows if row.name == comparison.first)
    test = _save_winner(folder, winner, images, device)
    files = _exported(folder, images, warn)
    times.save()
    summary = FitSummary(
        rows=tuple(rows),
        missing=dict(missing),
        comparison=comparison,
        gain=gain_of_search(rows, answers),
        behind=lead_of_baseline(rows, answers),
        images=len(answers[winner.name]),
        test=test,
        files=files,
        cost=FitCost(stages=dict(times.seconds)),
    )
    folder.write_text(SUMMARY, summary_text(summary))
    return summary


def _save_winner(folder: RunFolder, winner: FitRow, images: Images, device: str) -> Evaluation | None:
    """Copy the winner's network into the run folder, with its accuracy on the test images."""
    model, card = load_model(folder.path / winner.out, pick_device(device))
    test, figures = None, {"validation_accuracy": winner.accuracy}
    if images.test_labels is not None:
        test = evaluate_model(model, card, images)
        figures["test_accuracy"] = test.top1
        folder.write_json("test.json", {"format": "xnas-test", "version": 1} | asdict(test))
    with folder.storage_errors():
        save_model(folder.path, model, replace(card, figures=figures))
    return test


def _exported(folder: RunFolder, images: Images, warn: Callable[[str], None]) -> tuple[str, ...]:
    """Files of an export, as many as can be made here; a failure leaves the model as it is."""
    onnx = True
    try:
        require_onnx()
    except XnasError as error:
        warn(str(error))
        onnx = False
    config = ExportConfig(onnx=onnx, overwrite=True)
    try:
        found = export_run(folder.path, config, images=images)
    except XnasError as error:
        warn(f"the model was not exported: {error}")
        return ()
    names = {Path(file.path).name for file in found.files}
    return tuple(name for name in (ONNX_FILE, TORCH_FILE) if name in names)
