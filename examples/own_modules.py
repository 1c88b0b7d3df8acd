"""Use your own modules as experts: find the activation that fits a sine best.

One layer of a small regression network mixes four activations. The weights learn from the training half
of the data, and the mixture from the validation half. Activations that can no longer win are deleted
while the network trains.

    python examples/own_modules.py
"""

import torch
from torch import nn

from xnas import ExpertsOptimizer, Forecaster, split_parameters

ROUNDS = 400


class Sine(nn.Module):
    """sin(x)."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Apply the sine."""
        return x.sin()


def main() -> None:
    """Search for the activation, and print when each of the others was wiped out."""
    torch.manual_seed(0)
    activation = Forecaster(
        {"identity": nn.Identity(), "relu": nn.ReLU(), "tanh": nn.Tanh(), "sine": Sine()}
    )
    model = nn.Sequential(nn.Linear(1, 32), activation, nn.Linear(32, 1))
    x = (2 * torch.rand(512, 1) - 1) * torch.pi
    y = x.sin()
    weights, mixtures = split_parameters(model)
    descend = torch.optim.Adam(weights, lr=0.01)
    experts = ExpertsOptimizer(mixtures, horizon=ROUNDS, reward_bound=0.2, relaxation=0.3)
    for t in range(1, ROUNDS + 1):
        for optimizer, half in ((descend, slice(0, 256)), (experts, slice(256, 512))):
            model.zero_grad()
            nn.functional.mse_loss(model(x[half]), y[half]).backward()
            optimizer.step()
        alive = experts.alive(activation.mixture)[0].tolist()
        gone = {name for name, lives in zip(activation.names, alive, strict=True) if not lives}
        for name in gone & set(activation.experts):
            print(f"round {t}: {name} is wiped out")
            activation.wipe([name])
    ledger = experts.ledger(activation.mixture)
    print(f"the winner is {', '.join(activation.experts)}")
    print(f"regret {ledger.regret[0]:.2f}; {ledger.bound_note}")


if __name__ == "__main__":
    main()
