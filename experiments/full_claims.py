"""Claims that searches and trainings of full size judge; none had begun when this was written.

They need a GPU. Until one is lent, their parts say that nothing is measured, and `experiments/README.md`
has the commands that begin them.
"""

from __future__ import annotations

from statistics import mean, stdev

import claim_rules
import long_trainings
import small_judges
from cell_statistics import STUDENT
from claim_parts import Outcome, Part, SearchClaim
from claim_rules import LEAST_SAVED, MARGIN, SPARSE, UNIFORM, Verdict
from darts_claims import JUDGED, RATES_SAY, first_order_part, rate_parts
from result_tables import Results, spread
from small_judges import EARLIER_PAIRS, PAIRS, UNIFORM_WEIGHT
from small_search import HELD, HELD_WEIGHT, SmallSearch
from small_searches import LATE, of_variant

GAP_MARGIN = 3.0
"""Points of accuracy: two standard errors of a difference of two shares of 1,920 images, at 70 %."""
PLAIN_ERROR = 2.48
FASHION_ERROR = 3.64
TEST_IMAGES = 10_000
SPACES = {"benchmark": "NAS-Bench-201", "darts": "the DARTS space"}
FULL = (
    "Whole searches of CIFAR-10 on a GPU that each has to itself, one after another: NAS-Bench-201 with "
    "its own network, the DARTS space with 8 cells of 16 channels, 50 epochs of 260 rounds, two seeds. "
    "Runs of one seed differ in the named setting alone."
)
GAIN = (
    "It holds if the 95 % interval of the difference of true accuracies (Student's) lies above zero and "
    f"every run is above every run of the other kind; it does not if the interval lies below {MARGIN:g} "
    "points"
)


def _with_twins(size: str) -> list[SmallSearch]:
    """All settings of wipeout, and their twins without."""
    return [job for pair in PAIRS.items() for variant in pair for job in of_variant(variant, size)]


def _bias_parts(size: str) -> list[Part]:
    where = SPACES[size]
    return [
        Part(
            statement=f"Before the end the gap is smaller with wipeout, {where}",
            rule=f"As in (g), with a margin of {GAP_MARGIN:g} points: smaller by as much in all six "
            "pairs, or in none.",
            jobs=_with_twins(size),
            judge=small_judges.smaller_gap(PAIRS, size, GAP_MARGIN),
        ),
        Part(
            statement=f"The cell at the end keeps more of the supernet's accuracy, {where}",
            rule=f"As in (g), with a margin of {GAP_MARGIN:g} points.",
            jobs=_with_twins(size),
            judge=small_judges.better_cell_in_place(PAIRS, size, GAP_MARGIN),
        ),
    ]


def _time_part(variant: str, setting: str, size: str) -> Part:
    pairs = PAIRS if variant in PAIRS else EARLIER_PAIRS
    twin = pairs[variant]
    return Part(
        statement=f"{setting} saves time, {SPACES[size]}",
        rule=f"Against `{twin}`: at least {100 * LEAST_SAVED:g} % of the seconds of all epochs with "
        "both seeds; it does not hold if less with both. Times of several devices decide nothing.",
        jobs=[*of_variant(twin, size), *of_variant(variant, size)],
        judge=small_judges.saves_time(variant, pairs, size),
    )


def _time_parts(size: str) -> list[Part]:
    settings = {
        "wipeout": "The safe wipeout at reward bound 1",
        "relaxation-0.1": "Relaxation 0.1",
        "bound-0.1": "Reward bound 0.1",
    }
    if size == "benchmark":
        settings |= {"relaxation-0.03": "Relaxation 0.03", "bound-0.03": "Reward bound 0.03"}
    kind = "True" if size == "benchmark" else "Judged"
    return [
        *(_time_part(variant, setting, size) for variant, setting in settings.items()),
        Part(
            statement=f"The cell is kept, {SPACES[size]}",
            rule=f"{kind} accuracy with wipeout less than {MARGIN:g} points below that of the twin "
            "without, for relaxation 1 and 0.1 and reward bound 0.1 with both seeds; it does not hold "
            "if more below in all six pairs.",
            jobs=_with_twins(size),
            judge=small_judges.keeps_cell(PAIRS, size),
        ),
    ]


