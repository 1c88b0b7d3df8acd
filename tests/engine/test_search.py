"""A round does what Algorithm 1 says, to the right parameters, with the right numbers."""

import copy
from dataclasses import replace

import pytest
import torch
from hooked import SPACES, Sampled, hooked
from searching import small_engine, stripes
from torch import nn
from torch.nn.functional import cross_entropy

from xnas import ConfigError, ExpertsOptimizer, Forecaster, RoundError, uniform_mixture
from xnas.data import BatchSettings, BatchSource, halves
from xnas.engine import Search, SearchSettings, end_epoch, play_round, restore_search, search_state
from xnas.engine.epoch import remove_experts
from xnas.engine.search import descend_train_loss, reveal_rewards
from xnas.engine.temperature import best_inverse_temperature
from xnas.engine.weighing import cell_weights, dropped
from xnas.methods import Game
from xnas.space.packing import pack

pytestmark = pytest.mark.usefixtures("small_space")


def values(parameters):
    return [p.detach().clone() for p in parameters]


def fill(search):
    search.train.fill(*search.train_batch)
    search.valid.fill(*search.valid_batch)


def test_weights_and_mixtures_never_share_an_optimizer():
    search = small_engine()
    mixtures = {id(m) for m in search.mixtures.values()}
    weights = {id(p) for g in search.weight_optimizer.param_groups for p in g["params"]}
    learned = {id(p) for g in search.method.param_groups for p in g["params"]}
    assert learned == mixtures
    assert not weights & mixtures
    assert weights | mixtures == {id(p) for p in search.supernet.parameters()}


def test_the_weight_step_moves_weights_alone():
    search = small_engine()
    fill(search)
    before = values(search.mixtures.values())
    weights = values(search.weights)
    descend_train_loss(search)
    for mixture, value in zip(search.mixtures.values(), before, strict=True):
        assert torch.equal(mixture, value)
        assert mixture.grad is None
    assert any(not torch.equal(p, w) for p, w in zip(search.weights, weights, strict=True))


def test_the_architecture_step_moves_mixtures_alone_and_leaves_no_weight_gradient():
    search = small_engine()
    fill(search)
    search.weight_optimizer.zero_grad()
    before = values(search.mixtures.values())
    weights = values(search.weights)
    reveal_rewards(search)
    assert all(torch.equal(p, w) for p, w in zip(search.weights, weights, strict=True))
    assert all(p.grad is None for p in search.weights)
    assert any(not torch.equal(m, b) for m, b in zip(search.mixtures.values(), before, strict=True))


def test_rewards_are_the_negative_gradient_of_the_loss_with_every_expert_whole():
    search = small_engine(skip_dropout="0.9")
    fill(search)
    twin = copy.deepcopy(search.supernet)
    images, labels = search.valid_batch
    cross_entropy(twin(images), labels).backward()
    reveal_rewards(search)
    for kind, mixture in search.mixtures.items():
        torch.testing.assert_close(mixture.grad, twin.mixtures[kind].grad, rtol=1e-4, atol=1e-6)


def test_per_sample_rewards_add_up_to_those_of_the_batch():
    plain, fine = small_engine(), small_engine(accounting="sample")
    fill(plain)
    fill(fine)
    assert torch.equal(plain.valid_batch[0], fine.valid_batch[0])
    reveal_rewards(plain)
    reveal_rewards(fine)
    for kind in plain.mixtures:
        torch.testing.assert_close(
            plain.tally.rewards[kind], fine.tally.rewards[kind], rtol=1e-4, atol=1e-7
        )
    for kind, mixture in fine.mixtures.items():
        replicas = fine.supernet.replications[kind]
        assert fine.method.ledger(mixture).rounds == 8 * replicas


def test_identities_are_dropped_one_draw_an_edge_and_cell_and_scaled_when_kept():
    search = small_engine(skip_dropout="0.5")
    seen = {kind: [] for kind in search.mixtures}
    for _ in range(200):
        for kind, mixture in dropped(search, cell_weights(search, "weights")).items():
            seen[kind].append(mixture)
    for kind, draws in seen.items():
        scale = torch.stack(draws) * 7  # uniform mixtures: 1 where nothing was done
        mask = search.supernet.identities(kind)
        assert torch.allclose(scale[..., ~mask], torch.ones(()))
        assert set(scale[..., mask].round().unique().tolist()) == {0.0, 2.0}
        assert scale[..., mask].mean().item() == pytest.approx(1, abs=0.1)
        assert scale[..., mask].std(0).min() > 0.5  # every edge has draws of its own


