"""`xnas data`: which datasets there are, where they are, whether they are complete, how to get them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from xnas.cli.flags import GROUPS, JSON, takes
from xnas.cli.printing import say, say_document, watched
from xnas.data_options import DataOptions
from xnas.errors import ConfigError, DatasetError
from xnas.options import flag_name
from xnas.words import counted, printable

if TYPE_CHECKING:
    from xnas.data import Known


@takes(DataOptions)
def data(
    name: str | None = None,
    /,
    *,
    download: Annotated[bool, Parameter(group=GROUPS["Data"])] = False,
    unpack: Annotated[Path | None, Parameter(group=GROUPS["Data"])] = None,
    check: Annotated[bool, Parameter(group=GROUPS["Data"])] = False,
    as_json: Annotated[bool, JSON] = False,
    **typed: Any,  # noqa: ANN401 - options
) -> None:
    """List the datasets, or describe one of them or a folder of images.

    Exits with status 2 for a folder that a run would refuse. All options but --data-dir, --download and
    --unpack are for folders, and show what a run with them would make of the images.

    Parameters
    ----------
    name
        A dataset, a folder of images or a table of labels; without it, all datasets are listed.
    download
        Fetch the dataset, through torchvision, into --data-dir, $XNAS_DATA or ./data.
    unpack
        Unpack this archive (.tar, .tar.gz, .zip) of the dataset into that folder.
    check
        Decode every image file, and name each that cannot be read.
    """
    # The help of the command does without torch, which these import.
    from xnas.cli.data_description import described  # noqa: PLC0415
    from xnas.cli.data_record import data_record  # noqa: PLC0415
    from xnas.data import CATALOGUE  # noqa: PLC0415
    from xnas.data.datasets import require_options_of  # noqa: PLC0415
    from xnas.data.places import data_folders  # noqa: PLC0415

    options = DataOptions(**typed)
    try:
        if name is not None:
            require_options_of(name, options)
        _require_folder(name, [option for option in typed if option != "data_dir"])
        done = []
        if download or unpack is not None:
            if name not in CATALOGUE:
                names = ", ".join(CATALOGUE)
                got = "" if name is None else f", got {name}"
                raise ConfigError(f"--download and --unpack need a dataset's name{got}: {names}")
            done = _obtained(CATALOGUE[name], data_folders(options.data_dir)[0], unpack)
        checked: dict[str, Any] | None = None
        if as_json:
            record, refusal = data_record(name, options)
        else:
            lines, refusal = described(name, options, decoded=check)
        if check:
            checked, refusal = _checked(name, options, refusal)
    except OSError as error:
        raise DatasetError(
            f"cannot read {error.filename} ({error.strerror}); give folders that you may read"
        ) from error
    if as_json:
        say_document("data", record | {"checked": checked, "refusal": refusal})
    else:
        say("\n".join(map(printable, done + lines + _check_lines(checked))))
    if refusal:
        raise DatasetError(f"a run would refuse {name}: {refusal}")


def _require_folder(name: str | None, typed: list[str]) -> None:
    """Raise if options for folders were typed without one."""
    from xnas.data import DATASETS  # noqa: PLC0415 - imports torch

    if typed and (name is None or name in DATASETS):
        given = "no folder" if name is None else f"the dataset {name}"
        flags = ", ".join(map(flag_name, typed))
        raise ConfigError(f"{flags}: for a folder of images, got {given}; leave it out")


def _checked(
    name: str | None, options: DataOptions, refusal: str | None
) -> tuple[dict[str, Any], str | None]:
    """Decode all image files: the bad ones, and why a run would refuse the folder."""
    from xnas.data.checking import check_files, files_of  # noqa: PLC0415 - imports torch

    index = files_of(name, options)
    total = len(index.train) + len(index.test)
    bad: list[str] = []
    with watched("image") as advance:
        for done, error in enumerate(check_files(index), start=1):
            if error is not None:
                bad.append(str(error))
            advance(done, total)
    if bad and not refusal and not options.skip_bad_images:
        refusal = f"{counted(len(bad), 'image')} cannot be read; --skip-bad-images leaves them out"
    return {"images": total, "bad": bad}, refusal


def _check_lines(checked: dict[str, Any] | None) -> list[str]:
    if checked is None:
        return []
    bad = checked["bad"]
    counts = f"all {checked['images']:,} images were decoded; {counted(len(bad), 'bad file')}"
    return [*(f"bad: {error}" for error in bad), counts]


def _obtained(known: Known, folder: Path, archive: Path | None) -> list[str]:
    from xnas.data.obtain import download  # noqa: PLC0415 - imports torch
    from xnas.data.unpack import unpack  # noqa: PLC0415 - imports torch

    if archive is not None:
        return [f"unpacked into {unpack(archive, known, folder)}"]
    return [f"downloaded into {download(known, folder)}"]
