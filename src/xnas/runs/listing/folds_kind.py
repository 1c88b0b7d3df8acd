"""Sets of folds in a list of runs: a training for each fold, and the mean of their test errors."""

from __future__ import annotations

from xnas.runs.fold_folders import NAME
from xnas.runs.listing.kinds import (
    RUN_KINDS,
    Description,
    RunFiles,
    RunKind,
    mapping,
    number,
    text,
    whole,
)
from xnas.words import shell_word

TEST = "test.json"
MOST_FOLDS = 100


def describe_folds(files: RunFiles) -> Description:
    """How many folds have been tested, and the mean of their accuracies once all have."""
    saved = files.json(NAME)
    settings = mapping(saved.get("settings"))
    error, planned = number(saved.get("mean")), whole(saved.get("folds"))
    places = [files.path / f"fold-{fold}" for fold in range(min(planned or 0, MOST_FOLDS))]
    return Description(
        data=text(saved.get("data")),
        seed=whole(settings.get("seed")),
        done=sum((place / TEST).is_file() for place in places),
        planned=planned,
        test=None if error is None else 1 - error,
        next_command=f"xnas export {shell_word(str(files.path / 'fold-0'))}",
    )


def has_mean(files: RunFiles) -> bool:
    """Whether all folds have ended."""
    return number(files.json(NAME).get("mean")) is not None


RUN_KINDS.add(
    "folds",
    RunKind(
        noun="set of folds",
        last=NAME,
        sign=NAME,
        describe=describe_folds,
        ended=has_mean,
        resumed_by="train",
    ),
)
