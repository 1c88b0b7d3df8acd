"""Accuracies in words."""

from xnas.records import Judgement, Truth
from xnas.report.truths import place_text, truth_text


def test_a_known_accuracy_has_a_rank_and_a_judged_one_an_error_bar_and_a_percentile():
    known = Truth(
        arch="|a~0|",
        test_200=93.126,
        test_12=None,
        rank=1234,
        arch_with_none=None,
        test_200_with_none=None,
    )
    assert truth_text(known) == "true accuracy 93.13 %"
    assert place_text(known) == "rank 1,234"
    judged = Judgement(accuracy=93.62, error=0.208, percentile=81.5)
    assert truth_text(judged) == "judged accuracy 93.62 ± 0.21 %"
    assert place_text(judged) == "better than 81.5 % of random cells"
