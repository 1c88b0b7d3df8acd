"""The kinds of runs of this package, and what a list shows of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from reprlib import repr as brief
from typing import Any

from xnas.errors import DamagedFileError, VersionError
from xnas.records import RunComparison
from xnas.runs.fit.plan_file import SUMMARY, read_summary
from xnas.runs.listing.kinds import (
    METRICS,
    REMEDY,
    RUN_KINDS,
    Description,
    RunFiles,
    RunKind,
    mapping,
    number,
    own_file,
    text,
    whole,
)
from xnas.words import counted, shell_word, short

GENOTYPE = "genotype.json"
GENOTYPE_FORMAT, GENOTYPE_VERSION = "xnas-genotype", 1
"""As `xnas.space` writes it, which imports torch."""
LEDGER, CURVE = "ledger.jsonl", "curve.json"
EVALUATION = "evaluation.json"
TEST = "test.json"
CARD = "model.json"
COMPARISON = "comparison.json"


def describe_search(files: RunFiles) -> Description:
    """The cell, or that of the last epoch, and the accuracies of the supernet and of a benchmark."""
    newest, settings = files.newest, files.settings
    truth = mapping(newest.get("truth"))
    return Description(
        **_common(files),
        method=text(settings.get("method")),
        cell=_found_cell(files) or cell_words(mapping(newest.get("cell"))),
        done=len(files.metrics),
        planned=whole(settings.get("epochs")),
        validation=number(newest.get("valid_accuracy")),
        truth=number(truth.get("test_200", truth.get("accuracy"))),
        next_command=_train_command(files),
    )


def describe_training(files: RunFiles) -> Description:
    """The accuracies of the last weights, which are exported: on held-out images and on test images."""
    lines = enumerate(files.metrics, start=1)
    epochs = [files.line(METRICS, place, line).get("valid_accuracy") for place, line in lines]
    return Description(
        **_common(files),
        cell=_trained_cell(files),
        done=len(epochs),
        planned=whole(files.settings.get("epochs")),
        validation=number(epochs[-1]) if epochs else None,
        test=_accuracy(files, TEST) if files.has(TEST) else None,
        next_command=f"xnas export {shell_word(str(files.path))}",
    )


def describe_sampling(files: RunFiles) -> Description:
    """The best cell, and its accuracy on held-out images, at the most epochs if there are rungs."""
    budgets: dict[object, int] = {}
    results: list[Mapping[str, Any]] = []
    for place, line in enumerate(files.lines(LEDGER), start=1):
        if b'"tell"' in line:
            results.append(files.line(LEDGER, place, line))
            if not is_possible(files.settings, number(results[-1].get("value"))):
                raise DamagedFileError(
                    f"{files.path / LEDGER} is damaged in line {place}: its value is "
                    f"{brief(results[-1]['value'])}, which is no accuracy; {REMEDY}"
                )
        elif b'"ask"' in line and b'"budget": null' not in line:
            asked = files.line(LEDGER, place, line)
            budgets[whole(asked.get("number"))] = whole(asked.get("budget")) or 0
    results = [event for event in results if not was_refused(event)]
    cell = _found_cell(files)
    if cell is not None:
        _require_evaluations(files, len(results))
    values = [
        (budgets.get(whole(event.get("number")), 0), number(event.get("value"))) for event in results
    ]
    return Description(
        **_common(files),
        method=text(files.settings.get("sampler")),
        cell=cell,
        done=len(results),
        planned=whole(files.settings.get("evaluations")),
        validation=max((pair for pair in values if pair[1] is not None), default=(0, None))[1],
        next_command=_train_command(files),
    )


OF_SHARES = ("train", "table", "surrogate", "shared")
"""Evaluators whose values are shares; those of a user may give anything."""


def is_possible(settings: Mapping[str, Any], value: float | None) -> bool:
    """Whether the evaluator of a sampling can have given this value."""
    return value is None or settings.get("evaluator") not in OF_SHARES or 0 <= value <= 1


def was_refused(event: Mapping[str, Any]) -> bool:
    """Whether a trial was not evaluated, because its cell is beyond a limit."""
    return event.get("state") == "refused"


def _require_evaluations(files: RunFiles, results: int) -> None:
    """Raise if a finished sampling has fewer evaluations in its ledger than in its curve."""
    had = sum(b'"number"' in line for line in files.lines(CURVE))
    if results < had:
        raise DamagedFileError(
            f"{files.path / LEDGER} has {results} of {counted(had, 'evaluation')}, though the run is "
            f"finished; {REMEDY}"
        )


def describe_fit(files: RunFiles) -> Description:
    """The best network, its accuracy on held-out images, and that on test images."""
    following = f"xnas predict {shell_word(str(files.path))} IMAGE"
    if not files.has(SUMMARY):
        return Description(**_common(files), next_command=following)
    summary = read_summary(files.path)
    return Description(
        **_common(files),
        method=summary.winner.name,
        cell=summary.winner.what,
        validation=summary.winner.accuracy,
        test=summary.test.top1 if summary.test else None,
        next_command=following,
    )


def describe_evaluation(files: RunFiles) -> Description:
    """The accuracy."""
    return Description(data=text(files.json(EVALUATION).get("data")), test=_accuracy(files, EVALUATION))


def describe_export(files: RunFiles) -> Description:
    """The network, and what it was trained on."""
    card = files.json(CARD)
    return Description(
        data=text(card.get("trained_on")),
        seed=whole(card.get("seed")),
        cell="a wiring" if "wiring" in card else cell_words(mapping(card.get("genotype"))),
        next_command=f"xnas predict {shell_word(str(files.path))} IMAGE",
    )


def describe_comparison(files: RunFiles) -> Description:
    """What is compared, on what, and how many runs have ended."""
    saved = files.json(COMPARISON)
    try:
        found = RunComparison.from_json(saved)
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        fault = f"{files.path / COMPARISON} is damaged: {short(error, 100)}; {REMEDY}"
        raise DamagedFileError(fault) from error
    data = [text(one.get("label")) for one in _objects(saved.get("data"))]
    return Description(
        data=", ".join(filter(None, data)) or None,
        method=", ".join(dict.fromkeys(run.entry for run in found.runs)) or None,
        done=found.done + found.failed,
        planned=len(found.runs),
    )


def _objects(value: object) -> list[Mapping[str, Any]]:
    """The objects in a list of a file; empty for what is no list."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def cell_words(genotype: Mapping[str, Any]) -> str | None:
    """The operations of a (normal) cell, the most frequent first: `4 sep_conv_3x3, 3 skip_connect`.

    None for what is no genotype.
    """
    arch = text(genotype.get("arch"))
    if arch is not None:
        names = [part.partition("~")[0] for part in arch.replace("+", "").split("|") if part]
    else:
        names = list(_operations(mapping(genotype.get("normal")).get("nodes")))
    counted = Counter(names).most_common()
    return ", ".join(f"{count} {name}" for name, count in counted) or None


