"""What can go wrong, by name.

Every error of this package says in one line what was wrong, what was given and what would work. The
command line prints that line and exits with status 2.

    XnasError
    ├── ConfigError (a ValueError)         a setting, an argument or a tensor that cannot be used
    │   ├── DeviceError                    a checkpoint that another kind of device goes on from
    │   ├── FinishedError                  a run to be resumed that has nothing left to do
    │   └── UnknownNameError (a KeyError)  a name that a registry does not hold
    ├── DatasetError                       images that are not there, cannot be read or cannot be split
    ├── GenotypeError (a ValueError)       a genotype that cannot be read, written or built
    ├── RankError                          processes of one run that lost each other, or differ
    └── RoundError (a ValueError)          a round that Algorithm 1 cannot play

    VersionError (a ConfigError and a GenotypeError)  a file of a format version that is not read here
"""

from __future__ import annotations


class XnasError(Exception):
    """Root of the errors a user can act upon."""


class ConfigError(XnasError, ValueError):
    """A setting, an argument or a tensor that cannot be used."""


class DeviceError(ConfigError):
    """A checkpoint of another kind of device: sound, but this one cannot go on from it."""


class FinishedError(ConfigError):
    """A run to be resumed that has nothing left to do."""


class UnknownNameError(ConfigError, KeyError):
    """A name that a registry does not hold. As a KeyError it lets registries be mappings."""

    __str__ = Exception.__str__  # a KeyError would show its message in quotation marks


class DatasetError(XnasError):
    """A dataset that is not there, cannot be read, or is too small to be split."""


class GenotypeError(XnasError, ValueError):
    """A genotype that cannot be read or written, or that its search space does not allow."""


class VersionError(ConfigError, GenotypeError):
    """A file of a format version that this xnas does not read: sound, as far as it can tell."""


class RoundError(XnasError, ValueError):
    """A round that cannot be played: rewards that are not finite, or a horizon that has passed."""


class RankError(XnasError):
    """Processes of one run that lost each other, or no longer hold the same."""
