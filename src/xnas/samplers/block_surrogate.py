"""Surrogates of PNAS: what a cell is worth, predicted from its blocks (Liu et al., 2018, Sec. 4.2).

Cells of any number of blocks go through the same weights, so that a surrogate fitted to short cells can
rank longer ones. `MeanOfBlocks` averages over the blocks, `SequenceOfTokens` reads all tokens with an
LSTM. An ensemble of five, each fitted to four fifths of the data, gives the mean that ranks.

Shapes: a batch of cells is (batch, blocks, columns), one token per column of a block.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from xnas.samplers.seeded import seeded

EMBEDDING, HIDDEN = 100, 100
INITIAL_BIAS = 1.8
"""Of the last layer if accuracies are predicted: a sigmoid of 0.858, about their mean."""
MEMBERS = 5
BATCH = 32

Kind = Literal["mlp", "lstm"]


def _tables(sizes: Sequence[int]) -> nn.ModuleList:
    """Embeddings, one vector per token; columns of one vocabulary share their table."""
    return nn.ModuleList(nn.Embedding(size, EMBEDDING) for size in sizes)


class MeanOfBlocks(nn.Module):
    """Two layers of 100 on the mean over blocks of their tokens' embeddings; a share in (0, 1)."""

    def __init__(self, tables: Sequence[int], columns: Sequence[int]) -> None:
        super().__init__()
        self.columns = tuple(columns)
        self.tables = _tables(tables)
        self.first = nn.Linear(len(columns) * EMBEDDING, HIDDEN)
        self.second = nn.Linear(HIDDEN, HIDDEN)
        self.last = nn.Linear(HIDDEN, 1)

    def forward(self, cells: Tensor) -> Tensor:
        """(batch, blocks, columns) -> (batch,)."""
        # The first layer is linear, so it may map the few embeddings and not the many cells.
        hidden: Tensor = self.first.bias
        for at, weight in enumerate(self.first.weight.chunk(len(self.columns), 1)):
            embedding = self.tables[self.columns[at]].get_parameter("weight")
            vectors = embedding @ weight.T  # (tokens, HIDDEN)
            shares = functional.one_hot(cells[..., at], len(vectors)).to(vectors).mean(1)
            hidden = hidden + shares @ vectors
        logits: Tensor = self.last(self.second(hidden.relu()).relu())
        return logits.squeeze(1).sigmoid()


class SequenceOfTokens(nn.Module):
    """One LSTM layer of 100 over all tokens, block by block; a share in (0, 1)."""

    def __init__(self, tables: Sequence[int], columns: Sequence[int]) -> None:
        super().__init__()
        self.columns = tuple(columns)
        self.tables = _tables(tables)
        self.lstm = nn.LSTM(EMBEDDING, HIDDEN, batch_first=True)
        self.last = nn.Linear(HIDDEN, 1)

    def forward(self, cells: Tensor) -> Tensor:
        """(batch, blocks, columns) -> (batch,)."""
        embedded = [self.tables[table](cells[..., at]) for at, table in enumerate(self.columns)]
        outputs, _ = self.lstm(torch.stack(embedded, -2).flatten(1, 2))
        logits: Tensor = self.last(outputs[:, -1])
        return logits.squeeze(1).sigmoid()


SURROGATES: dict[Kind, Callable[[Sequence[int], Sequence[int]], MeanOfBlocks | SequenceOfTokens]] = {
    "mlp": MeanOfBlocks,
    "lstm": SequenceOfTokens,
}


class BlockEnsemble:
    """Several surrogates of one kind, each fitted to its own part of the data."""

    def __init__(
        self,
        kind: Kind,
        tables: Sequence[int],
        columns: Sequence[int],
        *,
        members: int,
        bias: float,
        seed: int,
    ) -> None:
        """`seed` draws the weights, but for the bias of the last layer; a fit has a seed of its own."""
        generator = torch.Generator().manual_seed(seed)
        self.members = [
            seeded(lambda: SURROGATES[kind](tables, columns), generator, bound=1 / math.sqrt(HIDDEN))
            for _ in range(members)
        ]
        with torch.no_grad():
            for member in self.members:
                member.last.bias.fill_(bias)

    def fit(self, cells: Tensor, values: Tensor, *, learning_rate: float, steps: int, seed: int) -> None:
        """Go on from the present weights to cells (batch, blocks, columns) with values (batch,).

        The loss is the mean absolute error. Every member leaves out a part of its own, of one cell in as
        many as there are members.
        """
        generator = torch.Generator().manual_seed(seed)
        parts = torch.randperm(len(cells), generator=generator).tensor_split(len(self.members))
        for number, member in enumerate(self.members):
            others = [part for at, part in enumerate(parts) if at != number]
            own = torch.cat(others) if others else parts[number]
            if len(own):
                _fit(member, cells[own], values[own], (learning_rate, steps), generator)

    @torch.no_grad()
    def predict(self, cells: Tensor) -> Tensor:
        """What every member predicts: (batch, blocks, columns) -> (members, batch)."""
        return torch.stack([member(cells) for member in self.members])


def _fit(
    member: nn.Module,
    cells: Tensor,
    values: Tensor,
    schedule: tuple[float, int],
    generator: torch.Generator,
) -> None:
    learning_rate, steps = schedule
    adam = torch.optim.Adam(member.parameters(), lr=learning_rate, fused=True)
    orders: list[Tensor] = []
    for _ in range(steps):
        if not orders:
            orders = list(torch.split(torch.randperm(len(cells), generator=generator), BATCH))
        chosen = orders.pop()
        adam.zero_grad()
        (member(cells[chosen]) - values[chosen]).abs().mean().backward()
        adam.step()
