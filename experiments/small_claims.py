"""Claims of the paper that small searches test, with their rules; they continue `search_claims.CLAIMS`.

The rules were written and committed before any of these searches was run, but for parts whose remark
says when they were added. `small_judges.py` takes the numbers from the results.
"""

from __future__ import annotations

import small_judges
from claim_parts import Part, SearchClaim
from claim_rules import LEAST_SAVED, MARGIN, SPARSE, UNIFORM
from small_judges import EARLIER_PAIRS, GAP_MARGIN, PAIRS, UNIFORM_WEIGHT
from small_remarks import (
    ADAM,
    ADDED,
    CLIPPED,
    FEW,
    FEW_ROUNDS,
    NOISE,
    NONE_LEFT,
    PACE,
    TOO_MUCH,
)
from small_search import HELD, HELD_EPOCHS, HELD_WEIGHT
from small_searches import LATE, of_variant

SMALL = (
    "Small searches on a CPU: 800 images of CIFAR-10 at 16 x 16 pixels, NAS-Bench-201 with one "
    "cell of 6 channels per stage, 20 epochs of 12 rounds, two seeds, the default's guard (skip "
    "dropout 0.5). Runs of one seed share images, weights and batches, and differ in the named "
    "setting alone. What holds here need not hold in a search of full size."
)
WITH_TWINS = [job for pair in PAIRS.items() for variant in pair for job in of_variant(variant)]
EARLIER_TWINS = [
    job for pair in EARLIER_PAIRS.items() for variant in pair for job in of_variant(variant)
]
GAIN = (
    "It holds if the 95 % interval of the difference of true accuracies (Student's) lies above zero and "
    f"every run is above every run of the other kind; it does not if the interval lies below {MARGIN:g} "
    "points"
)

