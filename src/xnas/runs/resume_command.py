"""The command, or the call, that resumes a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from xnas.runs.command_line import flags
from xnas.runs.config_file import KINDS


@dataclass(frozen=True, kw_only=True)
class ResumeCommand:
    """How to resume a run: `str` gives a command line, or a call if images were given in memory."""

    program: str
    """`xnas`, or `torchrun ... -m xnas`."""
    kind: str
    """`search` or `train`."""
    path: Path
    in_memory: bool = False
    changes: Mapping[str, object] = field(default_factory=dict)
    """Settings that were given to this resumption; they are given to the next."""

    def __str__(self) -> str:
        """The command or call."""
        if not self.in_memory:
            return f"{self.program} {self.kind} {flags({'resume': self.path, **self.changes})}"
        changes = [f"{name}={value!r}" for name, value in self.changes.items()]
        arguments = ", ".join([repr(str(self.path)), "data=...", *changes])
        return f"xnas.resume_{KINDS[self.kind]}({arguments}), with the same images"