@pytest.mark.parametrize(("skips", "share"), [("0", 0.7), ("0.5", 0.5)])
def test_with_expert_dropout_every_expert_has_draws_of_its_own(skips, share):
    search = small_engine(skip_dropout=skips)
    search.settings = replace(search.settings, expert_dropout=0.3)
    seen = {kind: [] for kind in search.mixtures}
    for _ in range(600):
        for kind, mixture in dropped(search, cell_weights(search, "weights")).items():
            seen[kind].append(mixture)
    for kind, draws in seen.items():
        scale = torch.stack(draws) * 7  # uniform mixtures: 1 where nothing was done
        mask = search.supernet.identities(kind)
        for experts, keep in ((scale[..., mask], share), (scale[..., ~mask], 0.7)):
            torch.testing.assert_close(
                experts[experts > 0], torch.full_like(experts, 1 / keep)[experts > 0]
            )
            assert (experts > 0).double().mean().item() == pytest.approx(keep, abs=0.02)
            assert experts.std(0).min() > 0.4


def test_rewards_at_the_best_temperature_are_those_of_the_scaled_logits():
    search = small_engine()
    search.settings = replace(search.settings, best_temperature=True)
    fill(search)
    twin = copy.deepcopy(search.supernet)
    images, labels = search.valid_batch
    logits = twin(images)
    inverse = best_inverse_temperature(logits, labels)
    assert abs(float(inverse) - 1) > 0.1
    plain = cross_entropy(logits, labels)
    cross_entropy(inverse * logits, labels).backward()
    reveal_rewards(search)
    for kind, mixture in search.mixtures.items():
        torch.testing.assert_close(mixture.grad, twin.mixtures[kind].grad, rtol=1e-4, atol=1e-6)
    assert float(search.tally.valid[0] / search.tally.valid[2]) == pytest.approx(plain.item())


def test_without_dropout_the_weight_step_sees_the_mixtures_themselves():
    search = small_engine(skip_dropout="0")
    for kind, mixture in dropped(search, cell_weights(search, "weights")).items():
        assert torch.equal(mixture, search.supernet.spread()[kind])


def test_a_fading_dropout_falls_over_the_epochs():
    search = small_engine(skip_dropout="0.6:0", epochs=4)
    seen = []
    for epoch in range(4):
        search.epoch = epoch
        seen.append(search.skip_dropout())
    assert seen == pytest.approx([0.6, 0.4, 0.2, 0.0])


def test_the_learning_rate_of_the_weights_is_a_cosine_from_0_025_towards_0_001():
    search = small_engine(epochs=10)
    rates = []
    for epoch in range(10):
        search.epoch = epoch
        rates.append(search.learning_rate())
    assert rates[0] == 0.025
    assert rates[5] == pytest.approx(0.013)
    assert rates == sorted(rates, reverse=True)
    assert rates[-1] > 0.001


def test_a_low_learning_rate_of_the_weights_does_not_rise():
    search = small_engine(epochs=4, weights_lr=1e-4)
    for search.epoch in range(4):
        assert search.learning_rate() == 1e-4


def test_rates_are_tensors_that_keep_their_places_from_epoch_to_epoch():
    search = small_engine(skip_dropout="0.6:0", epochs=4)
    rate, chance = search.rate, search.keep_chance
    assert search.weight_optimizer.param_groups[0]["lr"] is rate
    for epoch in range(4):
        search.epoch = epoch
        search.begin_epoch()
        assert (search.rate, search.keep_chance) == (rate, chance)
        assert rate.item() == pytest.approx(search.learning_rate())
        assert chance.item() == pytest.approx(1 - search.skip_dropout())


def test_a_rate_set_from_outside_reaches_the_weight_step():
    search = small_engine()
    fill(search)
    before = values(search.weights)
    search.rate.zero_()
    descend_train_loss(search)
    assert all(torch.equal(p, w) for p, w in zip(search.weights, before, strict=True))


def test_the_weights_gradient_is_clipped_by_its_norm_before_the_step():
    search = own_search(gradient_clip=0.01, weight_decay=0.0)
    search.begin_epoch()
    fill(search)
    before = values(search.weights)
    descend_train_loss(search)
    steps = [p.detach() - w for p, w in zip(search.weights, before, strict=True)]
    assert nn.utils.get_total_norm(steps).item() == pytest.approx(0.025 * 0.01, rel=0.01)


