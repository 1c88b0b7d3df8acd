"""Accuracies in words."""

from xnas.records import Judgement, Truth
from xnas.report.truths import truth_text


def test_a_known_accuracy_is_printed_alone_and_a_judged_one_with_its_error_bar():
    known = Truth(
        arch="|a~0|", test_200=93.126, test_12=None, rank=7, arch_with_none=None, test_200_with_none=None
    )
    assert truth_text(known) == "true accuracy 93.13 %"
    judged = Judgement(accuracy=93.62, error=0.208, percentile=81.5)
    assert truth_text(judged) == "judged accuracy 93.62 ± 0.21 %"