CLAIMS = {
    "g": SearchClaim(
        title="Wipeout mitigates the relaxation bias",
        says="Removing weak experts “consistently smooths the process towards selecting a final "
        "architecture at the descretization stage. Thus it mitigates the harsh final pruning of "
        "previous methods, which results in a relaxation bias” (Sec. 2.2). The paper measures no "
        "such bias.",
        evidence=f"{SMALL} The gap is the accuracy of the mixture on the validation half (400 images) "
        "minus that of the cell that the search would give, with the supernet's weights. At the end "
        "of the last epoch wipeout leaves one expert per edge, and the gap is zero by construction: "
        "so it is taken an epoch earlier. Settings: relaxation 1 and 0.1, and reward bound 0.1, "
        "whose twin without wipeout has the same bound and rate.",
        parts=[
            Part(
                statement="Before the end the gap is smaller with wipeout",
                rule=f"It holds if the gap is smaller by {GAP_MARGIN:g} points or more in all six "
                "pairs, two standard errors of a difference of two accuracies on 400 images; it does "
                "not if it is smaller by as much in none.",
                jobs=WITH_TWINS,
                judge=small_judges.smaller_gap(),
                remark=NONE_LEFT,
            ),
            Part(
                statement="The cell at the end keeps more of the supernet's accuracy",
                rule="Accuracy of the final cell with the supernet's weights on the validation half: "
                f"it holds if it is higher with wipeout by {GAP_MARGIN:g} points or more in all six "
                "pairs, and does not if in none.",
                jobs=WITH_TWINS,
                judge=small_judges.better_cell_in_place(),
            ),
            Part(
                statement="Where experts leave earlier, the gap before the end is smaller",
                rule=f"As the first part, with relaxation 0.03 and with reward bound 0.03: smaller by "
                f"{GAP_MARGIN:g} points or more in all four pairs, or in none.",
                jobs=EARLIER_TWINS,
                judge=small_judges.smaller_gap(EARLIER_PAIRS),
                remark=ADDED,
            ),
            Part(
                statement="Where experts leave earlier, the cell at the end keeps more",
                rule=f"As the second part, with the same settings: higher by {GAP_MARGIN:g} points or "
                "more in all four pairs, or in none.",
                jobs=EARLIER_TWINS,
                judge=small_judges.better_cell_in_place(EARLIER_PAIRS),
                remark=ADDED,
            ),
        ],
    ),
    "h": SearchClaim(
        title="Experts that leave early save time, and the cell is kept",
        says="Wipeout “dynamically reduces the number of network weights”, “reducing the search "
        "time” (Sec. 2.2, 6); a relaxed threshold gives “a further reduction in duration”, “with the "
        "price of a violation of the theoretical regret” (Sec. 3.2.1). A smaller reward bound also "
        "lets experts leave earlier, within the theory.",
        evidence=f"{SMALL} Time is that of the CPU in rounds, one thread of the reference path, on a "
        "machine that others used as well; the discretization gap's is left out.",
        parts=[
            Part(
                statement="The safe wipeout saves time at reward bound 1",
                rule=f"At least {100 * LEAST_SAVED:g} % of the CPU seconds of all epochs with both "
                "seeds; it does not hold if less with both.",
                jobs=[*of_variant("no-wipeout"), *of_variant("wipeout")],
                judge=small_judges.saves_time("wipeout"),
                remark=NOISE,
            ),
            Part(
                statement="Relaxation 0.1 saves time",
                rule="As the first part.",
                jobs=[*of_variant("no-wipeout"), *of_variant("relaxation-0.1")],
                judge=small_judges.saves_time("relaxation-0.1"),
                remark=f"{NOISE} {TOO_MUCH}",
            ),
            Part(
                statement="Reward bound 0.1 saves time",
                rule="As the first part, against the same bound without wipeout.",
                jobs=[*of_variant("bound-0.1-no-wipeout"), *of_variant("bound-0.1")],
                judge=small_judges.saves_time("bound-0.1"),
                remark=NOISE,
            ),
            Part(
                statement="The cell is kept",
                rule=f"True accuracy with wipeout less than {MARGIN:g} points below that of the twin "
                "without, in all six pairs; it does not hold if more below in all six.",
                jobs=WITH_TWINS,
                judge=small_judges.keeps_cell(),
            ),
            Part(
                statement="Relaxation 0.03 saves time",
                rule="As the first part.",
                jobs=[*of_variant("no-wipeout"), *of_variant("relaxation-0.03")],
                judge=small_judges.saves_time("relaxation-0.03", EARLIER_PAIRS),
                remark=f"{ADDED} {NOISE}",
            ),
            Part(
                statement="Reward bound 0.03 saves time",
                rule="As the first part, against the same bound without wipeout.",
                jobs=[*of_variant("bound-0.03-no-wipeout"), *of_variant("bound-0.03")],
                judge=small_judges.saves_time("bound-0.03", EARLIER_PAIRS),
                remark=f"{ADDED} {CLIPPED} {NOISE}",
            ),
            Part(
                statement="Where experts leave earlier, the cell is kept",
                rule="As the fourth part, in all four pairs of these two settings.",
                jobs=EARLIER_TWINS,
                judge=small_judges.keeps_cell(EARLIER_PAIRS),
                remark=ADDED,
            ),
        ],
    ),
    "i": SearchClaim(
        title="The derived rate is the one to use, the rate alone changed",
        says="η* of eq. 4, with T = d × E × r (Sec. 3.1, 3.2.2), is “an upper bound on the optimal "
        "learning rates and can be further fine-tuned” (Remark 1).",
        evidence=f"{SMALL} The default puts the 240 rounds that are played into eq. 4 (0.11); `paper` "
        "puts the paper's T there (0.011). NAS-Bench-201 has one kind of cell, so that the paper's "
        "two rates are one here.",
        parts=[
            Part(
                statement="The rate of the paper's T is no worse than that of the rounds played",
                rule=f"{GAIN}. The part says the reverse: it holds where matching does not gain.",
                jobs=[*of_variant("wipeout"), *of_variant("rate-paper")],
                judge=small_judges.no_worse("rate-paper", "wipeout"),
                remark=FEW,
            ),
            Part(
                statement="Rates above the matched one are worse",
                rule=f"Matched against 1, nine times as great. {GAIN}.",
                jobs=[*of_variant("wipeout"), *of_variant("rate-1")],
                judge=small_judges.gains_over("wipeout", "rate-1"),
                remark=FEW,
            ),
            Part(
                statement="With the rate of the paper's T mixtures become sparse",
                rule=f"Entropy before the first wipeout: below {SPARSE:g} with both seeds; it does "
                f"not hold if both have {UNIFORM:g} or more.",
                jobs=of_variant("rate-paper"),
                judge=small_judges.sparse("rate-paper"),
            ),
        ],
    ),
    "j": SearchClaim(
        title="Late bloomers recover",
        says="XNAS “enables the recovery of experts with badly initialized weights or with delayed "
        "rewards”, while gradient descent with softmax “makes it harder for an expert whose weight "
        "is weak at some point to recover and become dominant later on” (Sec. 3.2.1). The paper "
        "shows it with three coordinate axes.",
        evidence=f"{SMALL} `{HELD}` is held back on every edge: it has weight {HELD_WEIGHT:g}, the "
        f"three others equal shares, for the first third of the epochs ({HELD_EPOCHS:.2g}), in which "
        "mixtures rest and its weights learn little. Then the mixtures learn from there: by EG or by "
        "gradient descent on logits behind a softmax at the same rate (η* of the rounds left), or by "
        "Adam as in DARTS, with a rate by which a logit can move as far as in DARTS's own search. No "
        "wipeout. Controls start uniform after the same rest.",
        parts=[
            Part(
                statement="A convolution that was held back recovers under EG",
                rule=f"Its mean weight over the edges at the end: above {UNIFORM_WEIGHT:g}, that of "
                "four equal experts, with both seeds; it does not hold if both are below.",
                jobs=of_variant("late-eg"),
                judge=small_judges.recovers("late-eg"),
                remark=f"{FEW_ROUNDS} {PACE}",
            ),
            Part(
                statement="It does not recover under gradient descent with softmax at the same rate",
                rule=f"Below {UNIFORM_WEIGHT:g} with both seeds; it does not hold if both are above.",
                jobs=of_variant("late-softmax"),
                judge=small_judges.stays_behind("late-softmax"),
                remark=FEW_ROUNDS,
            ),
            Part(
                statement="It gains more under EG than under gradient descent with softmax",
                rule="The logarithm of its mean weight, at the end minus at the start: it holds if "
                "EG's is the greater one with both seeds, and does not if it is smaller with both.",
                jobs=[*of_variant("late-eg"), *of_variant("late-softmax")],
                judge=small_judges.gains_more("late-eg", "late-softmax"),
            ),
            Part(
                statement="It gains more under EG than under DARTS's Adam",
                rule="As the part before.",
                jobs=[*of_variant("late-eg"), *of_variant("late-adam")],
                judge=small_judges.gains_more("late-eg", "late-adam"),
                remark=ADAM,
            ),
            Part(
                statement="Under EG the start matters less than under gradient descent with softmax",
                rule="Total variation between the mean mixtures at the end of the search that held "
                "the convolution back and of its control: it holds if EG's is the smaller one with "
                "both seeds, and does not if it is greater with both.",
                jobs=[job for v in LATE if v != "late-adam" for job in of_variant(v)],
                judge=small_judges.robust_start(),
            ),
        ],
    ),
    "k": SearchClaim(
        title="A round per sample, as the paper counts them, gives as good a cell",
        says="T is “the number of gradient feedbacks received by the experts” (Sec. 3.1), d × E × r: "
        "one per image and cell. How rewards of one batch are added up is not said.",
        evidence=f"{SMALL} `--accounting sample` plays one round per image and cell that shares the "
        "mixture, each reward clipped alone, with the rate of that T; the default plays one round "
        "per update.",
        parts=[
            Part(
                statement="Its cell is no worse than the default's",
                rule=f"{GAIN}. The part is about the reverse: it holds where the default does not gain.",
                jobs=[*of_variant("wipeout"), *of_variant("per-sample")],
                judge=small_judges.no_worse("per-sample", "wipeout"),
                remark=FEW,
            ),
            Part(
                statement="Its mixtures become sparse",
                rule=f"Entropy before the first wipeout: below {SPARSE:g} with both seeds; it does "
                f"not hold if both have {UNIFORM:g} or more.",
                jobs=of_variant("per-sample"),
                judge=small_judges.sparse("per-sample"),
            ),
        ],
    ),
}