def test_a_checkpoint_with_the_rate_as_a_number_still_loads():
    search, again = small_engine(), small_engine()
    play_round(search)
    state = copy.deepcopy(search_state(search))
    state["weight_optimizer"]["param_groups"][0] |= {"lr": 0.025, "fused": None}
    restore_search(again, state)
    group = again.weight_optimizer.param_groups[0]
    assert group["lr"] is again.rate
    assert group["fused"] is False
    for twin in (search, again):
        play_round(twin)
    for mine, theirs in zip(search.weights, again.weights, strict=True):
        assert torch.equal(mine, theirs)


def test_weights_learn_on_one_half_and_mixtures_on_the_other():
    search = small_engine()
    train, valid = (set(s.indices.tolist()) for s in (search.train, search.valid))
    assert not train & valid
    assert len(train | valid) == 80


class Chain(nn.Module):
    """Somebody's own supernet: two forecasters in a row on flat images, one mixture."""

    mixture_parameters = ("alphas",)

    def __init__(self):
        super().__init__()
        self.first = self._forecaster()
        self.second = self._forecaster()
        self.head = nn.Linear(64, 2)
        self.alphas = uniform_mixture(2, 3)

    @staticmethod
    def _forecaster():
        return Forecaster(
            {"a": nn.Linear(64, 64), "b": nn.Tanh(), "c": nn.Identity()}, own_mixture=False
        )

    @property
    def mixtures(self):
        return {"all": self.alphas}

    def forward(self, x):
        x = self.second(self.first(x.flatten(1), self.alphas[0]), self.alphas[1])
        return self.head(x)

    def wipe(self, kind, forecaster, experts):
        assert kind == "all"
        (self.first, self.second)[forecaster].wipe(["abc"[e] for e in experts])


class Packed(nn.Module):
    """A supernet of one forecaster that computes its experts in one call, once it is fused."""

    mixture_parameters = ("alphas",)

    def __init__(self):
        super().__init__()
        generator = torch.Generator().manual_seed(0)
        self.experts = nn.ModuleDict({name: nn.Linear(64, 2, bias=False) for name in "012"})
        for expert in self.experts.values():
            nn.init.normal_(expert.weight, generator=generator)
        self.alphas = uniform_mixture(1, 3)
        self.fused, self.packed, self.fusions, self.learned = False, [], 0, []

    @property
    def mixtures(self):
        return {"all": self.alphas}

    def fuse(self):
        weights = [expert.weight for expert in self.experts.values()]
        self.packed = [pack(weights, packed=lambda p: p, unpacked=lambda slot: slot)]
        self.fused, self.fusions = True, self.fusions + 1

    def wipe(self, kind, forecaster, experts):
        assert (kind, forecaster) == ("all", 0)
        for expert in experts:
            del self.experts[str(expert)]
        self.fused, self.packed = False, []

    def forward(self, x):
        weights = [expert.weight for expert in self.experts.values()]
        weight = self.packed[0] if self.fused else torch.stack(weights)
        self.learned.append(weight.requires_grad)
        u = self.alphas[0, [int(name) for name in self.experts]]
        return torch.einsum("e,bi,eoi->bo", u, x.flatten(1), weight)


def packed_search(*, fuse):
    model = Packed()
    if fuse:
        model.fuse()
    return own_search(model)


def test_packed_tensors_stand_for_their_weights_in_the_weight_step():
    plain, fused = packed_search(fuse=False), packed_search(fuse=True)
    assert plain.leaves == plain.weights
    assert len(fused.leaves) == len(fused.weights) + 1
    for search in (plain, fused):
        search.begin_epoch()
        for _ in range(3):
            play_round(search)
    for mine, theirs in zip(fused.weights, plain.weights, strict=True):
        torch.testing.assert_close(mine, theirs)
    torch.testing.assert_close(fused.supernet.alphas, plain.supernet.alphas)
    assert torch.equal(fused.supernet.packed[0][1], fused.supernet.experts["1"].weight)


@pytest.mark.parametrize("fuse", [False, True])
def test_the_architecture_step_holds_weights_fixed_and_lets_them_go(fuse):
    search = packed_search(fuse=fuse)
    search.begin_epoch()
    play_round(search)
    assert search.supernet.learned == [True, False]
    assert all(leaf.requires_grad for leaf in search.leaves)


def test_what_a_deletion_leaves_is_fused_once_and_learns_on():
    plain, fused = packed_search(fuse=False), packed_search(fuse=True)
    for search in (plain, fused):
        search.begin_epoch()
        play_round(search)
        remove_experts(search, [("all", 0, 0), ("all", 0, 2)])
        play_round(search)
    assert fused.supernet.fused
    assert fused.supernet.fusions == 2
    assert [leaf.shape for leaf in fused.leaves] == [(2, 64), (1, 2, 64)]
    torch.testing.assert_close(fused.weights[0], plain.weights[0])
    assert not plain.supernet.fused


