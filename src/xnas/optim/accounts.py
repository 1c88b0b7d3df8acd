"""The accounts that `ExpertsOptimizer` keeps: the state of Algorithm 1, and a ledger.

Mixtures of one shape are kept as one stack, so that a round of a thousand mixtures is the same few
tensor operations as a round of one. Everything is a tensor on the mixtures' device, nothing is read by
the host while a round is played, and a round that cannot be played leaves the accounts as they were:
that is what a captured CUDA graph needs. Shapes below: m mixtures, f forecasters each, n experts each.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from xnas.records import Ledger, Wipeout
from xnas.theory import (
    clip_rewards,
    eg_update,
    log_wipeout_factor,
    mixture_of,
    regret_bound,
    surviving_experts,
)

Accounts = dict[str, Tensor]

SETTINGS = ("lr", "horizon", "reward_bound", "relaxation")
HISTOGRAM_EDGES = (-1.0, -0.3, -0.1, -0.03, -0.01, -0.003, 0.0, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
"""In units of the reward bound; fixed, so that ledgers of different runs can be added up."""
LOG_INITIAL = "log_initial"  # ln u_0; only in accounts of mixtures that do not start uniform
PRICES = ("prices", "charged")
"""What experts pay in a round, and by how much prices have lowered their sums."""
FAULTS = ("past the horizon", "not finite", "bad settings")


def open_accounts(
    mixtures: int,
    forecasters: int,
    experts: int,
    device: torch.device,
    *,
    uniform: bool = True,
    priced: bool = False,
) -> Accounts:
    """Accounts before the first round (Algorithm 1, line 2), stacked over mixtures.

    Those that do not start uniform keep the logarithm of the mixture that they start from. With
    `priced` they have prices, all 0, which are taken from rewards before these are clipped.
    """
    per_expert = (mixtures, forecasters, experts)

    def zeros(*shape: int, dtype: torch.dtype = torch.float64) -> Tensor:
        return torch.zeros(shape, dtype=dtype, device=device)

    start = {} if uniform else {LOG_INITIAL: zeros(*per_expert)}
    start |= {name: zeros(*per_expert) for name in (PRICES if priced else ())}
    return start | {
        "cumulative_rewards": zeros(*per_expert),  # S = ln v / η
        "wiped_at": zeros(*per_expert, dtype=torch.int32),  # 0 while alive
        "gap_when_wiped": zeros(*per_expert),  # to the leader of that round
        "gained": zeros(mixtures, forecasters),  # Σ u · R
        "log_wipeout_factor": zeros(mixtures, forecasters),  # ln γ
        "rounds": zeros(mixtures, dtype=torch.int64),  # t
        "settings": zeros(mixtures, len(SETTINGS)),  # of the last round
        "settings_changed": zeros(mixtures, dtype=torch.bool),
        "mixture_shared": zeros(mixtures, dtype=torch.bool),  # several rounds, one mixture
        "histogram": zeros(mixtures, len(HISTOGRAM_EDGES) + 1, dtype=torch.int64),
        "clipped": zeros(mixtures, dtype=torch.int64),
        "faults": zeros(mixtures, len(FAULTS), dtype=torch.int64),  # not yet raised
    }


def living(accounts: Accounts) -> Tensor:
    """I_t as a mask (..., forecasters, experts)."""
    return accounts["wiped_at"] == 0


def standing(accounts: Accounts, learning_rate: Tensor) -> Tensor:
    """Return ln v / η, (..., forecasters, experts): the sums, plus the head start ln u_0 / η if any.

    The weights v decide who is wiped out, and softmax(η · standing) is the mixture. `learning_rate`
    broadcasts against the sums.
    """
    sums = accounts["cumulative_rewards"]
    return sums + accounts[LOG_INITIAL] / learning_rate if LOG_INITIAL in accounts else sums


def find_faults(accounts: Accounts, rewards: Tensor, settings: Tensor) -> Tensor:
    """Which of `FAULTS` forbid this round, as a mask (m, faults).

    `settings` are (m, those of `SETTINGS`), `rewards` (m, rounds, f, n); those of wiped experts do not
    count, whatever they are.
    """
    alive = living(accounts)[:, None]
    learning_rate, horizon, bound, relaxation = settings.unbind(1)
    past = accounts["rounds"] + rewards.shape[1] > horizon
    not_finite = (alive & ~rewards.isfinite()).flatten(1).any(1)
    largest = learning_rate * bound * horizon  # of ln v
    fine = largest.isfinite() & (learning_rate >= 0) & (bound > 0) & (relaxation > 0) & (relaxation <= 1)
    if LOG_INITIAL in accounts:
        fine &= standing(accounts, learning_rate[:, None, None]).isfinite().flatten(1).all(1)
    return torch.stack([past, not_finite, ~fine], dim=1)


def play(
    accounts: Accounts,
    rewards: Tensor,
    settings: Tensor,
    *,
    edges: Tensor,
    valid: Tensor | None,
    wipeout: bool = True,
) -> Tensor:
    """Play one update of Algorithm 1 (lines 7-12) and enter it in the accounts.

    `rewards` (m, rounds, f, n) were earned with the present mixtures: one round as the paper has it, or
    several of finer accounting, which are clipped one by one and tested for wipeout together.
    `settings` are (m, those of `SETTINGS`), `edges` those of the histogram. Where `valid` (one
    boolean on the device, for a captured graph) is False nothing changes. Without `wipeout` lines 11-12
    are left out. Prices, if the accounts have any, are taken from the rewards first. Returns the new
    mixtures (m, f, n).
    """
    learning_rate, horizon, bound, relaxation = settings[..., None, None].unbind(1)  # (m, 1, 1) each
    limit = bound[:, None]
    alive = living(accounts)
    started = accounts["rounds"] > 0
    last_rate = torch.where(started[:, None], accounts["settings"][:, :1], settings[:, :1])[..., None]
    mixture = mixture_of(standing(accounts, last_rate), alive, learning_rate=last_rate)

    unpriced, prices = rewards, accounts.get("prices")
    if prices is not None:
        rewards = unpriced - prices[:, None]
    clipped = clip_rewards(rewards, reward_bound=limit)
    payment = torch.where(alive, clipped.sum(1), 0.0)
    rounds = accounts["rounds"] + rewards.shape[1]
    new_sums = eg_update(accounts["cumulative_rewards"], alive, payment)  # line 9
    compared = standing(accounts | {"cumulative_rewards": new_sums}, learning_rate)
    survivors = alive
    if wipeout:
        survivors = surviving_experts(  # lines 11-12
            compared,
            alive,
            reward_bound=bound,
            rounds_left=horizon - rounds[:, None, None],
            relaxation=relaxation,
        )

    wiped = alive & ~survivors
    leader = compared.masked_fill(~alive, -torch.inf).amax(-1, keepdim=True)
    moved = started & (accounts["settings"] != settings).any(1)
    log_factor = log_wipeout_factor(compared, alive, survivors, learning_rate=learning_rate)
    entries = {
        "cumulative_rewards": new_sums,
        "wiped_at": torch.where(wiped, rounds[:, None, None].int(), accounts["wiped_at"]),
        "gap_when_wiped": torch.where(wiped, leader - compared, accounts["gap_when_wiped"]),
        "gained": accounts["gained"] + (mixture * payment).sum(-1),
        "log_wipeout_factor": accounts["log_wipeout_factor"] + log_factor,
        "rounds": rounds,
        "settings": settings,
        "settings_changed": accounts["settings_changed"] | moved,
        "mixture_shared": accounts["mixture_shared"] | (rewards.shape[1] > 1),
        "histogram": accounts["histogram"] + _histogram(rewards / limit, alive, edges),
        "clipped": accounts["clipped"] + _count((rewards.abs() > limit) & alive[:, None]),
    }
    if prices is not None:
        lowered = (clip_rewards(unpriced, reward_bound=limit) - clipped).sum(1)
        entries["charged"] = accounts["charged"] + torch.where(alive, lowered, 0.0)
    for name, entry in entries.items():
        accounts[name].copy_(entry if valid is None else torch.where(valid, entry, accounts[name]))
    return mixture_of(compared, survivors, learning_rate=learning_rate)


def _count(mask: Tensor) -> Tensor:
    return mask.flatten(1).sum(1)


def _histogram(scaled: Tensor, alive: Tensor, edges: Tensor) -> Tensor:
    """Counts (m, bins) of rewards (m, rounds, f, n) in units of the bound, living experts only.

    Added up by hand, because library histograms read a size on the host.
    """
    mixtures, bins = scaled.shape[0], len(HISTOGRAM_EDGES) + 1
    row = torch.arange(0, mixtures * bins, bins, device=scaled.device)[:, None]
    index = torch.bucketize(scaled.flatten(1), edges) + row
    counted = alive[:, None].expand_as(scaled).long()
    counts = torch.zeros(mixtures * bins, dtype=torch.int64, device=scaled.device)
    return counts.scatter_add_(0, index.flatten(), counted.flatten()).view(mixtures, bins)


def read_ledger(accounts: Accounts, settings: Mapping[str, float]) -> Ledger:
    """Ledger of one mixture, from its slice of the accounts (no leading dimension)."""
    alive = living(accounts)
    forecasters, experts = alive.shape
    sums = accounts["cumulative_rewards"].masked_fill(~alive, -torch.inf)
    best = sums.amax(-1)
    rounds = int(accounts["rounds"])
    log_factor = accounts["log_wipeout_factor"]
    moved = accounts["settings"].tolist() != [settings[name] for name in SETTINGS]
    note, covered = _bound_note(accounts, settings["relaxation"], moved=moved)
    bound = None
    if covered:
        bound = regret_bound(
            experts,
            rounds,
            learning_rate=settings["lr"],
            reward_bound=settings["reward_bound"],
            log_wipeout_factor=log_factor,
            initial_weight=_weight_of_the_best(accounts, sums),
        )
    where = (accounts["wiped_at"] > 0).nonzero().tolist()
    wipeouts = (
        Wipeout(round_index=int(accounts["wiped_at"][i, j]), forecaster=i, expert=j) for i, j in where
    )
    counts = tuple(accounts["histogram"].tolist())
    return Ledger(
        forecasters=forecasters,
        experts=experts,
        rounds=rounds,
        horizon=int(settings["horizon"]),
        learning_rate=settings["lr"],
        reward_bound=settings["reward_bound"],
        relaxation=settings["relaxation"],
        regret=tuple((best - accounts["gained"]).tolist()),
        regret_bound=None if bound is None else tuple(bound.tolist()),
        bound_note=note,
        log_wipeout_factor=tuple(log_factor.tolist()),
        wipeouts=tuple(sorted(wipeouts, key=lambda w: (w.round_index, w.forecaster, w.expert))),
        living=int(alive.sum()),
        histogram_edges=HISTOGRAM_EDGES,
        histogram_counts=counts,
        clipped_share=int(accounts["clipped"]) / max(1, sum(counts)),
        charged=_rows(accounts["charged"]) if "charged" in accounts else None,
    )


def _rows(table: Tensor) -> tuple[tuple[float, ...], ...]:
    return tuple(map(tuple, table.tolist()))


def _weight_of_the_best(accounts: Accounts, sums: Tensor) -> Tensor | None:
    """u_0 of the best expert (forecasters), of several equally good ones the largest; None: uniform."""
    if LOG_INITIAL not in accounts:
        return None
    behind = sums < sums.amax(-1, keepdim=True)
    return accounts[LOG_INITIAL].masked_fill(behind, -torch.inf).amax(-1).exp()


def _bound_note(accounts: Accounts, relaxation: float, *, moved: bool) -> tuple[str, bool]:
    """What Theorem 1 covers here, and whether it gives a bound at all."""
    if not accounts["rounds"]:
        return "no round was played yet", False
    if moved or accounts["settings_changed"]:
        return (
            "no bound: settings changed during the run, and Theorem 1 holds for fixed ones",
            False,
        )
    if accounts["mixture_shared"]:
        return "no bound: several rounds shared one mixture, which Theorem 1 does not cover", False
    if relaxation < 1:
        return (
            f"the bound covers living experts only: with relaxation {relaxation:g} a wiped expert "
            "may have been the best"
        ), True
    if LOG_INITIAL in accounts:
        return (
            "the bound covers the best living expert, with ln(1/u_0) of its initial weight in place of "
            "ln N (Theorem 1); that of a wiped one has its own"
        ), True
    return "the bound covers all experts (Theorem 1)", True
