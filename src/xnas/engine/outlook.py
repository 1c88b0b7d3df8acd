"""What a search can expect, and what should worry it: wipeouts to come, skips taking over."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

from xnas.engine.search import Search
from xnas.methods import Game
from xnas.records import SearchEpoch
from xnas.theory import expected_wipeout

SKIPS_TAKE_OVER = 0.5
DECIDED_TOO_EARLY = 0.5
EARLY = 1 / 3


@dataclass(frozen=True, slots=True)
class Outlook:
    """Epochs in which experts are expected to go, if they keep falling behind as they did so far."""

    first: float
    median: float
    epochs: int
    relaxation: float
    warmup: int = 0
    """Epochs at the start in which no rewards are paid."""

    def line(self) -> str:
        """The forecast, and the setting to change."""
        line = (
            f"wipeouts: first expected in epoch {math.ceil(self.first)} of {self.epochs}, half of the "
            f"experts that lose by epoch {math.ceil(self.median)}"
        )
        share = (self.median - self.warmup) / (self.epochs - self.warmup)
        if share > 0.6:
            # 2ζ / (2ζ + g) = s has g/2 = ζ (1 - s) / s; the ζ' that gives one half is g/2 itself.
            wanted = self.relaxation * (1 - share) / share
            line += f"; --relaxation {wanted:.2g} would bring the second to half-time"
        return line


def earliest_epoch(epochs: int, relaxation: float) -> float:
    """Epoch before which no expert can go, whatever it earns: gaps grow by at most 2L a round."""
    share = expected_wipeout(torch.tensor(2.0), reward_bound=1.0, relaxation=relaxation).item()
    return epochs * share


def impossible(epochs: int, relaxation: float, *, wipeout: bool, warmup: int = 0) -> str | None:
    """A warning if no expert can leave the network before the end, or None.

    `epochs` counts those of the warm-up.
    """
    if not wipeout:
        return None
    earliest = warmup + earliest_epoch(epochs - warmup, relaxation)
    if math.ceil(earliest) >= epochs:
        return (
            f"no expert can be wiped out before the last of {epochs} epochs (not before epoch "
            f"{earliest:.1f} with relaxation {relaxation:g}): nothing is saved; use more --epochs or a "
            "lower --relaxation"
        )
    return None


def outlook(search: Search, game: Game) -> Outlook | None:
    """Forecast from the gaps so far: each expert's mean distance to its leader a round of its game.

    None if there is nothing to forecast: the first expert has gone, or none can go.
    """
    shares = []
    if not all(bool(search.method.alive(mixture).all()) for mixture in search.mixtures.values()):
        return None
    for kind, mixture in search.mixtures.items():
        if mixture.shape[1] < 2:
            continue
        sums = search.method.comparable_sums(mixture)
        rounds = max(1, search.learning_rounds) * (game.rounds(kind) / game.updates)
        gap = (sums.amax(-1, keepdim=True) - sums) / rounds
        behind = gap.sort(-1).values[:, 1:].flatten()
        shares.append(
            expected_wipeout(behind, reward_bound=game.reward_bound, relaxation=game.relaxation)
        )
    if not shares:
        return None
    share = torch.cat(shares)
    first, median = game.epochs * share.min().item(), game.epochs * share.median().item()
    warmup = search.settings.warmup_epochs
    return Outlook(warmup + first, warmup + median, search.settings.epochs, game.relaxation, warmup)


def worries(record: SearchEpoch, *, epochs: int, seen: set[str]) -> list[str]:
    """Warnings of this epoch that are not in `seen`, which they join: each is given once per run."""
    found = {}
    if record.skip_share.get("normal", 0.0) > SKIPS_TAKE_OVER:
        found["skips"] = (
            f"skip connections lead {100 * record.skip_share['normal']:.0f} % of the normal cell's "
            "edges: the search may be collapsing; a higher --skip-dropout is the guard against it"
        )
    lowest = min(record.entropy.values(), default=1.0)
    if lowest < DECIDED_TOO_EARLY and record.epoch <= EARLY * epochs:
        found["entropy"] = (
            f"entropy is down to {lowest:.2f} in epoch {record.epoch} of {epochs}, before the weights "
            "have learned much; a lower --experts-lr decides later"
        )
    new = {name: line for name, line in found.items() if name not in seen}
    seen |= set(new)
    return list(new.values())
