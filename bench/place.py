"""Where a run works: made-up files, the stores imported from them, logs; made when they are missing."""

import json
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from subprocess import Popen

from bench.clients import first_answer, http_request
from bench.data import Facts, make
from bench.machine import Ran, free_port, ran, require_disk, running
from mcp_mimic.contract import Grant, Limits
from mcp_mimic.errors import StoreError
from mcp_mimic.store.manifest import MANIFEST_FILE
from mcp_mimic.store.plan import rules
from mcp_mimic.store.store import read_manifest
from mcp_mimic.store.tables import TABLES

STORE_BYTES_AT_FULL = 9_000_000_000
"""Roughly what the store of scale 1 and what sorts it take."""

LABS_ONLY = ("hosp.labevents", "hosp.d_labitems", "hosp.patients", "hosp.admissions")


@dataclass(frozen=True)
class Place:
    """One working folder at one scale."""

    root: Path
    scale: float
    quick: bool = False

    @property
    def data(self) -> Path:
        """The made-up files."""
        return self.root / f"data-{self.scale:g}"

    @property
    def store_folder(self) -> Path:
        """Where their store is, or will be."""
        return self.root / f"store-{self.scale:g}"

    @cached_property
    def facts(self) -> Facts:
        """What the files hold; makes them if they are missing."""
        return make(self.data, self.scale)

    @cached_property
    def store(self) -> Path:
        """The store of the files; imports it if it is missing, or was built by rules that changed since."""
        facts = self.facts
        if not self._is_current():
            shutil.rmtree(self.store_folder, ignore_errors=True)
            require_disk(self.root, round(STORE_BYTES_AT_FULL * self.scale))
            say(f"importing {sum(facts.rows.values()):,} rows")
            import_files(self.data, self.store_folder, self.log("import"))
            if read_manifest(self.store_folder).classification != "synthetic":
                raise RuntimeError(f"{self.data}: made by another version; remove it to have it made again")
        return self.store_folder

    def _is_current(self) -> bool:
        if not (self.store_folder / MANIFEST_FILE).is_file():
            return False
        try:
            return read_manifest(self.store_folder).rules == rules()
        except StoreError:
            return False  # of another format

    @cached_property
    def tenth(self) -> "Place":
        """The same at a tenth of the scale, with the same planted patients."""
        return Place(self.root, self.scale / 10, self.quick)

    @cached_property
    def labs(self) -> Path:
        """A source in which only the labs are at scale; the other tables have a header and no rows."""
        source = self.root / f"labs-{self.scale:g}"
        self.facts  # noqa: B018 the files must be there
        for name, table in TABLES.items():
            if table.schema not in ("hosp", "icu"):
                continue
            file = source / table.schema / f"{table.name}.csv"
            file.parent.mkdir(parents=True, exist_ok=True)
            if name in LABS_ONLY:
                link = file.with_suffix(".csv.gz")
                link.unlink(missing_ok=True)
                link.symlink_to((self.data / table.schema / link.name).resolve())
            else:
                file.write_text(",".join(table.column_names) + "\n")
        return source

    def log(self, name: str) -> Path:
        """A file for what a process says."""
        folder = self.root / "logs"
        folder.mkdir(parents=True, exist_ok=True)
        return folder / f"{name}.log"

    def fresh(self, name: str) -> Path:
        """An empty folder."""
        folder = self.root / "fresh" / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        return folder

    def whose(self, patient: str) -> list[str]:
        """The flags of a planted patient's whole record."""
        subject, as_of = self.facts.subjects[patient], self.facts.as_of[patient]
        return ["--patient", str(subject), "--as-of", as_of]

    @contextmanager
    def serving(self, kind: str, *flags: str, patient: str = "median") -> Iterator[tuple[Popen[bytes], int]]:
        """A measured server that has answered once, and its port; see `bench.serving`."""
        port = free_port()
        command = [sys.executable, "-m", "bench.serving", kind, str(port), *flags]
        if kind == "chart":
            command += ["--store", str(self.store), *self.whose(patient)]
        with running(command, log=self.log(f"serving-{kind}")) as process:
            first_answer(port, http_request("tools/list"), process)
            yield process, port

    def serve_command(self, *flags: str) -> list[str]:
        """The real command over this store and its median patient."""
        return [*MCP_MIMIC, "serve", "--store", str(self.store), "--grant", str(self._unlimited()), *flags]

    def _unlimited(self) -> Path:
        """A grant for the median patient with limits that no measurement reaches."""
        subject, as_of = self.facts.subjects["median"], datetime.fromisoformat(self.facts.as_of["median"])
        grant = Grant("bench", "bench", subject, as_of, limits=Limits(calls=10**9, total_chars=2**31 - 1))
        file = self.root / "grant.json"
        file.write_text(json.dumps(grant.to_json()))
        return file


MCP_MIMIC = (sys.executable, "-c", "from mcp_mimic.cli import main; main()")
"""What the installed `mcp-mimic` runs."""


def import_files(source: Path, store: Path, log: Path) -> Ran:
    """Import by the real command; returns time and peak memory."""
    return ran([*MCP_MIMIC, "import", str(source), "--store", str(store)], log=log)


def say(text: str) -> None:
    """Progress, for people."""
    print(text, file=sys.stderr, flush=True)