def _trained_cell(files: RunFiles) -> str | None:
    """The name of a cell, or the operations of one that has none."""
    own = own_file(files.settings.get("cell"))
    if own is None:
        return text(files.settings.get("cell"))
    return (_found_cell(files) if own == GENOTYPE else None) or own


def _found_cell(files: RunFiles) -> str | None:
    """The operations of the cell that a run found, if it has; raises if its file holds none."""
    if not files.has(GENOTYPE):
        return None
    saved = files.json(GENOTYPE)
    words = cell_words(saved)
    if saved.get("format") != GENOTYPE_FORMAT or words is None:
        raise DamagedFileError(f"{files.path / GENOTYPE} is damaged: it holds no cell; {REMEDY}")
    if saved.get("version") != GENOTYPE_VERSION:
        raise VersionError(
            f"{files.path / GENOTYPE} has version {brief(saved.get('version'))}, this xnas reads "
            f"{GENOTYPE_VERSION}; look at it with the version that wrote it"
        )
    return words


def _accuracy(files: RunFiles, name: str) -> float:
    """The accuracy in a file of an evaluation; raises if there is none."""
    share = number(files.json(name).get("top1"))
    if share is None or not 0 <= share <= 1:
        raise DamagedFileError(f"{files.path / name} is damaged: it holds no accuracy; {REMEDY}")
    return share


def _operations(nodes: object) -> Iterator[str]:
    for node in nodes if isinstance(nodes, list) else ():
        for edge in node if isinstance(node, list) else ():
            if isinstance(edge, list) and edge and isinstance(edge[0], str):
                yield edge[0]


def _largest(values: list[object]) -> float | None:
    known = (found for value in values if (found := number(value)) is not None)
    return max(known, default=None)


def _common(files: RunFiles) -> dict[str, Any]:
    return {"data": text(files.config.get("data")), "seed": whole(files.settings.get("seed"))}


def _train_command(files: RunFiles) -> str:
    data = text(files.config.get("data"))
    return f"xnas train {shell_word(str(files.path))} {shell_word(data or 'DATA')}"


RUN_KINDS.add("search", RunKind(noun="search", last=GENOTYPE, describe=describe_search))
RUN_KINDS.add("train", RunKind(noun="training", last=CARD, describe=describe_training))
RUN_KINDS.add("sample", RunKind(noun="sampling", last=GENOTYPE, describe=describe_sampling))
RUN_KINDS.add("fit", RunKind(noun="fit", last=SUMMARY, describe=describe_fit))
RUN_KINDS.add(
    "evaluate",
    RunKind(noun="evaluation", last=EVALUATION, sign=EVALUATION, describe=describe_evaluation),
)
RUN_KINDS.add("export", RunKind(noun="export", last=CARD, sign=CARD, describe=describe_export))
RUN_KINDS.add(
    "compare",
    RunKind(noun="comparison", last="comparison.md", sign=COMPARISON, describe=describe_comparison),
)
