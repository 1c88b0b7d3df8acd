"""Jobs in other processes, on this machine or on many: what a pool of evaluations stands on.

A job is a function without arguments that can be pickled, such as `partial(search, config, "cifar10")`.
It must be safe to do twice, because a job whose worker is lost is done again: evaluations and runs
resume in their folder.

    with LocalProcesses(4) as workers:
        for number, config in enumerate(configs):
            workers.submit(number, partial(search, config, "cifar10"))
        results = [workers.result(number) for number in range(len(configs))]

What all jobs need, such as images, is sent to each worker once: `images = workers.share(images)`, and
`images.value()` in the job.

`RayTasks` has the same methods, on all machines of a Ray cluster. So has `ThisProcess`, which does one
job after another, each when its result is asked for.
"""

from xnas.workers.local import LocalProcesses
from xnas.workers.protocol import Job, Shared, Workers
from xnas.workers.ray_tasks import RayTasks
from xnas.workers.this_process import ThisProcess

__all__ = ["Job", "LocalProcesses", "RayTasks", "Shared", "ThisProcess", "Workers"]
