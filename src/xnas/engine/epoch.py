"""Between two epochs: wiped experts leave the network, and the epoch is written down."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from xnas.engine.absence import charge_absences
from xnas.engine.looks import SearchLooks
from xnas.engine.search import Expert, Search
from xnas.errors import RoundError
from xnas.methods import EpochClosing, ledgers
from xnas.records import Deletion, EpochCost, Gap, SearchEpoch
from xnas.records.searching import Rows
from xnas.space.cell_genotype import NONE
from xnas.space.parent import IDENTITY
from xnas.theory import normalized_entropy


def end_epoch(
    search: Search, *, seconds: float = 0.0, memory_bytes: int = 0, gap: Gap | None = None
) -> SearchEpoch:
    """Close the epoch: check the numbers, delete wiped experts and return the record of the epoch.

    `seconds`, `memory_bytes` and `gap` go into the record as they are; leave out what was not measured.
    """
    if search.round_in_epoch == 0:
        raise RoundError("no round was played in this epoch; call begin_epoch and play_round first")
    search.method.check()
    search.agree()
    train, valid = search.tally.train.tolist(), search.tally.valid.tolist()
    _require_finite(search, train[0], valid[0])
    if search.balance is not None:
        search.balance.follow(train_loss=train[0] / train[2], valid_loss=valid[0] / valid[2])
    learning_rate, skip_dropout = search.learning_rate(), search.skip_dropout()
    rewards, by_stage = _rewards(search)
    warm = search.epoch >= search.settings.warmup_epochs
    if search.settings.absence_batches and warm:
        charge_absences(search)
    if warm and isinstance(search.method, EpochClosing):
        search.method.close_epoch(SearchLooks(search))
        search.method.check()
    deleted = delete_wiped(search)
    search.epoch, search.round_in_epoch = search.epoch + 1, 0
    _settle(search)
    strongest = {kind: _strongest(search, m) for kind, m in search.mixtures.items()}
    return SearchEpoch(
        epoch=search.epoch,
        rounds=search.rounds,
        learning_rate=learning_rate,
        skip_dropout=skip_dropout,
        train_loss=train[0] / train[2],
        train_accuracy=train[1] / train[2],
        valid_loss=valid[0] / valid[2],
        valid_accuracy=valid[1] / valid[2],
        entropy={k: normalized_entropy(m).item() for k, m in search.mixtures.items()},
        skip_share={k: _skip_share(search, names) if warm else 0.0 for k, names in strongest.items()},
        experts_alive={k: int(search.method.alive(m).sum()) for k, m in search.mixtures.items()},
        weights_alive=sum(p.numel() for p in search.weights),
        rewards=rewards,
        rewards_by_stage=by_stage,
        deleted=deleted,
        gap=gap,
        mixtures={kind: _rows(m) for kind, m in search.mixtures.items()},
        cost=EpochCost(
            seconds=seconds,
            seconds_per_round=seconds / search.settings.rounds_per_epoch,
            memory_bytes=memory_bytes,
        ),
    )


def delete_wiped(search: Search) -> tuple[Deletion, ...]:
    """Take experts that were wiped out from every cell and from the weights' optimizer."""
    gone = set(search.deleted)
    found: list[tuple[str, int, int]] = []
    for kind, mixture in search.mixtures.items():
        for forecaster, expert in (~search.method.alive(mixture)).nonzero().tolist():
            if (kind, forecaster, expert) not in gone:
                found.append((kind, forecaster, expert))
    remove_experts(search, found)
    names, rounds = operation_names(search), _wipeout_rounds(search) if found else {}
    return tuple(
        Deletion(
            kind=kind,
            forecaster=forecaster,
            expert=expert,
            operation=names[kind][expert],
            round_index=rounds.get((kind, forecaster, expert)),
        )
        for kind, forecaster, expert in found
    )


def remove_experts(search: Search, experts: Sequence[tuple[str, int, int]]) -> None:
    """Delete modules, given as (kind, forecaster, expert), with their weights and momenta."""
    fused = getattr(search.supernet, "fused", False)
    for kind, forecaster, expert in experts:
        search.supernet.wipe(kind, forecaster, [expert])  # type: ignore[operator]
        search.deleted.append((kind, forecaster, expert))
    if experts and fused:
        search.supernet.fuse()  # type: ignore[operator]  # packs those that are left
    left = {id(p) for p in search.supernet.parameters()}
    for p in search.weights:
        if id(p) not in left:
            search.weight_optimizer.state.pop(p, None)
    search.weights = [p for p in search.weights if id(p) in left]
    search.weight_optimizer.param_groups[0]["params"] = list(search.weights)


