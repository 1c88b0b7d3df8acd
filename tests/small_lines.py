"""Made-up results of small searches, for tests of claims and tables. None was measured."""

from result_lines import VERSIONS, write

from result_tables import Results
from small_judges import COLUMN

EPOCHS = 4


def line(job, change):
    """A made-up search; `change(job)` gives what is special of it."""
    special = {"true": 90.0, "cpu": 1.0, "gap": 20.0, "cell": 30.0, "entropy": 0.95, "held": 0.3}
    special |= change(job)
    mixture = [(1 - special["held"]) / 3] * 4
    mixture[COLUMN] = special["held"]
    start = [0.95 / 3] * 4
    start[COLUMN] = 0.05
    epochs = []
    for number in range(1, EPOCHS + 1):
        end = number == EPOCHS
        cell = special["cell"] if end else 40 - special["gap"]
        epochs.append(
            {
                "epoch": number,
                "true_accuracy": special["true"],
                "judged_accuracy": special["true"],
                "cpu_seconds": special["cpu"],
                "seconds": special["cpu"],
                "gap": {"mixture": 0.4, "experts": 0.2, "cell": cell / 100},
                "entropy": {"normal": 0.1 if end else special["entropy"], **special.get("kinds", {})},
                "experts_alive": {"normal": 6 if end else 24},
                "mean_mixture": {"normal": start if number == 1 else mixture},
            }
        )
    about = {"job": job.name, "command": job.command, "variant": job.variant, "seed": job.seed}
    about |= {"space": job.options["space"], "size": job.size, "epochs": epochs}
    return about | VERSIONS | special.get("where", {})


def measured(folder, jobs, change=lambda _: {}, *, left_out=()):
    """Results of these jobs, but for those left out."""
    lines = [line(job, change) for job in jobs if job.name not in left_out]
    write(folder, small_searches=lines)
    return Results(folder)


def by_variant(name, **values):
    """A change that gives variants a number, or one per seed."""

    def change(job):
        value = values.get(job.variant.replace("-", "_").replace(".", "_"))
        if value is None:
            return {}
        return {name: value[job.seed] if isinstance(value, list) else value}

    return change
