"""What a training says of itself follows from its plan."""

from dataclasses import replace

from training import pictures, tiny

from xnas.runs.prepare_training import prepare_training
from xnas.runs.train_briefing import introduction
from xnas.space import find_genotype


def introduced(images=None, **options):
    images = images or pictures()
    made = prepare_training(tiny(**options), images, find_genotype("xnas"))
    return made, introduction(made, images)


def test_it_gives_the_images_the_network_and_the_recipe():
    made, lines = introduced()
    assert lines[0] == "40 training images of 1 x 8 x 8, all in memory on cpu (0 MiB)"
    assert any(
        line.startswith(f"network: {made.parameters:,} parameters")
        and line.endswith("multiply-accumulates, 3 cells of 2 channels")
        for line in lines
    )
    assert lines[-1] == "recipe quick: 3 epochs of 5 steps, batch 8, fp32 on cpu"


def test_what_was_chosen_for_the_user_is_listed():
    made, lines = introduced()
    assert made.plan.notes
    assert [line for line in lines if line.startswith("chosen: ")] == [
        f"chosen: {note}" for note in made.plan.notes
    ]


def test_a_note_on_the_images_comes_first():
    noted = replace(pictures(), note="2 files left out")
    assert introduced(noted)[1][0] == f"{noted.name}: 2 files left out"


def test_a_batch_in_parts_is_explained():
    (line,) = (line for line in introduced(accumulate=2)[1] if "parts" in line)
    assert line.startswith("a batch is computed in 2 parts")
    assert not any("parts" in line for line in introduced()[1])


def test_a_hole_that_is_not_the_recipes_is_reported():
    assert (
        "cutout 16 is for images of 32 pixels; on 8 x 8 the hole has 4 x 4" in introduced(cutout=16)[1]
    )
    assert not any("cutout" in line for line in introduced()[1])
