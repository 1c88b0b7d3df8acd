"""How far a search is from the paper's: every setting that differs, whatever changed it.

The paper's search is `faithful()`, with all that it leaves open decided as for CIFAR-10. Settings are
compared as they were resolved, so that defaults of a CPU, of small images, of a space or of a method
count as much as what a user typed.
"""

from __future__ import annotations

from dataclasses import fields
from functools import cache

import torch

from xnas.data import Images
from xnas.data.policies import ORIGINAL_SUFFIX
from xnas.options import flag_name
from xnas.runs.search_config import SearchConfig, faithful, parse_skip_dropout
from xnas.runs.search_plan import SearchPlan, resolve

PAPERS_DATA = "cifar10"
PAPERS_HALF = 25_000

OUTSIDE: dict[str, str] = {
    "quiet": "only prints",
    "out": "only writes",
    "report": "only writes",
    "checkpoint_minutes": "only writes",
    "gap_every": "only measures",
    "truth": "only measures",
    "latency_device": "only measures, for a limit that is named",
    "latency_batch": "only measures, for a limit that is named",
    "seed": "the paper has none",
    "device": "computes the same",
    "data_dir": "a place of files",
    "stream": "the same images",
    "skip_bad_images": "concerns other data",
    "use_val": "concerns other data",
    "fold": "concerns other data",
    "accounting": "both are readings of the paper (docs/errata.md, b)",
}
"""Settings in which no value departs from the paper, with the reason."""


def departures(plan: SearchPlan, images: Images) -> list[str]:
    """The settings in which a search differs from the paper's, as a user would type them."""
    own, papers = plan.config, papers_settings()
    found = [] if images.name == PAPERS_DATA else [f"data {images.name}"]
    for declared in fields(SearchConfig):
        name = declared.name
        value = getattr(own, name)
        if name not in OUTSIDE and _plain(name, value) != _plain(name, getattr(papers, name)):
            found.append(_as_set(flag_name(name).removeprefix("--"), value))
    return found


@cache
def papers_settings() -> SearchConfig:
    """The paper's search with a value for every setting."""
    return resolve(faithful(), examples=PAPERS_HALF, device=torch.device("cpu")).config


def _plain(name: str, value: object) -> object:
    """A value as it compares: `0` and `0.0:0` are the same dropout.

    A policy counts with either scale of magnitudes: the paper does not say which it has (docs/errata.md,
    h).
    """
    if name == "auto_augment_policy":
        return str(value).removesuffix(ORIGINAL_SUFFIX)
    return parse_skip_dropout(str(value)) if name == "skip_dropout" else value


def _as_set(name: str, value: object) -> str:
    """A setting as its flag reads: a name with its value, or a switch alone."""
    if isinstance(value, bool):
        return name if value else f"no-{name}"
    if value is None:
        return f"{name} that changes"  # with the stages of a method
    return f"{name} {value:g}" if isinstance(value, float) else f"{name} {value}"