def test_a_fused_search_is_fused_after_it_was_restored():
    search = packed_search(fuse=True)
    search.begin_epoch()
    play_round(search)
    remove_experts(search, [("all", 0, 1)])
    play_round(search)
    again = packed_search(fuse=True)
    restore_search(again, copy.deepcopy(search_state(search)))
    assert again.supernet.fused
    for twin in (search, again):
        play_round(twin)
    for mine, theirs in zip(search.weights, again.weights, strict=True):
        assert torch.equal(mine, theirs)


def own_search(model=None, **settings):
    data = stripes()
    train, valid = halves(data.labels, seed=0)

    def source(name, indices):
        return BatchSource(
            data.images,
            data.labels,
            indices,
            BatchSettings(batch_size=8, mean=data.mean, std=data.std, seed=0, name=name),
        )

    model = Chain() if model is None else model
    method = ExpertsOptimizer([model.alphas], horizon=15, reward_bound=0.05)
    return Search(
        model,
        method,
        train=source("train", train),
        valid=source("valid", valid),
        settings=SearchSettings(epochs=3, rounds_per_epoch=5, **settings),
    )


def test_anybody_s_supernet_can_be_searched():
    search = own_search()
    for _ in range(3):
        search.begin_epoch()
        for _ in range(5):
            play_round(search)
        record = end_epoch(search, seconds=1.0, memory_bytes=0, gap=None)
    assert search.method.ledger(search.supernet.alphas).rounds == 15
    assert record.experts_alive == {"all": 2}
    assert record.rewards_by_stage == {}
    left = [len(f.experts) for f in (search.supernet.first, search.supernet.second)]
    assert left == [1, 1]
    assert not search.learning
    assert search.settled_at == 15


def test_what_a_plain_supernet_cannot_do_is_told():
    with pytest.raises(ConfigError, match="Chain does not spread its mixtures over cells"):
        own_search(skip_dropout=(0.5, 0.5))
    with pytest.raises(ConfigError, match="Chain does not spread"):
        own_search(accounting="sample")
    with pytest.raises(ConfigError, match="expert_dropout=0 and absence_batches=0"):
        own_search(absence_batches=1)


def test_while_the_weights_warm_up_mixtures_rest_and_the_game_has_not_begun():
    search = small_engine(epochs=4, warmup=0.5)
    assert search.settings.warmup_epochs == 2
    for epoch in range(4):
        search.begin_epoch()
        weights = values(search.weights)
        for _ in range(search.settings.rounds_per_epoch):
            play_round(search)
        assert not any(torch.equal(a, b) for a, b in zip(weights, search.weights, strict=True))
        uniform = all(torch.equal(m, torch.full_like(m, 1 / 7)) for m in search.mixtures.values())
        assert uniform == (epoch < 2)
        assert search.learning_rounds == max(0, epoch - 1) * search.settings.rounds_per_epoch
        record = end_epoch(search)
        assert (record.rewards["normal"] == {}) == (epoch < 2)
        assert record.valid_loss > 0
    rounds = 2 * search.settings.rounds_per_epoch
    for mixture in search.mixtures.values():
        assert search.method.ledger(mixture).rounds == rounds  # the horizon of the game
        assert search.method.param_groups[0]["horizon"] == rounds


def test_at_least_one_epoch_is_left_to_learn_in():
    assert small_engine(epochs=1, warmup=0.9).settings.warmup_epochs == 0
    assert small_engine(epochs=3, warmup=0.99).settings.warmup_epochs == 2


def test_bfloat16_rounds_stay_near_those_in_float32():
    plain, rough = small_engine(skip_dropout="0"), small_engine(skip_dropout="0", precision="bf16")
    for search in (plain, rough):
        play_round(search)
    loss = [float(s.tally.train[0] / s.tally.train[2]) for s in (plain, rough)]
    assert loss[1] == pytest.approx(loss[0], rel=0.05)
    assert loss[1] != loss[0]


def test_the_game_of_a_search_counts_rounds_exactly():
    game = Game(
        updates=15, examples=40, epochs=3, batch_size=8, replications={"normal": 1, "reduction": 2}
    )
    assert (game.rounds("normal"), game.rounds("reduction")) == (15, 15)
    search = small_engine()
    assert search.settings.rounds_per_epoch == 5
    assert search.method.ledger(search.mixtures["normal"]).horizon == 15


