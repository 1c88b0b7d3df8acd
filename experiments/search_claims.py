"""The page docs/search-claims.md: what the paper says of its search, and what our searches say of that.

A claim has parts, a part one rule and the runs that it needs. `claim_rules.py` has the rules with their
thresholds, `search_judges.py` takes the numbers from the results.
"""

from __future__ import annotations

import darts_claims
import full_claims
import search_judges
import small_claims
from cell_statistics import LEVEL
from cell_tables import DEFAULT
from claim_parts import Part, SearchClaim
from claim_rules import LEAST_SAVED, MARGIN, SMALL_DEVIATION, SPARSE, UNIFORM
from compare_cells import RANDOM
from result_tables import NOTHING, Results, table
from search_judges import DARTS_V2, DEEPEST_RIVAL, RELAXED, runs, trainings
from xnas.space import zoo_cell

GAIN_RULE = (
    "It holds if the 95 % interval (Student's) lies above zero and every run is above every run of the "
    f"other kind. It does not if the interval lies below {MARGIN:g} points: a smaller gain counts as "
    "none"
)
CLAIMS = {
    "a": SearchClaim(
        title="Exponentiated gradients with wipeout find better cells",
        says="Wiping out weak experts allows the search “to converge to a better solution” (Sec. 2.2), "
        "“increasing the final accuracy” (Sec. 6); generic optimisers as in DARTS are “not suitable” "
        "(Sec. 2.2), and XNAS is “more suitable for the NAS setup” (Sec. 3.2.1). The paper has no "
        "search without wipeout.",
        evidence="Searches of NAS-Bench-201, where the true accuracy of every cell is known.",
        parts=[
            Part(
                statement="The search is better with wipeout than without",
                rule=f"Default (four seeds) against the same without wipeout (two). {GAIN_RULE}; nor if "
                "every seed finds the same cell with and without.",
                jobs=[*runs("full", "default"), *runs("wipeout", "no-wipeout")],
                judge=search_judges.with_and_without,
                remark="The best cell of the benchmark has 94.37 %: above what searches without wipeout "
                "reach, next to nothing was left to gain. Seed 0 of the default used earlier kernels "
                "than its counterpart without wipeout; the two searches of seed 1 are equal until the "
                "first wipeout, in epoch 50. This is about our default: `--faithful` named a cell of "
                "80.57 % with both seeds until experts were wiped out, and ended at 93.31 and 92.13 %; "
                "it was not run without wipeout.",
            ),
            Part(
                statement="The paper's protocol is better than that of DARTS",
                rule=f"`--faithful` (two seeds) against `--method darts` (two). {GAIN_RULE}. They "
                "differ in update, rate, wipeout and AutoAugment, so that no one of these is singled "
                "out.",
                jobs=runs("full", "faithful", "darts"),
                judge=search_judges.compared("faithful", "darts"),
                remark="Two seeds each, those of DARTS without any spread. Before its first wipeout, "
                "after epoch 48, `--faithful` named 80.57 % twice: 26 of the 38 points were there then.",
            ),
        ],
    ),
    "b": SearchClaim(
        title="Wipeout speeds the search up",
        says="“It speeds-up the architecture search, as the number of graph computations decreases” "
        "(Sec. 2.2, 6); with a relaxed threshold there is “a further reduction in duration” (Sec. "
        "3.2.1). The paper gives no number.",
        evidence="Searches of the same seeds that differ in wipeout alone (except for seed 0 of "
        "the default, see (a)), on one GPU, with different numbers of others in parallel.",
        parts=[
            Part(
                statement="The wipeout of Algorithm 1 saves time",
                rule=f"Of the time of all epochs without wipeout at least {100 * LEAST_SAVED:g} % are "
                "saved with both seeds; it does not hold if less is saved with both. Times on several "
                "devices, or with other searches in parallel, do not compare and decide nothing.",
                jobs=runs("wipeout", "default", "no-wipeout"),
                judge=search_judges.faster,
                remark="Calculated from the experts alive in each epoch and from rounds timed alone "
                "(results.md), it saved 0.0 % with both seeds: nearly all wipeouts came in the last "
                "epoch.",
            ),
            Part(
                statement="It makes the network smaller during the search",
                rule="Trainable numbers left, mean over all epochs but the last, whose end deletes all "
                f"but the leaders: {100 * LEAST_SAVED:g} % fewer than at first with both seeds; it does "
                "not hold if less is saved with both. This depends on no machine; memory is listed "
                "for information.",
                jobs=runs("wipeout", "default", "no-wipeout"),
                judge=search_judges.smaller,
            ),
            Part(
                statement="A relaxed threshold saves more time",
                rule=f"As the first part, ζ = 0.1 and 0.03 against ζ = 1: {100 * LEAST_SAVED:g} % in "
                "all four runs, or in none.",
                jobs=runs("wipeout", "default", *RELAXED),
                judge=search_judges.relaxed,
                remark="Calculated in the same way: 1.9 and 1.7 % with ζ = 0.1, 5.5 and 5.2 % with "
                "0.03, and the same cell as without wipeout in all four.",
            ),
        ],
    ),
    "c": SearchClaim(
        title="The derived learning rates are those to use",
        says="“The theory behind it further provides guidance for the choice of learning rates” (Sec. "
        "1): η* of eq. 4 with T = d × E × r (Sec. 3.1, 3.2.2), “an upper bound on the optimal learning "
        "rates” (Remark 1).",
        evidence="Here a mixture is updated once per batch. The default puts these rounds into eq. 4 "
        "(`matched`); `--faithful` puts the paper's T there, which is greater, so that its rate is "
        "smaller.",
        parts=[
            Part(
                statement="With the paper's rates mixtures become sparse",
                rule="Mean normalised entropy (Sec. 8.5) of `--faithful` on NAS-Bench-201 before the "
                f"last epoch: below {SPARSE:g} with both seeds; it does not hold if both have "
                f"{UNIFORM:g} or more, where mixtures are nearly uniform.",
                jobs=runs("full", "faithful"),
                judge=search_judges.decisive_rate,
                remark="The rule took no account of wipeouts before the last epoch. While all experts "
                "were there the mixtures were nearly uniform; the entropy fell in epoch 49 by wipeout, "
                "not by the rate. In the sense of the rule the part does not hold.",
            ),
            Part(
                statement="The paper's protocol, with its rates, is no worse than the default, with "
                "greater ones",
                rule="True accuracies on NAS-Bench-201, default (four seeds) against `--faithful` "
                "(two): the rule of a gain in (a), reversed. It does not hold if the default is "
                f"better, and holds if a lead of {MARGIN:g} points is ruled out. The two also differ in "
                "AutoAugment, skip dropout and the operation `none`: this is about whole protocols.",
                jobs=runs("full", "default", "faithful"),
                judge=search_judges.paper_rate,
            ),
        ],
    ),
    "d": SearchClaim(
        title="Its cells are deep",
        says="“Much deeper then a typical NAS cell”, “unlike most NAS methods, that usually produce "
        "shallow cells” (Sec. 10, Table 4).",
        evidence="Depths, as the paper defines them, of the normal cells of three default searches of "
        f"the DARTS space. The paper's cell has {zoo_cell('xnas').depth:g}; random cells have 1.25 on "
        "average.",
        parts=[
            Part(
                statement="They are deeper than the others in Table 4",
                rule=f"All three above {DEEPEST_RIVAL:g} (Amoeba-A, the deepest but XNAS's); it does "
                "not hold if none is. Three random cells pass with chance "
                "0.63.",
                jobs=runs("darts", "default"),
                judge=search_judges.deeper_than_rivals,
            ),
            Part(
                statement="They are deeper than chance",
                rule="Exact chances, over all random cells, of a mean depth as great and as small: it "
                f"holds if the first is at most {LEVEL:g}, and does not if the second is.",
                jobs=runs("darts", "default"),
                judge=search_judges.deeper_than_chance,
            ),
        ],
    ),
    "e": SearchClaim(
        title="Its cells are better than random ones and than DARTS's",
        says="Other methods are “only slightly better than random search” (Sec. 1, after others); XNAS "
        "outperforms previous methods “by a large margin” (Sec. 4.2, Table 1). The paper trains no "
        "random cell.",
        evidence="Trainings from scratch on CIFAR-10, recipe `quick`, 24 epochs, three seeds per cell: "
        "small networks, far from the paper's 1,500 epochs. A cell is one observation. Test "
        "accuracies are those of the last weights, and all cells of the default search count.",
        parts=[
            Part(
                statement="Found cells are better than random ones",
                rule="Three cells of the default search against four random ones. It holds if the 95 % "
                f"interval lies above zero and a permutation test gives p of at most {LEVEL:g}. It does "
                f"not if the interval lies below {MARGIN:g} points.",
                jobs=trainings(*DEFAULT, *RANDOM),
                judge=search_judges.better_than_random,
            ),
            Part(
                statement="Found cells are better than the published cell DARTS_V2",
                rule="The same three against that one cell, which its authors chose among several "
                "searches. It holds if the 95 % interval (Student's, over the three) lies above zero "
                f"and each of them is above it. It does not if the interval lies below {MARGIN:g} "
                "points. It says nothing about other cells that DARTS finds.",
                jobs=trainings(*DEFAULT, DARTS_V2),
                judge=search_judges.better_than_darts,
                remark="The interval takes the mean of DARTS_V2 for exact, though its three trainings "
                "leave it uncertain by about 0.1 points, so it is a little too narrow.",
            ),
        ],
    ),
    "f": SearchClaim(
        title="One run suffices",
        says="Not stated, but implied: one cell of “a single search” (Sec. 4.1) stands for the method "
        "in Tables 1 to 4, and no spread is given.",
        evidence="Searches that differ in their seed, and one of them also in its kernels; see (a).",
        parts=[
            Part(
                statement="True accuracies of four default searches of NAS-Bench-201 vary little",
                rule="The 95 % interval of their standard deviation (chi-squared) lies below "
                f"{SMALL_DEVIATION:g} points; it does not hold if it lies above. Four seeds give a wide "
                "interval.",
                jobs=runs("full", "default"),
                judge=search_judges.varies_little,
                remark="This is our default, near the best that the benchmark has. `--faithful` "
                "deviates by 0.84 points with two seeds, and on the DARTS space seeds find different "
                "cells.",
            )
        ],
    ),
}

