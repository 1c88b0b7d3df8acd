"""A training as its run folder tells it."""

from __future__ import annotations

import base64
from typing import Any

import torch

from xnas.errors import VersionError
from xnas.model.model_card import read_card
from xnas.records import Evaluation, TrainEpoch
from xnas.records.reading import value_of
from xnas.report.page.stories import Mistake, TrainStory
from xnas.runs.listing.kinds import own_file, text, whole
from xnas.runs.mistakes_file import MISTAKES, VERSION
from xnas.runs.reports.drawn_cells import GENOTYPE, saved_cell
from xnas.runs.reports.run_files import ReadRun
from xnas.runs.train_config import TrainConfig
from xnas.space import build_network, count_macs, count_parameters

TEST, CARD = "test.json", "model.json"


def train_story(run: ReadRun) -> TrainStory:
    """All that the files of a training say, read as far as possible."""
    epochs = run.records(TrainEpoch.from_json)
    test = run.attempt(TEST, lambda: _test(run), None)
    mistakes = run.attempt(MISTAKES, lambda: _mistakes(run), ())
    parameters, macs = run.attempt(CARD, lambda: _sizes(run), (None, None))
    graph = run.attempt(GENOTYPE, lambda: saved_cell(run.path), None)
    given = text(run.settings.get("cell")) or ""
    own = own_file(given)
    cell = str(run.path / own) if own else given
    planned = whole(run.settings.get("epochs")) or len(epochs)
    if run.files.has(CARD):
        run.require_epochs(len(epochs), planned)
    return TrainStory(
        head=run.head(TrainConfig, (cell,) if cell else ()),
        cell=own or given,
        epochs_planned=planned,
        epochs=epochs,
        test=test,
        mistakes=mistakes,
        parameters=parameters,
        macs=macs,
        graph=graph,
    )


def _test(run: ReadRun) -> Evaluation | None:
    return Evaluation.from_json(run.files.json(TEST)) if run.files.has(TEST) else None


def _mistakes(run: ReadRun) -> tuple[Mistake, ...]:
    saved = run.files.json(MISTAKES)
    if saved and saved.get("version") != VERSION:
        raise VersionError(
            f"{run.path / MISTAKES} has version {saved.get('version')}, this xnas reads {VERSION}; look "
            "at it with the version that wrote it"
        )
    return tuple(
        Mistake(
            png=base64.b64decode(row["png"], validate=True),
            index=value_of(int, row["index"], "index"),
            label=value_of(str, row["label"], "label"),
            answer=value_of(str, row["answer"], "answer"),
            probability=value_of(float, row["probability"], "probability"),
        )
        for row in value_of(tuple[Any, ...], saved.get("mistakes", ()), "mistakes")
    )


def _sizes(run: ReadRun) -> tuple[int | None, int | None]:
    """Parameters and multiply-accumulates of the network, once there is one."""
    if not run.files.has(CARD):
        return None, None
    card, _ = read_card(run.path)
    with torch.device("meta"):
        model = build_network(card.architecture, card.network)
    return count_parameters(model), count_macs(model, (card.network.in_chans, *card.input_size))
