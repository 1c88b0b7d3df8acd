"""What a checkpoint holds of a search, and how a search is restored from it.

Deleted experts are listed: a new search has all experts of its stage, deletes the same ones again, and
then takes over the weights and momenta of those that are left.
"""

from __future__ import annotations

from typing import Any

from xnas.engine.epoch import remedy, remove_experts
from xnas.engine.restore import (
    fitting,
    require_device,
    require_format,
    require_position,
    require_rounds,
    take_over,
    take_over_momenta,
)
from xnas.engine.search import Search
from xnas.errors import RoundError

SEARCH_FORMAT = ("xnas-search-checkpoint", (3, 2))
"""Version 2 knew no stages."""


def search_state(search: Search) -> dict[str, Any]:
    """Everything that changes in a search: tensors and plain values."""
    name, (version, *_) = SEARCH_FORMAT
    state = {
        "format": name,
        "version": version,
        "stage": search.settings.stage,
        "gone": [list(d) for d in search.gone],
        "deleted": [list(d) for d in search.deleted],
        "supernet": search.supernet.state_dict(),
        "method": search.method.state_dict(),
        "weight_optimizer": search.weight_optimizer.state_dict(),
        "train": search.train.state_dict(),
        "valid": search.valid.state_dict(),
        "dropout": search.dropout.get_state(),
        "tally": search.tally.state_dict(),
        "epoch": search.epoch,
        "round_in_epoch": search.round_in_epoch,
        "settled_at": search.settled_at,
    }
    if search.balance is not None:
        state["balance"] = search.balance.state_dict()
    if search.settings.absence_batches:
        state["edge_costs"] = dict(search.edge_costs)
    return state


def restore_search(search: Search, state: dict[str, Any]) -> None:
    """Bring a search that was just built for its stage to a saved state; raises if it does not fit."""
    require_format(state, SEARCH_FORMAT, "search")
    epochs, rounds = search.settings.epochs, search.settings.rounds_per_epoch
    with fitting("search"):
        require_position(state, epoch=epochs, round_in_epoch=rounds, settled_at=epochs * rounds)
        require_device(state["dropout"], search.device)
        if state.get("stage", 0) != search.settings.stage:
            raise ValueError(f"it is of stage {state['stage']}, not {search.settings.stage}")
        _delete_again(search, state)
        search.supernet.load_state_dict(state["supernet"])
        search.method.load_state_dict(state["method"])
        take_over_momenta(search.weight_optimizer, state["weight_optimizer"])
        search.weights = list(search.weight_optimizer.param_groups[0]["params"])
        require_rounds(state["train"], rounds)
        require_rounds(state["valid"], rounds)
        search.train.load_state_dict(state["train"])
        search.valid.load_state_dict(state["valid"])
        search.dropout.set_state(state["dropout"].cpu())
        search.tally.load_state_dict(state["tally"])
        if search.balance is not None:
            search.balance.load_state_dict(state["balance"])
        if search.settings.absence_batches:
            take_over(search.edge_costs, state["edge_costs"])
        search.epoch, search.round_in_epoch = state["epoch"], state["round_in_epoch"]
        search.settled_at = state["settled_at"]
        search.set_rates()
        search.supernet.train()


def restore_supernet(search: Search, state: dict[str, Any]) -> None:
    """Give the supernet the weights of a saved state, and nothing else; any device can take them."""
    require_format(state, SEARCH_FORMAT, "search")
    with fitting("search"):
        require_position(state, epoch=search.settings.epochs)
        _delete_again(search, state)
        search.supernet.load_state_dict(state["supernet"])
        search.epoch = state["epoch"]
        search.supernet.train()


def _delete_again(search: Search, state: dict[str, Any]) -> None:
    """Delete the experts of a saved state; those without which its stage began are gone already."""
    there = set(search.deleted)
    deleted = [(kind, f, e) for kind, f, e in state["deleted"]]
    remove_experts(search, [expert for expert in deleted if expert not in there])


def require_sound(search: Search) -> None:
    """Raise if numbers of a search are not finite in the middle of an epoch, before it is saved."""
    search.method.check()
    parts = [*search.supernet.state_dict().values(), search.tally.train, search.tally.valid]
    if not all(bool(t.isfinite().all()) for t in parts if t.is_floating_point()):
        raise RoundError(
            f"losses or weights are no longer finite numbers in epoch {search.epoch + 1}, round "
            f"{search.rounds}; {remedy(search)}"
        )
