"""What can go wrong, by name.

Every error of this package says in one line what was wrong, what was given and what would work. The
command line prints that line and exits with status 2.

    XnasError
    ├── ConfigError (a ValueError)   a setting, an argument or a tensor that cannot be used
    └── RoundError (a ValueError)    a round that Algorithm 1 cannot play
"""

from __future__ import annotations


class XnasError(Exception):
    """Root of the errors a user can act upon."""


class ConfigError(XnasError, ValueError):
    """A setting, an argument or a tensor that cannot be used."""


class RoundError(XnasError, ValueError):
    """A round that cannot be played: rewards that are not finite, or a horizon that has passed."""