def test_frozen_weights_are_left_alone():
    search = own_search()
    search.supernet.head.requires_grad_(requires_grad=False)
    frozen = Search(
        search.supernet, search.method, train=search.train, valid=search.valid, settings=search.settings
    )
    before = search.supernet.head.weight.clone()
    frozen.begin_epoch()
    play_round(frozen)
    assert torch.equal(search.supernet.head.weight, before)


def test_an_epoch_without_rounds_cannot_be_closed():
    search = own_search()
    search.begin_epoch()
    with pytest.raises(RoundError, match="no round was played in this epoch"):
        end_epoch(search, seconds=1.0, memory_bytes=0, gap=None)


def test_a_method_follows_the_epochs_of_its_game_also_after_a_restore():
    search = hooked(Sampled, epochs=4, warmup=0.5)
    for _ in range(3):
        play_round(search)
        end_epoch(search)
        search.begin_epoch()
    assert search.method.begun == [0, 0, 0, 1]
    again = hooked(Sampled, epochs=4, warmup=0.5)
    restore_search(again, copy.deepcopy(search_state(search)))
    assert again.method.begun[-1] == 1
    assert again.method.temperature == search.method.temperature == 0.5
    for twin in (search, again):
        play_round(twin)
    for mine, theirs in zip(values(search.weights), values(again.weights), strict=True):
        assert torch.equal(mine, theirs)


def test_a_method_may_rest_in_some_rounds_in_which_the_loss_is_measured():
    search = hooked(Sampled)
    search.method.resting = {(0, 1)}
    moved = []
    for _ in range(3):
        before = values(search.mixtures.values())
        play_round(search)
        after = values(search.mixtures.values())
        moved.append(not all(torch.equal(a, b) for a, b in zip(before, after, strict=True)))
    assert moved == [True, False, True]
    assert int(search.tally.rounds) == 2
    assert int(search.tally.valid[2]) == 3 * 8


@pytest.mark.parametrize(
    ("settings", "rates"),
    [
        ({"schedule": lambda epoch, epochs: 1 - epoch / epochs}, [1.0, 0.75, 0.5, 0.25]),
        ({"schedule": lambda *_: 1.0}, [1.0] * 4),
    ],
)
def test_a_method_may_bring_a_schedule_for_the_rate_of_the_weights(settings, rates):
    search = small_engine(epochs=4, weights_lr=0.1)
    search.settings = replace(search.settings, final_learning_rate=0.02, **settings)
    found = []
    for search.epoch in range(4):
        found.append((search.learning_rate() - 0.02) / 0.08)
    assert found == pytest.approx(rates)


def test_momentum_may_be_nesterov_s():
    plain, other = own_search(), own_search(nesterov=True)
    assert [s.weight_optimizer.param_groups[0]["nesterov"] for s in (plain, other)] == [False, True]


@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize("space", SPACES)
def test_a_joint_gradient_is_that_of_two_separate_passes(space, fused):
    def single(settings):
        return replace(settings, joint=True, gradient_clip=1e9)

    search = hooked(Sampled, settings=single, double=True, fused=fused, **space)
    draws = search.dropout.get_state()
    weights = cell_weights(search, "weights")
    search.dropout.set_state(draws)
    twin = copy.deepcopy(hooked(Sampled, double=True, **space).supernet)
    before = values(search.weights)
    play_round(search)
    images, labels = search.train_batch
    asked = {kind: w.clone().requires_grad_() for kind, w in weights.items()}
    cross_entropy(twin(images, asked).float(), labels).backward()
    for kind, mixture in search.mixtures.items():
        torch.testing.assert_close(mixture.grad, asked[kind].grad.sum(0), rtol=1e-4, atol=1e-7)
    learned = [p.grad for p in twin.parameters() if p.grad is not None]
    assert len(learned) == len(before)
    for p, old, gradient in zip(search.weights, before, learned, strict=True):
        expected = old - 0.025 * (gradient + 3e-4 * old)  # the first step: momentum is zero
        torch.testing.assert_close(p.detach(), expected, rtol=1e-6, atol=1e-8)
    assert torch.equal(search.tally.train, search.tally.valid)
    assert int(search.tally.rounds) == 1
    assert int(search.valid.position) == 0  # its batch was not drawn


def test_a_joint_gradient_teaches_nothing_while_the_method_rests():
    search = hooked(Sampled, settings=lambda s: replace(s, joint=True))
    search.method.resting = {(0, 0)}
    before = values(search.mixtures.values())
    play_round(search)
    assert all(torch.equal(a, b) for a, b in zip(before, search.mixtures.values(), strict=True))
    play_round(search)
    assert int(search.tally.rounds) == 1
