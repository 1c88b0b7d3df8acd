"""`ExpertsOptimizer`: Algorithm 1 as a `torch.optim.Optimizer`.

A parameter is a mixture u, a leaf (forecasters, experts) on the simplex. Its gradient is the negative
reward, R = -∂ℓ/∂u (line 8), because u itself is differentiated and no softmax is in between. So

    loss.backward()
    optimizer.step()

plays one round: rewards are clipped and added up, experts that can no longer win are wiped out, and
the parameter becomes softmax(η S) over those that are left. The mathematics is in `xnas.theory`; this
file moves tensors in and out of it, and `xnas.optim.accounts` keeps the books.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from reprlib import repr as brief
from typing import Any, overload

import torch
from torch import Tensor
from torch.optim import Optimizer

from xnas.errors import ConfigError, RoundError
from xnas.optim.accounts import (
    FAULTS,
    LOG_INITIAL,
    PRICES,
    SETTINGS,
    Accounts,
    find_faults,
    living,
    play,
    read_ledger,
    standing,
)
from xnas.optim.requirements import (
    Group,
    explain_fault,
    require_mixtures,
    require_same_shapes,
    require_saved,
    require_starts,
)
from xnas.optim.stacks import Stack, build_stacks, with_gradients
from xnas.records import Ledger
from xnas.theory import comparable_sums, log_wipeout_factor, mixture_of, strengths_of


class ExpertsOptimizer(Optimizer):
    """Mixtures learned by exponentiated gradients, with wipeout (Algorithm 1).

    `params` are mixtures: leaf tensors (forecasters, experts) that start uniform. `horizon` is the
    number of rounds that will be played (T); `lr=None` takes η* for it. `reward_bound` (L) clips
    rewards; `relaxation` (ζ) below 1 wipes experts out earlier, without Lemma 1's protection;
    `wipeout=False` keeps all experts to the end (plain exponentiated gradients).

    `initial`, (experts) or (forecasters, experts), is a mixture u_0 to start from; it is written into
    the parameters. It adds ln u_0 / η to the sums that wipeout compares: a low start is a handicap, and
    a large one at a low rate. The regret bound has ln(1/u_0) of the best expert in place of ln N.

    Departure: the paper's rate is fixed. If `lr` changes, the mixture is softmax(lr · S) with the new
    one, so a lower rate flattens what was learned; wipeouts, which compare sums, do not notice.

    The four numbers may differ between parameter groups, where they are kept as tensors on the mixtures'
    device: a learning-rate scheduler then reaches even a step that was captured in a CUDA graph. In a
    graph nothing can be raised; a round that cannot be played is skipped there and reported by `check`.

    >>> from xnas import uniform_mixture
    >>> mixture = uniform_mixture(forecasters=1, experts=3)
    >>> optimizer = ExpertsOptimizer([mixture], horizon=10, lr=1.0)
    >>> loss = (mixture * torch.tensor([0.0, 0.5, 1.0])).sum()  # the first expert loses least
    >>> loss.backward()
    >>> optimizer.step()
    >>> mixture.detach()
    tensor([[0.5065, 0.3072, 0.1863]])
    """

    def __init__(
        self,
        params: Iterable[Tensor] | Iterable[Group] | Iterable[tuple[str, Tensor]],
        *,
        horizon: int,
        lr: float | None = None,
        reward_bound: float = 1.0,
        relaxation: float = 1.0,
        wipeout: bool = True,
        initial: Tensor | Sequence[float] | None = None,
    ) -> None:
        listed: list[Any] = [params] if isinstance(params, Tensor) else list(params)
        if not listed:
            raise ConfigError(
                "no mixtures to optimize: the list is empty; split_parameters(model) finds those that "
                "modules name in `mixture_parameters`"
            )
        self._built: list[Stack] = []
        self._initial = initial
        settings = {"lr": lr, "horizon": horizon, "reward_bound": reward_bound}
        super().__init__(listed, {**settings, "relaxation": relaxation, "wipeout": wipeout})
        self._built = build_stacks(self._groups(), self.state)  # mixtures of different groups together

    @overload
    def step(self, closure: None = None) -> None: ...

    @overload
    def step(self, closure: Callable[[], float]) -> float: ...

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:
        """Play one round with the rewards -p.grad of every mixture p that has a gradient."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        self._play(
            [(stack, stack.rewards()) for stack in with_gradients(self._stacks(), self.param_groups)]
        )
        return loss

    @torch.no_grad()
    def observe(self, mixture: Tensor, rewards: Tensor) -> None:
        """Play one update with `rewards` (rounds, forecasters, experts), for finer accounting.

        `mixture` is one of the parameters, (forecasters, experts).
        Several rounds (say, one per sample) share the present mixture: each is clipped, all are added,
        wipeout is tested once. `step` is `observe(p, -p.grad[None])` for each mixture p.
        """
        stack = self._stack_of(mixture)
        if not isinstance(rewards, Tensor):
            raise ConfigError(f"rewards must be a tensor, got {type(rewards).__name__}")
        if rewards.dim() != 3 or rewards.shape[1:] != mixture.shape or len(rewards) == 0:
            raise ConfigError(
                f"rewards must be (rounds, {mixture.shape[0]}, {mixture.shape[1]}) for this mixture, "
                f"with at least one round, got {tuple(rewards.shape)}"
            )
        if rewards.device != mixture.device:
            raise ConfigError(
                f"rewards are on {rewards.device}, the mixture on {mixture.device}; move the rewards"
            )
        self._play([(stack, rewards.detach().double()[None])])

    @torch.no_grad()
    def charge(self, mixture: Tensor, prices: Tensor) -> None:
        """Take `prices` (forecasters, experts) from the rewards of every round from now on.

        They are taken before rewards are clipped, so that Theorem 1 and Lemma 1 hold for what is left,
        and `ledger` says by how much they have lowered each sum. They may change between rounds.

        >>> from xnas import uniform_mixture
        >>> mixture = uniform_mixture(forecasters=1, experts=2)
        >>> optimizer = ExpertsOptimizer([mixture], horizon=10, lr=1.0)
        >>> optimizer.charge(mixture, torch.tensor([[0.75, 0.0]]))
        >>> optimizer.observe(mixture, torch.tensor([[[0.5, 0.0]]]))
        >>> optimizer.cumulative_rewards(mixture), optimizer.ledger(mixture).charged
        (tensor([[-0.2500,  0.0000]], dtype=torch.float64), ((0.75, 0.0),))
        """
        if prices.shape != mixture.shape or not bool(prices.isfinite().all()):
            raise ConfigError(
                f"prices must be finite numbers of shape {tuple(mixture.shape)}, as the mixture has, "
                f"got shape {tuple(prices.shape)}"
            )
        for stack in self._stacks():
            stack.open_prices(self.state)
        self._accounts_of(mixture)["prices"].copy_(prices)

    def alive(self, mixture: Tensor) -> Tensor:
        """Mask (forecasters, experts) of the experts that were not wiped out."""
        return living(self._accounts_of(mixture))

    def strengths(self, mixture: Tensor) -> Tensor:
        """Mixture over all experts (forecasters, experts), wiped ones included, in float64.

        A wiped expert keeps the gap to the leader that it had when it was wiped.
        """
        accounts, rate = self._accounts_of(mixture), self._rate_of(mixture)
        return strengths_of(
            standing(accounts, rate), accounts["gap_when_wiped"], living(accounts), learning_rate=rate
        )

    def cumulative_rewards(self, mixture: Tensor) -> Tensor:
        """Each expert's sum of clipped rewards (forecasters, experts), frozen when it was wiped."""
        return self._accounts_of(mixture)["cumulative_rewards"].clone()

    def comparable_sums(self, mixture: Tensor) -> Tensor:
        """Sums (forecasters, experts) with wiped experts at the gap that `strengths` gives them.

        With `initial` they include the head start ln u_0 / η.
        """
        accounts = self._accounts_of(mixture)
        sums = standing(accounts, self._rate_of(mixture))
        return comparable_sums(sums, accounts["gap_when_wiped"], living(accounts))

    def ledger(self, mixture: Tensor) -> Ledger:
        """Return the accounts of one mixture (forecasters, experts) so far. Reads the device."""
        stack = self._stack_of(mixture)
        settings = dict(zip(SETTINGS, stack.numbers()[0].tolist(), strict=True))
        return read_ledger({name: value[0] for name, value in stack.accounts.items()}, settings)

    @torch.no_grad()
    def wipe(self, mixture: Tensor, experts: Tensor) -> None:
        """Wipe out the experts of a mask (forecasters, experts) without playing a round.

        The ledger lists them under the last round played, or under the first if none was. Every
        forecaster must keep an expert.
        """
        accounts, rate = self._accounts_of(mixture), self._rate_of(mixture)
        alive = living(accounts)
        survivors = alive & ~experts
        if not bool(survivors.any(-1).all()):
            raise ConfigError("the mask has every expert of a forecaster; each must keep one")
        wiped, sums = alive & experts, standing(accounts, rate)
        leader = sums.masked_fill(~survivors, -torch.inf).amax(-1, keepdim=True)
        round_index = accounts["rounds"].clamp(min=1).int()
        accounts["log_wipeout_factor"] += log_wipeout_factor(sums, alive, survivors, learning_rate=rate)
        accounts["gap_when_wiped"].copy_(torch.where(wiped, leader - sums, accounts["gap_when_wiped"]))
        accounts["wiped_at"].copy_(torch.where(wiped, round_index, accounts["wiped_at"]))
        mixture.copy_(mixture_of(sums, survivors, learning_rate=rate))

    def check(self) -> None:
        """Raise what captured steps could not: rounds refused since the last check. Reads the device."""
        faults = []
        for stack in self._stacks():
            counts = stack.accounts["faults"]
            for row, column in counts.nonzero().tolist():
                number, times = self._number(stack.params[row]), int(counts[row, column])
                reason = explain_fault(FAULTS[column], stack.settings_of(row))
                faults.append((number, f"mixture {number} refused {times} captured round(s): {reason}"))
            counts.zero_()
        if faults:
            raise RoundError("; ".join(line for _, line in sorted(faults)))

    def add_param_group(self, param_group: Group) -> None:
        """Add mixtures, with settings of their own; on an error nothing is added."""
        stacks, initial = self._stacks(), self._initial
        if "initial" in param_group:
            param_group = dict(param_group)
            initial = param_group.pop("initial")
        super().add_param_group(param_group)
        first, last = self.param_groups[0], self.param_groups[-1]
        starts: dict[Tensor, Tensor] = {}
        try:
            require_mixtures(last["params"], first=first["params"])
            starts = require_starts(last["params"], initial)
            for mixture, start in starts.items():
                self.state[mixture] = {LOG_INITIAL: start.log()}
            stacks += build_stacks({len(self.param_groups) - 1: last}, self.state)
        except ConfigError:
            self.param_groups.pop()
            for mixture in starts:
                self.state.pop(mixture, None)
            raise
        with torch.no_grad():
            for mixture, start in starts.items():
                mixture.copy_(start)

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load accounts and settings bit for bit, into the tensors that a captured graph reads.

        The base class casts state to the parameter's dtype, which would round the float64 sums. Mixtures
        follow from the accounts, so they are written too.
        """
        require_saved(state_dict)
        if any(PRICES[0] in entry for entry in state_dict["state"].values()):
            for stack in self._stacks():
                stack.open_prices(self.state)
        stacks, state = self._stacks(), dict(self.state)
        mixtures = [p for group in self.param_groups for p in group["params"]]
        exact: dict[str, Any] = {}

        def note(_: Optimizer, saved: dict[str, Any]) -> None:
            require_same_shapes(saved, [state[p] for p in mixtures])
            exact.update(saved)

        def restore(_: Optimizer) -> None:
            keys = chain.from_iterable(group["params"] for group in exact["param_groups"])
            for mixture, key in zip(mixtures, keys, strict=True):
                for name, value in state[mixture].items():
                    value.copy_(exact["state"][key][name])
                self.state[mixture] = state[mixture]
            self._built = stacks
            for stack in stacks:
                stack.adopt_settings(self.param_groups)
                stack.write_mixtures()

        hooks = (  # the last before loading, the first after it
            self.register_load_state_dict_pre_hook(note),
            self.register_load_state_dict_post_hook(restore, prepend=True),
        )
        try:
            super().load_state_dict(state_dict)
        finally:
            for hook in hooks:
                hook.remove()

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Forget the stacks of an optimizer that is copied, unpickled or loaded."""
        super().__setstate__(state)
        self._built = []
        self.__dict__.setdefault("_initial", None)

    def _play(self, rounds: list[tuple[Stack, Tensor]]) -> None:
        """Play one round on several stacks: on all of them or, if one is at fault, on none."""
        capturing = any(_is_capturing(stack) for stack, _ in rounds)
        if not capturing:
            for stack, _ in rounds:
                stack.adopt_settings(self.param_groups)
        settings = [stack.numbers() for stack, _ in rounds]
        faults = [
            find_faults(stack.accounts, given, numbers)
            for (stack, given), numbers in zip(rounds, settings, strict=True)
        ]
        valid = None
        if capturing:
            valid = ~torch.cat(faults).any()
            for (stack, _), fault in zip(rounds, faults, strict=True):
                stack.accounts["faults"].add_(fault)
        elif rounds and torch.cat(faults).any():
            raise self._first_fault(rounds, faults)
        for (stack, given), numbers in zip(rounds, settings, strict=True):
            mixtures = play(
                stack.accounts,
                given,
                numbers,
                edges=stack.edges,
                valid=valid,
                wipeout=self.param_groups[stack.groups[0]]["wipeout"],
            )
            mixtures = mixtures.to(stack.params[0].dtype)
            if valid is not None:
                mixtures = torch.where(valid, mixtures, torch.stack(stack.params))
            torch._foreach_copy_(list(stack.params), list(mixtures.unbind()))

    def _first_fault(self, rounds: list[tuple[Stack, Tensor]], faults: list[Tensor]) -> RoundError:
        number, column, stack, row, given = min(
            (
                (self._number(stack.params[row]), column, stack, row, given)
                for (stack, given), fault in zip(rounds, faults, strict=True)
                for row, column in fault.nonzero().tolist()
            ),
            key=lambda found: found[:2],
        )
        rewards = given[row].masked_fill(~living(stack.accounts)[row], 0.0)
        reason = explain_fault(FAULTS[column], stack.settings_of(row), rewards)
        return RoundError(f"mixture {number} refused this round: {reason}")

    def _stacks(self) -> list[Stack]:
        if not self._built:
            self._built = build_stacks(self._groups(), self.state)
        return self._built

    def _groups(self) -> dict[int, Group]:
        return dict(enumerate(self.param_groups))

    def _stack_of(self, mixture: Tensor) -> Stack:
        for stack in self._stacks():
            for index, param in enumerate(stack.params):
                if param is mixture:
                    return stack.part(slice(index, index + 1))
        shape = getattr(mixture, "shape", None)
        given = brief(mixture) if shape is None else f"a tensor of shape {tuple(shape)}"
        raise ConfigError(
            f"not a mixture of this optimizer: {given}; pass the parameter itself, not a copy or a row "
            "of it"
        )

    def _accounts_of(self, mixture: Tensor) -> Accounts:
        return {name: value[0] for name, value in self._stack_of(mixture).accounts.items()}

    def _rate_of(self, mixture: Tensor) -> Tensor:
        """η of the last round, or of the coming one before the first."""
        stack = self._stack_of(mixture)
        played = stack.accounts["rounds"][0] > 0
        return torch.where(played, stack.accounts["settings"][0, 0], stack.settings_of(0)["lr"])

    def _number(self, mixture: Tensor) -> int:
        every = chain.from_iterable(group["params"] for group in self.param_groups)
        return next(i for i, p in enumerate(every) if p is mixture)


def _is_capturing(stack: Stack) -> bool:
    return stack.params[0].is_cuda and torch.cuda.is_current_stream_capturing()
