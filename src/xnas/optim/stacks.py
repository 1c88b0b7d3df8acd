"""Stacks of mixtures: those of one shape keep their accounts in one tensor, and play a round at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import torch
from torch import Tensor

from xnas.optim.accounts import (
    HISTOGRAM_EDGES,
    LOG_INITIAL,
    PRICES,
    SETTINGS,
    Accounts,
    living,
    open_accounts,
    standing,
)
from xnas.optim.requirements import Group, require_settings
from xnas.theory import mixture_of

State = MutableMapping[Tensor, dict[str, Tensor]]
"""The accounts of each mixture, as an optimizer keeps them: views of those of its stack."""


@dataclass(frozen=True, slots=True)
class Stack:
    """Mixtures of one shape and dtype, with their accounts in one tensor for all of them.

    Those that do not start uniform are a stack of their own, and so are those of a group that is added
    later: captured graphs hold the accounts.
    """

    groups: tuple[int, ...]
    """The group of each mixture, in rising order."""
    params: tuple[Tensor, ...]
    accounts: Accounts
    settings: dict[int, dict[str, Tensor]]
    """Those of the groups, by their numbers, on the device: what a captured step reads."""
    rows: Tensor
    """For each mixture the place of its group in `settings`."""
    edges: Tensor

    def part(self, chosen: slice) -> Stack:
        """The stack of neighbouring mixtures; accounts are views."""
        groups = self.groups[chosen]
        return replace(
            self,
            groups=groups,
            params=self.params[chosen],
            accounts={name: value[chosen] for name, value in self.accounts.items()},
            settings={number: self.settings[number] for number in groups},
            rows=self.rows[chosen] - self.rows[chosen.start],
        )

    def rewards(self) -> Tensor:
        """-∂ℓ/∂u of every mixture, as one round: (mixtures, 1, forecasters, experts)."""
        gradients = [p.grad for p in self.params if p.grad is not None]
        return -torch.stack(gradients).double()[:, None]

    def numbers(self) -> Tensor:
        """The four settings of every mixture as one tensor (mixtures, 4)."""
        each = [of_group[name].double() for of_group in self.settings.values() for name in SETTINGS]
        return torch.stack(each).view(-1, len(SETTINGS))[self.rows]

    def settings_of(self, index: int) -> dict[str, Tensor]:
        """Those of one mixture."""
        return self.settings[self.groups[index]]

    def adopt_settings(self, groups: Sequence[Group]) -> None:
        """Take over settings that were assigned to groups as plain numbers, or loaded."""
        for number, settings in self.settings.items():
            group = groups[number]
            if any(group[name] is not settings[name] for name in SETTINGS):
                for name, value in require_settings(group).items():
                    group[name] = settings[name].fill_(value)

    def open_prices(self, state: State) -> None:
        """Give every mixture prices of 0, if it has none; a graph captured before knows none."""
        if PRICES[0] in self.accounts:
            return
        forecasters, experts = self.params[0].shape
        device = self.params[0].device
        whole = open_accounts(len(self.params), forecasters, experts, device, priced=True)
        for name in PRICES:
            self.accounts[name] = whole[name]
            for index, p in enumerate(self.params):
                state[p][name] = whole[name][index]

    @torch.no_grad()
    def write_mixtures(self) -> None:
        """Put back the mixtures that the last round left, or those to start from."""
        for index, p in enumerate(self.params):
            accounts = {name: value[index] for name, value in self.accounts.items()}
            rate = accounts["settings"][0]
            if accounts["rounds"] > 0:
                p.copy_(mixture_of(standing(accounts, rate), living(accounts), learning_rate=rate))
            elif LOG_INITIAL in accounts:
                p.copy_(accounts[LOG_INITIAL].exp())


def build_stacks(groups: Mapping[int, Group], state: State) -> list[Stack]:
    """Stack the mixtures of groups, given by their numbers; `state` gets views of the accounts.

    What `state` has of a mixture already is kept. Settings become tensors on the device of the mixtures.
    """
    alike: dict[tuple[torch.Size, torch.dtype, bool], list[tuple[int, Tensor]]] = {}
    for number, group in groups.items():
        device = group["params"][0].device
        for name, value in require_settings(group).items():
            dtype = torch.int64 if isinstance(value, int) else torch.float64
            group[name] = torch.tensor(value, dtype=dtype, device=device)
        for p in group["params"]:
            uniform = LOG_INITIAL not in state.get(p, {})
            alike.setdefault((p.shape, p.dtype, uniform), []).append((number, p))
    stacks = []
    for (_, _, uniform), members in alike.items():
        numbers, params = zip(*members, strict=True)
        settings = {n: {name: groups[n][name] for name in SETTINGS} for n in numbers}
        device = params[0].device
        stacks.append(
            Stack(
                groups=numbers,
                params=params,
                accounts=_accounts(params, state, uniform=uniform),
                settings=settings,
                rows=torch.tensor([list(settings).index(n) for n in numbers], device=device),
                edges=torch.tensor(HISTOGRAM_EDGES, dtype=torch.float64, device=device),
            )
        )
    return stacks


def _accounts(params: Sequence[Tensor], state: State, *, uniform: bool) -> Accounts:
    """Accounts of mixtures of one shape, with what `state` has of them; it gets views."""
    priced = any(PRICES[0] in state.get(p, {}) for p in params)
    forecasters, experts = params[0].shape
    device = params[0].device
    accounts = open_accounts(len(params), forecasters, experts, device, uniform=uniform, priced=priced)
    for index, p in enumerate(params):
        views = {name: value[index] for name, value in accounts.items()}
        for name, value in state.get(p, {}).items():
            views[name].copy_(value)
        state[p] = views
    return accounts


def with_gradients(stacks: Sequence[Stack], groups: Sequence[Group]) -> Iterator[Stack]:
    """Stacks, or those parts of them that have gradients and play by one rule of wipeout."""
    for stack in stacks:
        rules = [
            None if p.grad is None else bool(groups[number]["wipeout"])
            for number, p in zip(stack.groups, stack.params, strict=True)
        ]
        begin = 0
        for rule, alike in groupby(rules):
            end = begin + len(list(alike))
            if rule is not None:
                whole = end - begin == len(rules)
                yield stack if whole else stack.part(slice(begin, end))
            begin = end
