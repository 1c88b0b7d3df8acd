"""Lines that a search prints: its choices, its cost and what to expect."""

from __future__ import annotations

from xnas.data import Images, imbalance
from xnas.engine import impossible, outlook
from xnas.methods import ExpertAdvice, experts_learning_rates, learning_rate_of
from xnas.runs.faithfulness import departures
from xnas.runs.prepare import Prepared
from xnas.runs.search_config import FEW_IMAGES
from xnas.runs.search_plan import SearchPlan
from xnas.runs.sources import holding
from xnas.words import counted

LEARNED_ON = {"cifar10": "CIFAR-10", "svhn": "SVHN", "imagenet": "ImageNet"}
"""Data of AutoAugment's policies, whose labels they have seen."""


def introduction(prepared: Prepared, images: Images) -> list[str]:
    """What was chosen, and how large the search is."""
    engine, game, plan = prepared.search, prepared.game, prepared.plan
    lines = [f"{images.name}: {images.note}"] if images.note else []
    lines.append(holding(images, engine.train_batch[0].device))
    lines += [f"chosen: {note}" for note in plan.notes]
    if plan.single_level:
        batch = "the same" if engine.settings.joint else "another"
        lines.append(
            "single-level: weights and mixtures learn from all training images, in a round from "
            f"{batch} batch; validation figures are of these images, so nothing is held out"
        )
    if plan.warmup_epochs:
        lines.append(
            f"warm-up: {counted(plan.warmup_epochs, 'epoch')} of {plan.epochs}, in which the weights "
            "learn alone; later rounds take longer than the estimate counts"
        )
    weights = sum(p.numel() for p in engine.weights)
    device = engine.train_batch[0].device
    rounds = counted(plan.epochs * engine.settings.rounds_per_epoch, "round")
    lines.append(
        f"supernet: {weights:,} weights, {sum(m.numel() for m in engine.mixtures.values())} experts, "
        f"{rounds} on {device} ({plan.backend}, {plan.precision})"
    )
    if isinstance(engine.method, ExpertAdvice):
        for kind, mixture in engine.mixtures.items():
            rates = experts_learning_rates(mixture.shape[1], kind, game)
            each = ", ".join(f"{name} {rate:.3g}" for name, rate in rates.items())
            used = learning_rate_of(mixture.shape[1], kind, game)
            lines.append(f"learning rate of the {kind} mixture: {each}; used: {used:.3g}")
    return lines


def stage_line(prepared: Prepared) -> str:
    """Which stage begins, and with what supernet."""
    engine, stages = prepared.search, prepared.plan.stages
    stage = stages[engine.settings.stage]
    experts = sum(int(engine.method.alive(m).sum()) for m in engine.mixtures.values())
    weights = sum(p.numel() for p in engine.weights)
    return (
        f"stage {stage.number + 1} of {len(stages)}: {counted(stage.span.epochs, 'epoch')}, supernet of "
        f"{stage.cells} cells and {weights:,} weights, {experts} experts"
    )


def cautions(prepared: Prepared, images: Images) -> list[str]:
    """Warnings to print before the search starts."""
    plan, options, found = prepared.plan, prepared.plan.options, []
    if len(images.labels) < FEW_IMAGES:
        found.append(
            f"{len(images.labels)} images are few for a search; a fine-tuned pretrained model will "
            "probably serve better: xnas fit trains both and compares them"
        )
    unequal = imbalance(images.labels, images.classes)
    if unequal and not options.balance:
        found.append(f"{unequal}; --balance draws them equally often")
    if isinstance(prepared.search.method, ExpertAdvice):
        line = impossible(
            plan.epochs, plan.relaxation, wipeout=options.wipeout, warmup=plan.warmup_epochs
        )
        found += [line] if line else []
        if not options.wipeout and plan.relaxation != 1:
            found.append(f"without wipeout, relaxation {plan.relaxation:g} changes nothing")
    if options.warmup and not plan.warmup_epochs:
        found.append(
            f"--warmup {options.warmup:g} of {counted(plan.epochs, 'epoch')} gives no whole epoch, so "
            "there is no warm-up; use more --epochs or a larger share"
        )
    if options.faithful:
        changed = departures(plan, images)
        if changed:
            found.append(f"faithful to the paper except for {', '.join(changed)}")
    return found + _on_augmentation(plan)


def _on_augmentation(plan: SearchPlan) -> list[str]:
    """Whose labels the policy of AutoAugment has seen, or that there is none to choose."""
    policy = plan.options.auto_augment_policy
    if plan.auto_augment:
        learned = LEARNED_ON[policy.removesuffix("-original")]
        return [f"AutoAugment's policy was learned with labels of {learned}"]
    if policy != "cifar10":
        return [f"without AutoAugment, the policy {policy} changes nothing; add --auto-augment"]
    return []


def duration(seconds: float) -> str:
    """Seconds as a person would say them."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def forecast(prepared: Prepared) -> str | None:
    """When to expect wipeouts, from the rounds played so far; None for methods that have none."""
    if not isinstance(prepared.search.method, ExpertAdvice) or not prepared.plan.options.wipeout:
        return None
    found = outlook(prepared.search, prepared.game)
    return found.line() if found else None
