"""Several processes on one GPU, and one process on each of several GPUs."""

from __future__ import annotations

import os
import shutil
import subprocess


def share_gpu() -> None:
    """Let kernels of several processes run in parallel, where NVIDIA's multi-process service is there.

    A second service is refused, which changes nothing.
    """
    if shutil.which("nvidia-cuda-mps-control") is None:
        return
    closed = subprocess.DEVNULL  # the service stays, and would keep the caller's output open
    command = ["nvidia-cuda-mps-control", "-d"]
    subprocess.run(  # noqa: S603
        command, check=False, start_new_session=True, stdin=closed, stdout=closed, stderr=closed
    )


def visible_gpus() -> tuple[str, ...]:
    """The GPUs of this process as `CUDA_VISIBLE_DEVICES` names them; none of them is touched."""
    import torch  # noqa: PLC0415 - scripts that share a GPU start their clock before this

    if not torch.cuda.is_available():
        return ()
    given = os.environ.get("CUDA_VISIBLE_DEVICES")
    names = given.split(",") if given is not None else map(str, range(torch.cuda.device_count()))
    return tuple(name.strip() for name in names)[: torch.cuda.device_count()]