HEAD = """# What the paper claims about its search, and what our searches show

Written by `experiments/write_results.py` from `results/*.jsonl`; a test compares. The runs are those of
[results.md](results.md). Claims that need no search are judged by `xnas reproduce`.

**Rules.** Those of (a) to (f) were set before these runs, when five epochs of three searches, short trainings of published
and random cells, and a pilot on NAS-Bench-201 by another program were known. (Only whether times compare was made stricter
later, which changed no verdict.) Those of (g) to (t) were set later, each before its runs; a remark says where a part was
added when runs were known. A part is judged when all runs that it names are done, by the last epoch and with the declared
seeds: no epoch, seed or cell is chosen by its accuracy. True accuracies are those of NAS-Bench-201 on the test set, in
percent after 200 epochs, of the cell without `none`. *Not decided* means that the runs neither show it nor rule it out,
which is likely with so few. A claim holds if all its parts do, and does not hold if one of them does not.

**Whose search.** `--faithful` is the paper's protocol as printed. The default is ours: its rate is matched to the rounds
played, and it trains with skip dropout and without AutoAugment. Spreads are means and standard deviations over runs, with
the least and the most.
"""  # noqa: E501 - lines of Markdown


ALL = CLAIMS | small_claims.CLAIMS | darts_claims.CLAIMS | full_claims.CLAIMS


