"""NAO's model: from cells to codes, which predict what a cell is worth, and back (Luo et al., 2018).

The encoder is an LSTM over the numbers of an encoded cell. Its outputs h are normalised to length 1, and
their mean, normalised again, is the code e. The predictor maps e to a value in (0, 1). The decoder is an
LSTM that starts at (e, e) and attends to h. A step along the gradient of the predicted value by h gives
the code of a better cell, which the decoder writes out.

At each step the decoder chooses among the values of one position alone, so that all it writes is legal.

Shapes: cells are (batch, positions), outputs h (batch, positions, hidden), codes e (batch, hidden).

Departure: every number of an encoded cell is a step of the LSTMs. The original joins the tokens of one
input, such as node and operation, to one step; encodings of other spaces have no such pairs.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from xnas.space.encoding import Encoding

EMBEDDING, HIDDEN = 32, 96


class LatentModel(nn.Module):
    """Encoder, predictor and decoder for cells whose position p may hold the tokens `tokens[p]`."""

    def __init__(
        self, tokens: Sequence[Sequence[int]], *, embedding: int = EMBEDDING, hidden: int = HIDDEN
    ) -> None:
        super().__init__()
        self.tokens = [torch.tensor(own) for own in tokens]
        size = 1 + max(max(own) for own in tokens)
        self.embedded = nn.Embedding(size, embedding)
        self.encoder = nn.LSTM(embedding, hidden, batch_first=True)
        self.predictor = nn.Linear(hidden, 1)
        self.before = nn.Embedding(size + 1, hidden)  # the last row starts a cell
        self.decoder = nn.LSTM(hidden, hidden, batch_first=True)
        self.attended = nn.Linear(2 * hidden, hidden)
        self.logits = nn.Linear(hidden, size)

    def outputs(self, cells: Tensor, *, keep: Tensor | None = None) -> Tensor:
        """Normalised outputs of the encoder: (batch, positions) -> (batch, positions, hidden).

        `keep` multiplies the embeddings: dropout whose mask the caller has drawn.
        """
        embedded = self.embedded(self._as_tokens(cells))
        outputs, _ = self.encoder(embedded if keep is None else embedded * keep)
        return functional.normalize(outputs, dim=-1)

    @staticmethod
    def code(outputs: Tensor) -> Tensor:
        """The point on the sphere: (batch, positions, hidden) -> (batch, hidden)."""
        return functional.normalize(outputs.mean(1), dim=-1)

    def predicted(self, outputs: Tensor) -> Tensor:
        """What cells are worth, from 0 to 1: (batch, positions, hidden) -> (batch,)."""
        logits: Tensor = self.predictor(self.code(outputs))
        return logits.squeeze(-1).sigmoid()

    def log_likelihood(self, outputs: Tensor, cells: Tensor) -> Tensor:
        """Mean over positions of the decoder's log-probability of these cells; shapes give (batch,)."""
        tokens = self._as_tokens(cells)
        start = torch.full_like(tokens[:, :1], self.logits.out_features)
        code = self.code(outputs)[None]
        found, _ = self.decoder(self.before(torch.cat([start, tokens[:, :-1]], 1)), (code, code))
        logits = self._attend(found, outputs)
        each = [
            logits[:, at, own].log_softmax(-1).gather(1, cells[:, at, None])
            for at, own in enumerate(self.tokens)
        ]
        return torch.cat(each, 1).mean(1)

    @torch.no_grad()
    def decode(self, outputs: Tensor) -> Tensor:
        """Cells (batch, positions) by the likeliest legal choice at each position, from h."""
        code = self.code(outputs)[None]
        state, chosen = (code, code), []
        token = torch.full((len(outputs),), self.logits.out_features)
        for own in self.tokens:
            found, state = self.decoder(self.before(token)[:, None], state)
            choice = self._attend(found, outputs)[:, 0, own].argmax(-1)
            chosen.append(choice)
            token = own[choice]
        return torch.stack(chosen, 1)

    @torch.enable_grad()
    def moved(self, outputs: Tensor, step: float) -> Tensor:
        """Outputs one step up the gradient of the predicted value, normalised again; shapes stay."""
        here = outputs.detach().requires_grad_()
        (slope,) = torch.autograd.grad(self.predicted(here).sum(), here)
        return functional.normalize(here.detach() + step * slope, dim=-1)

    def _as_tokens(self, cells: Tensor) -> Tensor:
        return torch.stack([own[cells[:, at]] for at, own in enumerate(self.tokens)], 1)

    def _attend(self, found: Tensor, outputs: Tensor) -> Tensor:
        """Logits (batch, steps, tokens) of decoder outputs (batch, steps, hidden) that attend to h."""
        attention = (found @ outputs.transpose(1, 2)).softmax(-1)
        logits: Tensor = self.logits(self.attended(torch.cat([attention @ outputs, found], -1)).tanh())
        return logits


def tokens_of(encoding: Encoding) -> list[list[int]]:
    """The tokens of each position's values; the same choice has the same token at all positions."""
    numbers: dict[Hashable, int] = {}
    return [
        [numbers.setdefault((position.what, value), len(numbers)) for value in position.values]
        for position in encoding.positions
    ]


def swaps_of(encoding: Encoding) -> list[list[int]]:
    """Orders of the positions that exchange the two edges of a node, one order per node.

    Empty where the order of edges is not written: each edge has one source, or the sources are a pair.
    """
    places = {
        (position.kind, position.node, position.what, position.edge): at
        for at, position in enumerate(encoding.positions)
    }
    swaps = []
    for kind, node in dict.fromkeys((p.kind, p.node) for p in encoding.positions if p.what == "source"):
        order = list(range(len(encoding.positions)))
        for what in ("source", "operation"):
            one, other = places[kind, node, what, 0], places[kind, node, what, 1]
            order[one], order[other] = other, one
        swaps.append(order)
    return swaps
