"""Errors of this package, by what a caller can do about them.

Every error of this package says in one line what was wrong, what was given and what would work. The
command line prints that line and exits with status 2.

    XnasError
    ├── ConfigError (a ValueError)         a setting, an argument or a tensor that cannot be used
    │   ├── DamagedFileError               a file of ours that is damaged, cut short or changed
    │   ├── DeviceError                    a checkpoint that only another kind of device can resume
    │   ├── FinishedError                  a run to be resumed that has nothing left to do
    │   ├── LockedError                    a run folder that another process holds
    │   ├── StorageError                   a full disk, a missing permission: the file system refused
    │   └── UnknownNameError (a KeyError)  a name that a registry does not hold
    ├── DatasetError                       images that are missing, cannot be read or cannot be split
    ├── GenotypeError (a ValueError)       a genotype that cannot be read, written or built
    ├── RankError                          processes of one run that lost each other, or disagree
    ├── RoundError (a ValueError)          a round that Algorithm 1 cannot play
    └── WorkerError                        a job that ended its workers again and again

    VersionError (a ConfigError and a GenotypeError)  a file of a format version that is not supported

`except ConfigError` also catches files that cannot be written or are damaged. A program that retries
elsewhere, or restores a copy, catches `StorageError` or `DamagedFileError` first.
"""

from __future__ import annotations


class XnasError(Exception):
    """Base of all errors that a user can act upon."""


class ConfigError(XnasError, ValueError):
    """A setting, an argument or a tensor that cannot be used."""


class DamagedFileError(ConfigError):
    """A file that this package wrote and cannot read: damaged, cut short or changed."""


class DeviceError(ConfigError):
    """A checkpoint of another kind of device: sound, but this device cannot resume from it."""


class FinishedError(ConfigError):
    """A run to be resumed that has nothing left to do."""


class LockedError(ConfigError):
    """A run folder that another process holds: a program tries again later."""


class StorageError(ConfigError):
    """The file system did not do what was asked: no space, no permission, no such folder."""


class UnknownNameError(ConfigError, KeyError):
    """A name that a registry does not hold. As a KeyError it lets registries be mappings."""

    __str__ = Exception.__str__  # a KeyError would show its message in quotation marks


class DatasetError(XnasError):
    """A dataset that is missing, cannot be read, or is too small to be split."""


class GenotypeError(XnasError, ValueError):
    """A genotype or wiring that cannot be read or written, or that its space does not allow."""


class VersionError(ConfigError, GenotypeError):
    """A file of a format version that this xnas does not read: sound, as far as it can tell."""


class RoundError(XnasError, ValueError):
    """A round that cannot be played: rewards that are not finite, or a horizon that has passed."""


class RankError(XnasError):
    """Processes of one run that lost each other, or no longer hold the same values."""


class WorkerError(XnasError):
    """A job that ended the processes which did it, again and again."""
