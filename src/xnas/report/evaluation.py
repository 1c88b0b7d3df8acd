"""An evaluation in words: its summary, a table of the classes, a page in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xnas.records import Evaluation
from xnas.report.tables import aligned_table, markdown_table, markdown_text
from xnas.words import counted

MOST_DRAWN = 100  # classes of a figure of confusions; of more, it is unreadable and slow
MOST_LISTED = 24  # classes in a terminal, one by one
WORST_LISTED = 12
WORST_ON_PAGE = 50

Row = tuple[str, str, str, str]
HEADER: Row = ("class", "images", "accuracy", "most often taken for")


def summary(evaluation: Evaluation) -> str:
    """The numbers in one line."""
    parts = [
        f"test error {100 * (1 - evaluation.top1):.2f} %",
        f"loss {evaluation.loss:.4f}",
        f"calibration error {100 * evaluation.calibration_error:.2f} %",
        counted(evaluation.images, "image"),
    ]
    if evaluation.top5 is not None:
        parts.insert(1, f"top-5 error {100 * (1 - evaluation.top5):.2f} %")
    return ", ".join(parts)


def class_table(evaluation: Evaluation) -> str:
    """Accuracy of every class for the terminal; of many classes, the worst."""
    count = len(evaluation.classes)
    if count <= MOST_LISTED:
        return aligned_table(HEADER, _rows(evaluation, range(count)), left=(0, 3))
    worst = _worst(evaluation, WORST_LISTED)
    title = f"the {len(worst)} worst of {count} classes:"
    return f"{title}\n{aligned_table(HEADER, _rows(evaluation, worst), left=(0, 3))}"


def evaluation_page(evaluation: Evaluation, *, data: str = "", figures: Sequence[str] = ()) -> str:
    """The whole evaluation as a page of Markdown; `figures` are names of pictures in the folder figures.

    Of over 100 classes only the worst are listed.
    """
    count = len(evaluation.classes)
    shown: Sequence[int] = range(count)
    left_out = ""
    if count > MOST_DRAWN:
        shown = _worst(evaluation, WORST_ON_PAGE)
        left_out = (
            f"The {len(shown)} worst of {count:,} classes; all are in the JSON file. Confusions of over "
            f"{MOST_DRAWN} classes are not drawn.\n\n"
        )
    on = f" on {markdown_text(data)}" if data else ""
    bins = len(evaluation.calibration)
    rows = [tuple(map(markdown_text, row)) for row in _rows(evaluation, shown)]
    pictures = "\n\n".join(f"![{name}](figures/{name}.png)" for name in figures)
    return (
        f"# Evaluation{on}\n\n{summary(evaluation)}.\n\n"
        f"The calibration error is the expected one: over {bins} bins of confidence of equal width, the "
        "mean distance between accuracy and mean confidence, each bin counting by its images.\n\n"
        f"{left_out}{markdown_table(HEADER, rows)}\n\n{pictures}\n"
    )


def worst_confusion(evaluation: Evaluation, k: int) -> str:
    """The most frequent wrong answer for class k with its count, the first of equals; empty if none."""
    wrong = [(n, -j) for j, n in enumerate(evaluation.confusion[k]) if j != k and n]
    most, at = max(wrong, default=(0, 0))
    return f"{evaluation.classes[-at]} ({most:,})" if most else ""


def _worst(evaluation: Evaluation, most: int) -> list[int]:
    """Classes with the lowest accuracy, the worst first; those without images have none."""
    known = [k for k, share in enumerate(evaluation.accuracies) if share is not None]
    return sorted(known, key=lambda k: (evaluation.accuracies[k], k))[:most]


def _rows(evaluation: Evaluation, classes: Iterable[int]) -> list[Row]:
    """Classes with their accuracy, and the most frequent wrong answer."""
    rows: list[Row] = []
    for k in classes:
        name, images = evaluation.classes[k], evaluation.counts[k]
        share = evaluation.accuracies[k]
        taken = worst_confusion(evaluation, k)
        rows.append((name, f"{images:,}", "-" if share is None else f"{100 * share:.2f} %", taken))
    return rows