def page(results: Results) -> str:
    """All claims, the verdicts first."""
    rows = [
        [f"({letter}) {claim.title}", part.statement, _verdict(part, results)]
        for letter, claim in ALL.items()
        for part in claim.parts
    ]
    summary = table(("claim", "part", "verdict"), rows)
    sections = [_section(letter, claim, results) for letter, claim in ALL.items()]
    return "\n".join([HEAD, summary, "", *sections])


def _verdict(part: Part, results: Results) -> str:
    verdict = part.outcome(results)[1]
    return f"**{verdict}**{', with a remark' if part.remark and verdict != NOTHING else ''}"


def _section(letter: str, claim: SearchClaim, results: Results) -> str:
    lines = [
        f"## ({letter}) {claim.title}: {claim.verdict(results)}",
        "",
        f"**The paper.** {claim.says}",
        "",
        f"**Evidence.** {claim.evidence}",
        "",
    ]
    for part in claim.parts:
        measured, verdict = part.outcome(results)
        lines += [
            f"### {part.statement}",
            "",
            f"- Rule: {part.rule}",
            f"- Measured: {measured}",
            f"- Verdict: **{verdict}**",
            *([f"- Remark: {part.remark}"] if part.remark and verdict != NOTHING else []),
            "",
        ]
    return "\n".join(lines)
