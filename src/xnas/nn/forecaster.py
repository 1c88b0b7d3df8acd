"""The forecaster of one edge: experts, mixed (eq. 1).

`Forecaster` holds named experts, any modules whose outputs have the same shape. Its prediction is
p = Σ u_i f_i(x). The mixture u is a leaf of autograd, so backward leaves ∂ℓ/∂u_i = ∇_pℓ · f_i in its
gradient: the negative reward of expert i (Algorithm 1, line 8). A wiped expert has weight 0; `wipe` also
removes its module, and with it the computation.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from numbers import Integral
from reprlib import repr as brief

import torch
from torch import Tensor, nn

from xnas.errors import ConfigError


def uniform_mixture(forecasters: int, experts: int) -> nn.Parameter:
    """Return a mixture as Algorithm 1 starts it (line 2): a parameter (forecasters, experts) of 1/N.

    >>> uniform_mixture(1, 4)
    Parameter containing:
    tensor([[0.2500, 0.2500, 0.2500, 0.2500]], requires_grad=True)
    """
    counts: tuple[object, ...] = (forecasters, experts)
    if not all(isinstance(count, Integral) and int(count) >= 1 for count in counts):
        raise ConfigError(
            f"a mixture needs at least 1 forecaster and 1 expert, got {brief(forecasters)} and "
            f"{brief(experts)}; give whole numbers"
        )
    return nn.Parameter(torch.full((forecasters, experts), 1 / experts))


class Forecaster(nn.Module):
    """Named experts and, unless `own_mixture` is False, a mixture (1, experts) of their own.

    A network whose forecasters share mixtures owns them itself, builds its forecasters with
    `own_mixture=False` and hands each its row.

    >>> forecaster = Forecaster({"identity": nn.Identity(), "tanh": nn.Tanh()})
    >>> forecaster(torch.zeros(5, 3)).shape
    torch.Size([5, 3])
    >>> forecaster.wipe(["tanh"])
    >>> list(forecaster.experts)
    ['identity']
    """

    mixture_parameters = ("mixture",)

    def __init__(self, experts: Mapping[str, nn.Module], *, own_mixture: bool = True) -> None:
        super().__init__()
        if not experts:
            raise ConfigError("a forecaster needs at least one expert, got none")
        try:
            self.experts = nn.ModuleDict(experts)
        except (KeyError, TypeError) as error:
            raise ConfigError(f"an expert's name or module cannot be used: {error.args[0]}") from None
        self.names = tuple(experts)
        self.mixture = uniform_mixture(1, len(experts)) if own_mixture else None

    def forward(self, x: Tensor, mixture: Tensor | None = None) -> Tensor:
        """Return the prediction for `x` (batch, ...), of the shape that the experts give.

        `mixture` is (experts,), or (batch, experts) with one per sample; by default the forecaster's
        own. It always has a column for every expert the forecaster was built with, wiped or not, in the
        order of `names`.
        """
        u = self._own_mixture() if mixture is None else mixture
        if (
            u.dim() not in (1, 2)
            or u.shape[-1] != len(self.names)
            or u.shape[:-1] not in ((), (1,), x.shape[:1])
        ):
            raise ConfigError(
                f"a mixture for this forecaster is ({len(self.names)},) or (batch, {len(self.names)}), "
                f"got {tuple(u.shape)} for a batch of {len(x)}"
            )
        prediction: Tensor | None = None
        for index, name in self._counted(u):
            advice = self.experts[name](x)
            weighted = _column(u, index, advice) * advice
            if prediction is None:
                prediction = weighted
            elif prediction.shape != weighted.shape:
                raise ConfigError(
                    f"expert {name!r} returns shape {tuple(advice.shape)}, the experts before it "
                    f"{tuple(prediction.shape)}; experts of one forecaster must agree"
                )
            else:
                prediction = prediction + weighted
        assert prediction is not None  # noqa: S101 - wipe keeps one expert
        return prediction

    def wipe(self, names: Iterable[str]) -> None:
        """Delete experts with their gradients, usually those that `ExpertsOptimizer.alive` excludes.

        The mixture keeps their columns, whose weights are 0 by then; deleting a living expert takes its
        weight out of the prediction. To load the state of a forecaster that lost experts, wipe the same
        ones first.
        """
        doomed = [names] if isinstance(names, str) else list(names)
        for name in doomed:
            if name not in self.experts:
                known = ", ".join(self.experts)
                raise ConfigError(f"no living expert {name!r} to wipe out; there are: {known}")
        if len(set(doomed)) == len(self.experts):
            raise ConfigError(f"cannot wipe out all of {', '.join(self.experts)}: one expert must stay")
        for name in set(doomed):
            for parameter in self.experts[name].parameters():
                parameter.grad = None  # a stale one would still count when gradients are clipped
            del self.experts[name]

    def extra_repr(self) -> str:
        """Name the experts that are gone."""
        gone = [name for name in self.names if name not in self.experts]
        return f"wiped: {', '.join(gone)}" if gone else ""

    def _counted(self, mixture: Tensor) -> list[tuple[int, str]]:
        """Living experts, by column and name; evaluation on a CPU leaves out those without a weight."""
        living = [(i, name) for i, name in enumerate(self.names) if name in self.experts]
        if torch.is_grad_enabled() or mixture.device.type != "cpu":
            return living
        weighted = mixture.reshape(-1, len(self.names)).any(0).tolist()
        return [(i, name) for i, name in living if weighted[i]] or living[:1]

    def _own_mixture(self) -> Tensor:
        if self.mixture is None:
            raise ConfigError("this forecaster was built with own_mixture=False; pass forward a mixture")
        return self.mixture


def _column(mixture: Tensor, index: int, advice: Tensor) -> Tensor:
    """Weight of one expert, shaped to multiply its advice: one number, or one per sample."""
    weight = mixture[..., index].to(advice.dtype)  # as 16-bit advice stays 16-bit under autocast
    return weight if weight.dim() == 0 else weight.reshape(-1, *[1] * (advice.dim() - 1))