BENCHMARK_RATES = [
    Part(
        statement="The rate of the paper's T is no worse than that of the rounds played, NAS-Bench-201",
        rule=f"{GAIN}. The part says the reverse: it holds where matching does not gain.",
        jobs=[*of_variant("wipeout", "benchmark"), *of_variant("rate-paper", "benchmark")],
        judge=small_judges.no_worse("rate-paper", "wipeout", "benchmark"),
    ),
    Part(
        statement="A rate of 0.1 is worse than the matched one, NAS-Bench-201",
        rule=f"Matched (0.0146) against 0.1, seven times as great. {GAIN}.",
        jobs=[*of_variant("wipeout", "benchmark"), *of_variant("rate-0.1", "benchmark")],
        judge=small_judges.gains_over("wipeout", "rate-0.1", "benchmark"),
    ),
    Part(
        statement="With the rate of the paper's T mixtures become sparse, NAS-Bench-201",
        rule=f"Entropy before the first wipeout: below {SPARSE:g} with both seeds; it does not hold if "
        f"both have {UNIFORM:g} or more.",
        jobs=of_variant("rate-paper", "benchmark"),
        judge=small_judges.sparse("rate-paper", "benchmark"),
    ),
]


def full_length(results: Results) -> Outcome:
    """The test error of XNAS's cell by `darts-600`, against the one that is reported."""
    (line,) = results.measured(long_trainings.sets()["full"])
    error = 100 - 100 * float(line["test_accuracy"])
    reach = 2 * _standard_error(PLAIN_ERROR)
    verdict: Verdict = "holds" if error <= PLAIN_ERROR + reach else "does not hold"
    return f"{error:.2f} % after {line['epochs']} epochs, {PLAIN_ERROR:.2f} % reported.", verdict


def transferred(results: Results) -> Outcome:
    """Test errors on Fashion-MNIST, against the one that the paper prints."""
    lines = results.measured(long_trainings.sets()["transfer"])
    errors = [100 - 100 * float(line["test_accuracy"]) for line in lines]
    reach = STUDENT[len(errors) - 2] * stdev(errors) / len(errors) ** 0.5
    most = FASHION_ERROR + 2 * _standard_error(FASHION_ERROR)
    verdict = claim_rules.unanimous([mean(errors) + reach <= most], [mean(errors) - reach > most])
    return f"{spread(errors)} %, {FASHION_ERROR:.2f} % printed.", verdict


def _standard_error(error: float) -> float:
    """Of an error in percent that is counted on the test images."""
    return float((error * (100 - error) / TEST_IMAGES) ** 0.5)


