"""The process around a run: signals, streams, devices, memory, versions, folders."""

__all__: list[str] = []
