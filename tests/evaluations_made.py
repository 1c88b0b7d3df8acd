"""Hand-made evaluations, for tests of what is shown of them."""

import numpy as np

from xnas.records import CalibrationBin, Evaluation


def evaluation(classes=3, right=8, wrong=2):
    """Every class has `right` right answers and `wrong` for the next class."""
    names = tuple(f"class {k}" for k in range(classes))
    confusion = np.eye(classes, dtype=int) * right + np.roll(np.eye(classes, dtype=int), 1, 1) * wrong
    each = right + wrong
    share = right / each
    empty = [CalibrationBin(lower=k / 15, upper=(k + 1) / 15, images=0, confidence=0.0, accuracy=0.0)
             for k in range(14)]  # fmt: skip
    last = CalibrationBin(
        lower=14 / 15, upper=1.0, images=classes * each, confidence=0.95, accuracy=share
    )
    return Evaluation(
        images=classes * each,
        classes=names,
        top1=share,
        top5=0.9 if classes > 5 else None,
        loss=0.5,
        counts=(each,) * classes,
        accuracies=(share,) * classes,
        confusion=tuple(tuple(row) for row in confusion.tolist()),
        calibration_error=abs(0.95 - share),
        calibration=(*empty, last),
    )