def operation_names(search: Search) -> dict[str, Sequence[str]]:
    """Names of the experts of each mixture: the space's operations, or numbers."""
    space = getattr(search.supernet, "space", None)
    return {
        kind: space.operations if space is not None else [str(i) for i in range(mixture.shape[1])]
        for kind, mixture in search.mixtures.items()
    }


def _wipeout_rounds(search: Search) -> dict[Expert, int]:
    """The rounds after which experts were gone, for methods that keep ledgers."""
    books = ledgers(search.method, search.mixtures)
    return {
        (kind, wiped.forecaster, wiped.expert): wiped.round_index
        for kind, book in books.items()
        for wiped in book.wipeouts
    }


def _rows(mixture: Tensor) -> Rows:
    """A mixture as plain numbers of six digits."""
    return tuple(tuple(float(f"{u:.6g}") for u in row) for row in mixture.tolist())


def _settle(search: Search) -> None:
    """Stop learning the architecture when every forecaster has one expert left."""
    if search.settled_at == 0 and all(
        bool((search.method.alive(m).sum(-1) == 1).all()) for m in search.mixtures.values()
    ):
        search.settled_at = search.rounds


def _strongest(search: Search, mixture: Tensor) -> list[int]:
    """The strongest living expert of each forecaster; `none`, which no cell keeps, only if alone."""
    alive = search.method.alive(mixture).clone()
    space = getattr(search.supernet, "space", None)
    if space is not None and NONE in space.operations:
        alive[:, space.operations.index(NONE)] &= alive.sum(-1) == 1
    strengths = search.method.strengths(mixture).masked_fill(~alive, -torch.inf)
    index: list[int] = strengths.argmax(-1).tolist()
    return index


def _skip_share(search: Search, strongest: Sequence[int]) -> float:
    space = getattr(search.supernet, "space", None)
    if space is None or IDENTITY not in space.operations:
        return 0.0
    return strongest.count(space.operations.index(IDENTITY)) / len(strongest)


def _rewards(
    search: Search,
) -> tuple[dict[str, dict[str, float]], dict[str, dict[str, dict[str, float]]]]:
    """Mean reward a round, by operation, over all cells together and by stage of the network.

    A search that has settled reveals none: there is nothing to report then.
    """
    rounds = int(search.tally.rounds)
    if rounds == 0:
        return {kind: {} for kind in search.mixtures}, {}
    names = operation_names(search)
    whole: dict[str, dict[str, float]] = {}
    staged: dict[str, dict[str, dict[str, float]]] = {}
    for kind, mixture in search.mixtures.items():
        alive = search.method.alive(mixture)
        total = search.tally.rewards[kind] / rounds
        whole[kind] = _by_operation(total.sum(0), alive, names[kind])
        if search.replicated is not None:
            places = torch.tensor(search.replicated.stages(kind), device=total.device)
            staged[kind] = {
                str(stage): _by_operation(total[places == stage].sum(0), alive, names[kind])
                for stage in sorted(set(places.tolist()))
            }
    return whole, staged


def _by_operation(rewards: Tensor, alive: Tensor, names: Sequence[str]) -> dict[str, float]:
    """Mean over the forecasters in which an operation lives; those that live nowhere are left out."""
    count = alive.sum(0)
    means = (rewards * alive).sum(0) / count
    return {
        name: mean
        for name, mean, number in zip(names, means.tolist(), count.tolist(), strict=True)
        if number
    }


def _require_finite(search: Search, train: float, valid: float) -> None:
    for name, value in (("training", train), ("validation", valid)):
        if not math.isfinite(value):
            raise RoundError(f"the {name} loss of epoch {search.epoch + 1} is {value}; {remedy(search)}")


def remedy(search: Search) -> str:
    """What to try when numbers of a search are no longer finite."""
    exact = " or use --precision fp32" if search.settings.autocast else ""
    rate = f"{search.settings.learning_rate:.3g}"
    return f"lower --weights-lr from {rate}{exact}, and look at the images and labels"
