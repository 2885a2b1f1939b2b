"""The official files of MIMIC-IV on disk: which file holds which table.

Tables lie in folders named like their module. The modules that are published without such a folder
(ecg, cxr, echo) are also taken from a folder that holds their files under the published names.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mcp_mimic.errors import StoreError
from mcp_mimic.store.tables import OPTIONAL_SCHEMAS, REQUIRED_SCHEMAS, TABLES, Table

SUFFIXES = (".csv.gz", ".csv", ".parquet")
SCHEMAS = (*REQUIRED_SCHEMAS, *OPTIONAL_SCHEMAS)

_GLOB = frozenset("*?[")


@dataclass(frozen=True)
class SourceFile:
    """The file that one table is read from."""

    table: Table
    path: Path

    @property
    def suffix(self) -> str:
        """`.csv.gz`, `.csv` or `.parquet`."""
        return next(suffix for suffix in SUFFIXES if self.path.name.endswith(suffix))

    @property
    def label(self) -> str:
        """The file as errors and the manifest name it: `hosp/labevents.csv.gz`."""
        return f"{self.table.schema}/{self.path.name}"


def find_sources(folders: Sequence[Path]) -> dict[str, SourceFile]:
    """Find one file a table in `folders`, each holding hosp/, icu/ …, being one of them, or a published module.

    Raises StoreError for a folder without any module, a table in two files, and a missing table of a
    required module. Tables of optional modules may be missing.
    """
    found: dict[str, SourceFile] = {}
    for folder in folders:
        for source in _in_folder(folder):
            _add(found, source)
    _require_all(found, folders)
    return found


def seal_folders(folders: Sequence[Path]) -> list[Path]:
    """Folders in which a synthetic hospital's seal can lie: the sources, and the parents of modules."""
    return [folder.parent if _is_module(folder) else folder for folder in folders]


def _in_folder(folder: Path) -> list[SourceFile]:
    if not folder.is_dir():
        raise StoreError(f"{folder}: no such folder", "give the folder that holds hosp/ and icu/")
    if _is_module(folder):
        return _in_module(folder.resolve())
    modules = _modules_in(folder)
    loose = _files(folder, [table for table in TABLES.values() if _names_its_module(table)])
    if not modules and not loose:
        raise StoreError(
            f"{folder}: holds none of the folders {', '.join(SCHEMAS)}",
            "give the folder of a MIMIC-IV release, the one that holds hosp/ and icu/",
        )
    return [source for directory in modules for source in _in_module(directory)] + loose


def _names_its_module(table: Table) -> bool:
    """Whether the published name of the table's file tells its module where no folder does."""
    return table.schema == "ecg" or bool(table.files)


def _is_module(folder: Path) -> bool:
    """Whether the folder is a module itself; a release may lie in a folder that happens to be named like one."""
    return folder.resolve().name in SCHEMAS and not _modules_in(folder)


def _modules_in(folder: Path) -> list[Path]:
    return [folder / schema for schema in SCHEMAS if (folder / schema).is_dir()]


def _in_module(directory: Path) -> list[SourceFile]:
    tables = [table for table in TABLES.values() if table.schema == directory.name]
    return _files(directory, tables, own_names=True)


def _files(directory: Path, tables: Sequence[Table], *, own_names: bool = False) -> list[SourceFile]:
    """The files of `tables` in `directory` under the names they are published with, or also under the tables'."""
    files = []
    for table in tables:
        stems = table.files if table.files and not own_names else (table.name, *table.files)
        paths = [directory / f"{stem}{suffix}" for stem in stems for suffix in SUFFIXES]
        present = [path for path in paths if path.is_file()]
        if len(present) > 1:
            raise _twice(table, present[0], present[1])
        files += [SourceFile(table, _plain(path)) for path in present]
    return files


def _add(found: dict[str, SourceFile], source: SourceFile) -> None:
    other = found.setdefault(source.table.qualified, source)
    if other.path.resolve() != source.path.resolve():
        raise _twice(source.table, other.path, source.path)


def _twice(table: Table, first: Path, second: Path) -> StoreError:
    return StoreError(
        f"{table.qualified} is there twice: {first} and {second}", "keep one of them and move the other away"
    )


def _plain(path: Path) -> Path:
    if _GLOB & set(str(path.resolve())):
        raise StoreError(
            f"{path}: the path has a wildcard character (* ? [)", "rename the folder, or link to it"
        )
    return path


def _require_all(found: dict[str, SourceFile], folders: Sequence[Path]) -> None:
    for table in TABLES.values():
        if table.schema in REQUIRED_SCHEMAS and table.qualified not in found:
            where = ", ".join(str(folder) for folder in folders)
            raise StoreError(
                f"{table.schema}/{table.name}.csv.gz is missing in {where}",
                _missing_remedy(table.schema, found),
                code="missing_table",
            )


def _missing_remedy(schema: str, found: dict[str, SourceFile]) -> str:
    if all(source.table.schema != schema for source in found.values()):
        return f"give the folder that holds {' and '.join(f'{name}/' for name in REQUIRED_SCHEMAS)}, both with every table"
    return (
        "download the file of the same release (csv.gz, csv or parquet) into that folder; "
        "every table of hosp and icu is needed"
    )
