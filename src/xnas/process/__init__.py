"""The process around a run: signals, output streams, devices, memory, versions, folders."""

__all__: list[str] = []
