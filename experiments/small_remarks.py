"""What is to be said of the parts of `small_claims.py` beside their rules; no remark changes a verdict.

`ADDED` was written with the rules of the parts that have it, all others when the runs were there.
"""

ADDED = (
    "This part was added later, with its rule, when two searches were known, those of `wipeout` and "
    "`per-sample` with seed 0, and no other: all their experts were there until the last epoch, so that "
    "the parts above could hardly show anything. Relaxation 0.03 and reward bound 0.03 let experts "
    "leave earlier."
)
NONE_LEFT = (
    "With relaxation 1 and reward bound 1 no expert had left an epoch before the end, so that two of "
    "the six pairs could only be equal. In the four others 5 to 12 of 24 had."
)
NOISE = (
    "`wipeout` and `no-wipeout` have the same experts in all epochs but the last, and their CPU times "
    "still differ by 2 and 12 %, because others used the machine: a difference of that size says "
    "nothing about wipeout. The share of experts gone is exact."
)
TOO_MUCH = "By its rule the part holds, but more time was saved than so few experts can account for."
CLIPPED = (
    "A smaller bound lets experts leave earlier only until it clips most rewards. Then leads and the "
    "threshold shrink together: with 0.03 experts leave no earlier than with 0.1."
)
FEW = (
    "Searches that differ in their seed alone lie one to three points apart here, so that two seeds "
    "cannot decide on less."
)
FEW_ROUNDS = (
    "In the 156 rounds after the rest nothing moves far at this rate: the controls, which start at "
    "0.25, end between 0.248 and 0.263."
)
PACE = "At the measured pace 0.25 would take five and thirteen times as many rounds."
ADAM = (
    "Adam's steps have one size however small the gradients are, and its rate was set so that a logit "
    "can move by 3.9 in all. EG's steps follow the rewards, which are small here."
)
