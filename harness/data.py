"""Where the data folders are: beside the packages in a checkout, inside the package in a wheel."""

from pathlib import Path

from harness.errors import HarnessError

_PACKAGE = Path(__file__).parent


def data_folder(name: str) -> Path:
    """The folder `scenarios`, `corpus` or `docker`; HarnessError where the installation lacks it."""
    for folder in (_PACKAGE.parent / name, _PACKAGE / "_data" / name):
        if (_is_checkout() or folder.parent.name == "_data") and folder.is_dir():
            return folder
    raise HarnessError(
        f"the data folder {name} is not part of this installation",
        "reinstall clinicare, or run it from a complete checkout",
    )


def _is_checkout() -> bool:
    """A folder of that name beside an installed package may be another distribution's."""
    return (_PACKAGE.parent / "pyproject.toml").is_file()