CLAIMS = {
    "n": SearchClaim(
        title="At full size wipeout mitigates the relaxation bias",
        says="As in (g).",
        evidence=f"{FULL} The gap is measured on at most 1,920 validation images.",
        parts=[*_bias_parts("benchmark"), *_bias_parts("darts")],
    ),
    "o": SearchClaim(
        title="At full size experts that leave early save time, and the cell is kept",
        says="As in (h).",
        evidence=f"{FULL} Time is that of rounds by the clock; captures of a round after a wipeout "
        f"count. {JUDGED}.",
        parts=[*_time_parts("benchmark"), *_time_parts("darts")],
    ),
    "p": SearchClaim(
        title="At full size the derived rates are those to use, the rates alone changed",
        says=f"As in (i). {RATES_SAY}",
        evidence=f"{FULL} {JUDGED}.",
        parts=[*BENCHMARK_RATES, *rate_parts("darts", matched=0.0191, one=7.95e-4)],
    ),
    "q": SearchClaim(
        title="At full size late bloomers recover",
        says="As in (j).",
        evidence=f"{FULL} As in (j), `{HELD}` has weight {HELD_WEIGHT:g} for the first third of the "
        "epochs, on NAS-Bench-201.",
        parts=[
            Part(
                statement="A convolution that was held back recovers under EG, NAS-Bench-201",
                rule=f"Its mean weight at the end: above {UNIFORM_WEIGHT:g} with both seeds; it does "
                "not hold if both are below.",
                jobs=of_variant("late-eg", "benchmark"),
                judge=small_judges.recovers("late-eg", "benchmark"),
            ),
            Part(
                statement="It gains more under EG than under gradient descent with softmax, "
                "NAS-Bench-201",
                rule="As in (j).",
                jobs=[*of_variant("late-eg", "benchmark"), *of_variant("late-softmax", "benchmark")],
                judge=small_judges.gains_more("late-eg", "late-softmax", "benchmark"),
            ),
            Part(
                statement="It gains more under EG than under DARTS's Adam, NAS-Bench-201",
                rule="As in (j).",
                jobs=[*of_variant("late-eg", "benchmark"), *of_variant("late-adam", "benchmark")],
                judge=small_judges.gains_more("late-eg", "late-adam", "benchmark"),
            ),
            Part(
                statement="Under EG the start matters less than under gradient descent with softmax, "
                "NAS-Bench-201",
                rule="As in (j).",
                jobs=[job for v in LATE if v != "late-adam" for job in of_variant(v, "benchmark")],
                judge=small_judges.robust_start("benchmark"),
            ),
        ],
    ),
    "r": SearchClaim(
        title="A round per sample gives as good a cell in a network of full size",
        says="As in (k).",
        evidence="5,000 images of CIFAR-10, a tenth, and NAS-Bench-201 with its own network, 50 epochs "
        "of 26 rounds, two seeds. With all images a search would play 13,000 rounds of the reference "
        "path, hours of a GPU, because no fused round counts samples.",
        parts=[
            Part(
                statement="Its cell is no worse than the default's, with a tenth of the images",
                rule=f"{GAIN}. The part is about the reverse: it holds where the default does not gain.",
                jobs=[*of_variant("wipeout", "fewer"), *of_variant("per-sample", "fewer")],
                judge=small_judges.no_worse("per-sample", "wipeout", "fewer"),
            ),
            Part(
                statement="Its mixtures become sparse, with a tenth of the images",
                rule=f"Entropy before the first wipeout: below {SPARSE:g} with both seeds; it does not "
                f"hold if both have {UNIFORM:g} or more.",
                jobs=of_variant("per-sample", "fewer"),
                judge=small_judges.sparse("per-sample", "fewer"),
            ),
        ],
    ),
    "s": SearchClaim(
        title="At full size XNAS finds better cells than DARTS on the DARTS space",
        says="As in (m).",
        evidence=f"{FULL} {JUDGED}.",
        parts=[first_order_part("darts")],
    ),
    "t": SearchClaim(
        title="XNAS's cell reaches the printed errors",
        says="2.48 % on CIFAR-10 by the recipe of DARTS (the authors' repository, “XNAS-Plain”); 3.64 % "
        "on Fashion-MNIST (Table 3).",
        evidence="Trainings of the published cell on a GPU, see results.md.",
        parts=[
            Part(
                statement="By the recipe of DARTS, to its 600th epoch, the error is the reported one",
                rule="One training, by its last epoch: it holds if the test error is at most two "
                f"standard errors ({2 * _standard_error(PLAIN_ERROR):.2f} points on 10,000 images) "
                f"above {PLAIN_ERROR:.2f} %, and does not if it is higher.",
                jobs=long_trainings.sets()["full"],
                judge=full_length,
            ),
            Part(
                statement="On Fashion-MNIST a fifteenth of the epochs gives the printed error",
                rule="Three seeds: it holds if the 95 % interval of the mean error (Student's) ends at "
                f"most two standard errors ({2 * _standard_error(FASHION_ERROR):.2f} points) above "
                f"{FASHION_ERROR:.2f} %, and does not if it begins above that. A failure would be one "
                "of 100 epochs; the paper's training has 1,500.",
                jobs=long_trainings.sets()["transfer"],
                judge=transferred,
            ),
        ],
    ),
}
