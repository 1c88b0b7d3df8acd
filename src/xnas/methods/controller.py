"""ENAS's controller: an LSTM that emits the decisions of a cell one after another (Pham et al., 2018).

For each kind of cell and each of its nodes it first picks different edges, as many as the node keeps,
by attention over what it decided at their sources, then an operation for each of them. Where a space
keeps all edges, it only picks operations. Logits are c·tanh(raw) for edges and (c/2.5)·tanh(raw) + a
fixed bias for operations, with c = 1.1. Several cells are sampled together, as one batch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Generator, Tensor, nn

from xnas.methods.game import Game
from xnas.methods.logits import gumbel, one_hot_of
from xnas.methods.paths import rows_of_nodes, span_of, without_none

UNITS = 64
SPREAD = 0.1
"""Weights start uniform within ±0.1."""
SCALE, OPERATION_SCALE = 1.1, 1.1 / 2.5
LEARNED_BIAS, FIXED_BIAS = 10.0, 0.25
"""For convolutions: where the learned bias starts, and the other one, which is -0.25 for the rest."""


@dataclass(frozen=True, slots=True)
class Cells:
    """Sampled cells."""

    paths: dict[str, Tensor]
    """Weights of 0 and 1 by kind, (samples, forecasters, experts)."""
    log_probability: Tensor
    """(samples,)."""
    entropy: Tensor
    """Of all decisions together, (samples,)."""


class Controller(nn.Module):
    """An LSTM over the decisions of a cell."""

    def __init__(self, mixtures: Mapping[str, Tensor], game: Game, *, units: int = UNITS) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(game.seed)
        self.game, self.shapes = game, {kind: m.shape for kind, m in mixtures.items()}
        experts = next(iter(self.shapes.values()))[1]
        with torch.random.fork_rng(devices=[]):  # their own weights are drawn from no generator of ours
            self.lstm = nn.LSTMCell(units, units)
            self.operation = nn.Linear(units, experts, bias=False)
            self.query = nn.Linear(units, units, bias=False)
            self.anchor = nn.Linear(units, units, bias=False)
            self.attention = nn.Linear(units, 1, bias=False)
        self.first = nn.Parameter(torch.zeros(1, units))  # fed where a cell or a node begins
        self.embedding = nn.Parameter(torch.zeros(experts, units))
        with torch.no_grad():
            for p in self.parameters():
                p.copy_(SPREAD * (2 * torch.rand(p.shape, generator=generator) - 1))
        convolutions = torch.tensor(["conv" in name for name in game.operations] or [False] * experts)
        self.bias = nn.Parameter(LEARNED_BIAS * convolutions.float())
        self.register_buffer("fixed", FIXED_BIAS * (2 * convolutions.float() - 1), persistent=False)

    def sample(
        self,
        alive: Mapping[str, Tensor],
        generator: Generator,
        samples: int,
        *,
        given: Mapping[str, Tensor] | None = None,
    ) -> Cells:
        """Draw cells with living experts; or follow `given` paths (samples, forecasters, experts)."""
        return _Walk(self, generator, samples, given).walk(alive)


class _Walk:
    """One pass through all decisions."""

    def __init__(
        self,
        controller: Controller,
        generator: Generator,
        samples: int,
        given: Mapping[str, Tensor] | None,
    ) -> None:
        self.of, self.generator, self.given = controller, generator, given
        self.start = controller.first.expand(samples, -1)
        self.input = self.start
        self.state = (torch.zeros_like(self.start), torch.zeros_like(self.start))
        self.anchors: dict[int, tuple[Tensor, Tensor]] = {}
        """For each state of the cell what is fed when it is picked, and its key in the attention."""
        self.log_probability = self.start.new_zeros(samples)
        self.entropy = self.start.new_zeros(samples)

    def walk(self, alive: Mapping[str, Tensor]) -> Cells:
        """Decide every kind of cell, node by node."""
        game, paths = self.of.game, {}
        nodes = {node for _, node in game.edges}
        for kind, mask in alive.items():
            choice = without_none(mask, game.operations)
            table = self.start.new_zeros(len(self.start), *mask.shape)
            self.input, self.anchors = self.start, {}
            for source in sorted({source for source, _ in game.edges} - nodes):
                self._remember(source, fed=False)
            for rows in rows_of_nodes(game) or [list(range(len(mask)))]:
                span = span_of(rows)
                if game.kept_edges is None or len(rows) <= game.kept_edges:
                    each = torch.eye(len(rows), dtype=table.dtype, device=table.device)
                    picked = [edge.expand(len(table), -1) for edge in each]
                else:
                    picked = self._edges(kind, rows, game.kept_edges)
                for edge in picked:
                    living = edge @ choice[span].to(edge) > 0
                    expert = self._operation(kind, rows, edge, living)
                    table[:, span] += edge[:, :, None] * expert[:, None]
                if game.edges:
                    self._remember(game.edges[rows[0]][1], fed=True)
                    self.input = self.start
            paths[kind] = table
        return Cells(paths, self.log_probability, self.entropy)

    def _advance(self) -> Tensor:
        self.state = self.of.lstm(self.input, self.state)
        return self.state[0]

    def _remember(self, state: int, *, fed: bool) -> None:
        hidden = self._advance()
        self.anchors[state] = (hidden if fed else torch.zeros_like(hidden), self.of.anchor(hidden))

    def _edges(self, kind: str, rows: list[int], most: int) -> list[Tensor]:
        """Different edges of a node, each (samples, edges) of 0 and 1."""
        sources = [self.anchors[self.of.game.edges[row][0]] for row in rows]
        fed, keys = (torch.stack(column, 1) for column in zip(*sources, strict=True))
        left = torch.ones(len(self.start), len(rows), dtype=torch.bool, device=fed.device)
        picked = []
        for _ in range(most):
            joined = (self.of.query(self._advance())[:, None] + keys).tanh()
            logits = SCALE * self.of.attention(joined)[..., 0].tanh()
            edge = self._pick(logits, left, self._given_edge(kind, rows, left))
            self.input = (edge[:, :, None] * fed).sum(1)
            left = left & (edge == 0)
            picked.append(edge)
        return picked

    def _operation(self, kind: str, rows: list[int], edge: Tensor, living: Tensor) -> Tensor:
        """The operation of a picked edge, (samples, experts) of 0 and 1."""
        logits: Tensor = OPERATION_SCALE * (self.of.operation(self._advance()) + self.of.bias).tanh()
        if kind == "normal":
            logits = logits + self.of.get_buffer("fixed")
        given = None
        if self.given is not None:
            given = (edge[:, :, None] * self.given[kind][:, span_of(rows)].to(edge)).sum(1)
        expert = self._pick(logits, living, given)
        self.input = expert @ self.of.embedding
        return expert

    def _given_edge(self, kind: str, rows: list[int], left: Tensor) -> Tensor | None:
        """The first edge of a given path that is left."""
        if self.given is None:
            return None
        has = self.given[kind][:, span_of(rows)].sum(-1) * left
        return one_hot_of(has).to(self.start)

    def _pick(self, logits: Tensor, living: Tensor, given: Tensor | None) -> Tensor:
        """An option as a row of 0 and 1, (samples, options), counted in probability and entropy."""
        logs = logits.masked_fill(~living, -torch.inf).log_softmax(-1)
        finite = logs.masked_fill(~living, 0.0)
        if given is None:
            scores = finite.detach() + gumbel(finite.detach(), self.generator)
            given = one_hot_of(scores.masked_fill(~living, -torch.inf))
        self.log_probability = self.log_probability + (given * finite).sum(-1)
        self.entropy = self.entropy - (finite.exp() * finite * living).sum(-1)
        return given
