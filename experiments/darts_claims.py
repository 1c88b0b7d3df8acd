"""Claims about the DARTS space, whose two kinds of cell and whose judge NAS-Bench-201 does not have.

Their rules were written and committed before any of these searches was run. The same parts serve the
small size, on a CPU, and the full one, on a GPU.
"""

from __future__ import annotations

import small_judges
from claim_parts import Part, SearchClaim
from claim_rules import MARGIN, SPARSE, UNIFORM
from small_searches import of_variant

JUDGED = (
    "The judge estimates the validation accuracy of a cell from 718 trained ones, with an "
    "error of about 0.2 points for one cell"
)
SMALL_DARTS = (
    "Small searches on a CPU: 800 images of CIFAR-10 at 16 x 16 pixels, the DARTS space with 3 cells of "
    "4 channels, 20 epochs of 12 rounds, two seeds, the default's guards (half of the experts absent in "
    "the weight step, mixtures at rest for four epochs). The first cell is a normal one, the two others "
    "are reduction cells: unlike in the paper's network the normal kind has the higher rate. "
    f"{JUDGED}, and stands for other networks than those that were searched."
)
GAIN = (
    "It holds if the 95 % interval of the difference of judged accuracies (Student's) lies above zero "
    f"and every run is above every run of the other kind; it does not if the interval lies below "
    f"{MARGIN:g} points. With two seeds each it is likely that neither is so"
)
RATES_SAY = (
    "Kinds of cell differ in the number of feedbacks T = d × E × r, so that the paper has “multiple "
    "learning rates” (Sec. 3.1), 7.5e-4 for normal and 1.3e-3 for reduction cells in its example (Sec. "
    "3.2.2). No experiment shows what they gain."
)

UNIFORM_MIXTURES = (
    "Written when the runs were there: at the paper's rates mixtures keep more than 99.9 % of the "
    "greatest entropy in these 192 rounds, so that cells follow small differences."
)
NO_TIME = (
    "Written when the runs were there: at DARTS's own rate of 3e-4 no logit can move by more than 0.07 "
    "in 240 rounds. Its mixtures stay uniform, and its cells follow small differences: this is no test "
    "of a search by DARTS that is given its time."
)


def rate_parts(size: str, *, matched: float, one: float, remark: str = "") -> list[Part]:
    """Runs that differ in the rates of the two kinds of cell alone; with a remark on the paper's."""
    return [
        Part(
            statement="The paper's two rates are no worse than the matched one",
            rule=f"Matched to the rounds played ({matched:g} for both kinds) against `paper`. {GAIN}. "
            "The part says the reverse: it holds where matching does not gain.",
            jobs=[*of_variant("wipeout", size), *of_variant("rate-paper", size)],
            judge=small_judges.no_worse("rate-paper", "wipeout", size),
            remark=remark,
        ),
        Part(
            statement="The paper's two rates are better than one of them for both kinds",
            rule=f"`paper` against {one:g}, the paper's rate of normal cells, for both. {GAIN}.",
            jobs=[*of_variant("rate-paper", size), *of_variant("rate-one", size)],
            judge=small_judges.gains_over("rate-paper", "rate-one", size),
            remark=remark,
        ),
        Part(
            statement="The matched rate is better when it is split between the kinds as the paper's",
            rule=f"`matched-by-kind` against `matched`. {GAIN}.",
            jobs=[*of_variant("rate-by-kind", size), *of_variant("wipeout", size)],
            judge=small_judges.gains_over("rate-by-kind", "wipeout", size),
        ),
        Part(
            statement="The matched rate is no worse than 0.1",
            rule=f"0.1 against {matched:g}. {GAIN}. The part says the reverse: it holds where 0.1 does "
            "not gain.",
            jobs=[*of_variant("wipeout", size), *of_variant("rate-0.1", size)],
            judge=small_judges.no_worse("wipeout", "rate-0.1", size),
        ),
        Part(
            statement="With the paper's two rates mixtures become sparse",
            rule=f"Entropy before the first wipeout, mean of both kinds: below {SPARSE:g} with all "
            f"seeds; it does not hold if all have {UNIFORM:g} or more.",
            jobs=of_variant("rate-paper", size),
            judge=small_judges.sparse("rate-paper", size),
        ),
    ]


def first_order_part(size: str, remark: str = "") -> Part:
    """The default against DARTS on its own space."""
    return Part(
        statement="The default search finds better cells than first-order DARTS",
        rule=f"Default against `--method darts`, by its own update and weight decay. {GAIN}. "
        "They also differ in wipeout, guards and the operation `none`: this is about whole methods.",
        jobs=[*of_variant("wipeout", size), *of_variant("darts", size)],
        judge=small_judges.gains_over("wipeout", "darts", size),
        remark=remark,
    )


CLAIMS = {
    "l": SearchClaim(
        title="Each kind of cell needs its own rate",
        says=RATES_SAY,
        evidence=SMALL_DARTS,
        parts=rate_parts("small-darts", matched=0.142, one=0.0247, remark=UNIFORM_MIXTURES),
    ),
    "m": SearchClaim(
        title="On the DARTS space XNAS finds better cells than DARTS",
        says="Generic optimisers as in DARTS are “not suitable” (Sec. 2.2); XNAS outperforms previous "
        "methods “by a large margin” (Sec. 4.2, Table 1).",
        evidence=SMALL_DARTS,
        parts=[first_order_part("small-darts", NO_TIME)],
    ),
}
