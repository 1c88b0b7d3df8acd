"""The page of a training: how good the network is, on which classes, and where it errs."""

from __future__ import annotations

from xnas.records import Evaluation, TrainEpoch
from xnas.report.evaluation import worst_confusion
from xnas.report.page.blocks import (
    Block,
    Command,
    DataTable,
    Fact,
    Facts,
    HeatMap,
    Page,
    Picture,
    Pictures,
    Section,
    Text,
)
from xnas.report.page.cell_graphs import finished_graphs
from xnas.report.page.charts import Chart, Panel, Series, line_chart
from xnas.report.page.run_sections import duration, head_notices, page_of, run_section
from xnas.report.page.stories import TrainStory

MOST_CLASSES = 60
"""Of a confusion matrix; of more, only the table of classes is shown."""


def train_page(story: TrainStory) -> Page:
    """The page of a training that is running, has stopped or is finished."""
    summary: list[Block] = [*head_notices(story.head), Facts(_facts(story))]
    if story.head.next_command:
        summary.append(Command("Next", story.head.next_command))
    test = story.test
    cell = () if story.graph is None else (finished_graphs(story.graph, ""),)
    return page_of(
        story.head,
        kind="Training",
        title=f"A network for {story.head.data_name}",
        subtitle=f"cell {story.cell}" if story.cell else "",
        summary=tuple(summary),
        sections=(
            Section(title="Curves", blocks=train_charts(story.epochs)),
            Section(title="Classes", blocks=() if test is None else _class_blocks(test)),
            Section(title="Calibration", blocks=() if test is None else (calibration_chart(test),)),
            Section(title="Worst mistakes", blocks=_mistakes(story)),
            Section(title="Cell", blocks=cell),
            run_section(story.head),
        ),
    )


def _facts(story: TrainStory) -> tuple[Fact, ...]:
    facts = []
    if story.test is not None:
        test = story.test
        facts.append(
            Fact("Test accuracy", f"{100 * test.top1:.2f} %", f"on {test.images:,} images, tested once")
        )
    valid = [e for e in story.epochs if e.valid_accuracy is not None]
    if valid:
        best = max(valid, key=lambda e: e.valid_accuracy or 0.0)
        share = f"{100 * (best.valid_accuracy or 0.0):.2f} %"
        facts.append(Fact("Held-out accuracy", share, f"the best, after epoch {best.epoch}"))
    if story.test is not None:
        error = f"{100 * story.test.calibration_error:.1f} %"
        facts.append(Fact("Calibration error", error, "how far confidence is from accuracy on average"))
    facts.append(Fact("Epochs", f"{len(story.epochs)} of {story.epochs_planned}"))
    if story.parameters is not None and story.macs is not None:
        macs = f"{story.macs / 1e6:,.1f} M multiply-adds per image"
        facts.append(Fact("Parameters", f"{story.parameters:,}", macs))
    if story.epochs:
        seconds = sum(e.cost.seconds for e in story.epochs)
        facts.append(Fact("Time", duration(seconds), f"{story.epochs[-1].steps:,} steps"))
    return tuple(facts)


def train_charts(epochs: tuple[TrainEpoch, ...]) -> tuple[Chart, ...]:
    """Accuracy, loss, learning rate and time per epoch."""
    if not epochs:
        return ()
    places = [e.epoch for e in epochs]
    held = any(e.valid_accuracy is not None for e in epochs)
    accuracy: dict[str, list[float | None]] = {"training": [100 * e.train_accuracy for e in epochs]}
    loss: dict[str, list[float | None]] = {"training": [e.train_loss for e in epochs]}
    if held:
        accuracy["held out"] = [_percent(e.valid_accuracy) for e in epochs]
        loss["held out"] = [e.valid_loss for e in epochs]
    return (
        line_chart(
            "accuracy",
            "Accuracy",
            "Share of right answers, in training on augmented images; a growing distance between the "
            "lines is overfitting."
            if held
            else "Share of right answers on augmented images, as the network learned from them.",
            places=places,
            series=accuracy,
            y="accuracy (%)",
        ),
        line_chart(
            "loss",
            "Loss",
            "Mean cross-entropy per image.",
            places=places,
            series=loss,
            y="cross-entropy",
        ),
        line_chart(
            "rate",
            "Learning rate",
            "At the end of every epoch.",
            places=places,
            series={"learning rate": [e.learning_rate for e in epochs]},
            zero=True,
        ),
        line_chart(
            "seconds",
            "Time per epoch",
            "Without evaluations.",
            places=places,
            series={"epoch": [e.cost.seconds for e in epochs]},
            y="seconds",
            zero=True,
        ),
    )


def calibration_chart(test: Evaluation) -> Chart:
    """Accuracy against confidence, beside what a calibrated network has."""
    filled = [b for b in test.calibration if b.images]
    return Chart(
        name="calibration",
        title="Calibration",
        caption="Accuracy of answers against the confidence in them; below the diagonal the network is "
        f"too sure of itself. The expected calibration error is {100 * test.calibration_error:.2f} %.",
        x="confidence",
        y="accuracy",
        places=tuple(b.confidence for b in filled),
        panels=(
            Panel(
                title="",
                series=(
                    Series(
                        name="network",
                        values=tuple(b.accuracy for b in filled),
                        labels=tuple(f"{b.images:,} images" for b in filled),
                    ),
                    Series(name="calibrated", values=(0.0, 1.0), places=(0.0, 1.0), colour="#8A8F98"),
                ),
            ),
        ),
        zero=True,
    )


def _class_blocks(test: Evaluation) -> tuple[Block, ...]:
    rows = tuple(
        (
            name,
            f"{count:,}",
            "" if share is None else f"{100 * share:.1f} %",
            worst_confusion(test, at),
        )
        for at, (name, count, share) in enumerate(
            zip(test.classes, test.counts, test.accuracies, strict=True)
        )
    )
    table = DataTable(
        caption="Accuracy by class, on test images",
        header=("class", "images", "accuracy", "most often taken for"),
        rows=rows,
        left=(0, 3),
        folded=len(rows) > 25,
    )
    if len(test.classes) > MOST_CLASSES:
        return (Text(f"A confusion matrix of {len(test.classes):,} classes is not drawn."), table)
    matrix = HeatMap(
        title="Confusion matrix",
        caption="Images of each true class (a row) by the answer that they got (a column), the darker "
        "the larger their share of the class; right answers are on the diagonal.",
        names=test.classes,
        counts=test.confusion,
        rows="true class",
        columns="answer",
    )
    return (matrix, table)


def _mistakes(story: TrainStory) -> tuple[Block, ...]:
    if not story.mistakes:
        return ()
    return (
        Pictures(
            caption="The test images that the network got wrong while it was most sure of its answer; "
            "some may be labelled wrongly.",
            pictures=tuple(
                Picture(
                    one.png,
                    f"{one.answer} ({100 * one.probability:.0f} %), in truth {one.label}",
                    f"test image {one.index}, a {one.label} taken for a {one.answer}",
                )
                for one in story.mistakes
            ),
        ),
    )


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share
