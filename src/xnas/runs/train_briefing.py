"""What a training reports before it starts: what was chosen, and how large it is."""

from __future__ import annotations

from xnas.data import Images
from xnas.runs.prepare_training import PreparedTraining, hole_side
from xnas.runs.sources import holding
from xnas.words import counted


def introduction(prepared: PreparedTraining, images: Images) -> list[str]:
    """What was chosen, and how large it is."""
    training, plan, recipe = prepared.training, prepared.plan, prepared.plan.recipe
    lines = [f"{images.name}: {images.note}"] if images.note else []
    lines.append(holding(images, training.batch[0].device))
    lines += [f"chosen: {note}" for note in plan.notes]
    s = training.settings
    if prepared.seen != images.size:
        whole, part = (f"{height} x {width}" for height, width in (images.size, prepared.seen))
        crops = "random crops, resized," if recipe.images.resized_crop else "crops"
        lines.append(f"images of {whole}: training sees {crops} of {part}, a test their middle")
    unit = training.model.architecture.defaults.cells_unit
    lines.append(
        f"network: {prepared.parameters:,} parameters, {prepared.macs / 1e6:,.1f} M "
        f"multiply-accumulates, {recipe.cells} {unit} of {recipe.channels} channels"
    )
    lines.append(
        f"recipe {plan.options.recipe}: {counted(s.epochs, 'epoch')} of "
        f"{counted(s.steps_per_epoch, 'step')}, batch "
        f"{recipe.batch_size}, {plan.precision} on {training.batch[0].device}"
    )
    hole = hole_side(recipe.images, prepared.seen)
    if hole != recipe.images.cutout:
        height, width = prepared.seen
        lines.append(
            f"cutout {recipe.images.cutout} is for images of 32 pixels; on {height} x {width} the hole "
            f"has {hole} x {hole}"
        )
    if plan.options.accumulate > 1:
        lines.append(
            f"a batch is computed in {plan.options.accumulate} parts; batch statistics are those of "
            "the parts"
        )
    return lines
