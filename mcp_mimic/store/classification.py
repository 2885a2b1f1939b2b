"""What a store may be used for: synthetic, open or credentialed. Nobody types it; content decides.

- synthetic: the seal of our generator over this very content. The key is public: a seal guards against
  accidents, and any edit breaks it.
- open: the open MIMIC-IV demo 2.2, told by the content of every subject-level hosp table and of
  icu.icustays; the rows of other ICU tables must belong to its subjects and stays.
- credentialed: everything else.
"""

import hashlib
import hmac
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import duckdb

from mcp_mimic.store.content import content_digest, fingerprint
from mcp_mimic.store.integrity import verify
from mcp_mimic.store.manifest import Classification
from mcp_mimic.store.reading import reading, typed_rows
from mcp_mimic.store.sources import find_sources
from mcp_mimic.store.sql import one_row
from mcp_mimic.store.tables import TABLES

SYNTHETIC_SEAL_FILE = "synthetic.seal"

_SEAL_KEY = b"clinicare synthetic hospital, seal version 1"

_DEMO_DIGESTS = {
    "hosp.patients": "6cbcfe179228b2c8a521eb1960a9b5c7856d48a3a801b9f5a42e3a6abfda6577",
    "hosp.admissions": "6fdb57617437bdaa947c0e8b80c17f233859526f212e98bd6e2b0269e772712e",
    "hosp.transfers": "16f20c4a71b202fef3a03eb13645665c58573faffbbd203df5fb4b737d8e33de",
    "hosp.services": "da0e96783ba894024e79f977af49e3a5fe998313f569e41eac834d2ebcd0522e",
    "hosp.labevents": "9666f19a920b414198b6dbc084b09b7e0c42896c281378469b8cf4a840e9b39c",
    "hosp.microbiologyevents": "5768b5afa412c258cd99d6cde1236f521329cfcf629736dbfc8b9e171b03cc1c",
    "hosp.emar": "413fa57616303382a368fe25c1af42960562fefbf1489042ecce1e20dd95411b",
    "hosp.emar_detail": "35a66ac7138a5c260fbebfa4c852fcfcdc7c8a228cf3dcc7a316bc36890c7444",
    "hosp.prescriptions": "6ee27c585c39a1e0525b9d9bf5a451a04f7c214d7d64d25813664843011be556",
    "hosp.pharmacy": "091652b0bc7d68aacad2ec88ed0ed83414491c80828e9cbd0c79d354b35f8a22",
    "hosp.poe": "412f83fb2803c99eb8aa1d57f1dc90dba7410d6c0738cee6f8b297e0b68d896b",
    "hosp.poe_detail": "4a4fbb6a5e31e7942c1bed4729d09a661dafa76326ce3c0125874145bab81fa1",
    "hosp.omr": "33545ef8c5e2a3eb6520679a4b7162491ab5a3fe32112908fc0b78f8e23b2742",
    "hosp.diagnoses_icd": "ca915cbc74831180501ab436612342a3907c5accbfc3c947d00a17d3e7743559",
    "hosp.procedures_icd": "8a5d94d0a69cf1bd25258e9910b3c236a2e85e93e8d636985dc6a66a7e0a41a4",
    "hosp.drgcodes": "99a865078b6ebc5c07336bf5220d697723d4b935540beeb74cf88ed58d76fe78",
    "hosp.hcpcsevents": "68a41b7338b1e1b34c91adfd9709b396fcc945d3ebc578a6d5a875aeb93b436d",
    "icu.icustays": "b13e35de978499ef3517a501c63e0945150f2df110e617429293b7311cedd251",
}
"""Content digests (see `content`) of the demo's subject-level hosp tables and of icu.icustays."""


def seal_synthetic(directory: Path) -> str:
    """Seal the official files in `directory` as synthetic; returns their fingerprint.

    Reads every file once, strictly, as an import would: a hospital that does not fit the layout is not
    sealed. An import verifies the seal against the fingerprint that it takes anyway.
    """
    digests = {}
    with duckdb.connect(":memory:") as connection:
        for name, source in find_sources([directory]).items():
            columns = verify(source).columns
            with reading(source):
                rows = typed_rows(connection, source, columns)
                digests[name] = content_digest(connection, source.table, f"({rows})")
    content = fingerprint(digests)
    (directory / SYNTHETIC_SEAL_FILE).write_text(_seal(content) + "\n", encoding="ascii")
    return content


def is_sealed(folders: Iterable[Path], content: str) -> bool:
    """Whether one of `folders` holds a seal over the fingerprint `content`."""
    for folder in folders:
        try:
            seal = (folder / SYNTHETIC_SEAL_FILE).read_bytes().strip()
        except OSError:
            continue
        if hmac.compare_digest(seal, _seal(content).encode("ascii")):
            return True
    return False


def classify(
    connection: duckdb.DuckDBPyConnection,
    digests: Mapping[str, tuple[int, str]],
    *,
    folders: Sequence[Path],
    content: str,
) -> Classification:
    """Classify the store in `connection` by the (rows, digest) of its tables and the seals in `folders`."""
    if is_sealed(folders, content):
        return "synthetic"
    return "open" if _is_demo(connection, digests) else "credentialed"


def _seal(content: str) -> str:
    return hmac.new(_SEAL_KEY, content.encode("ascii"), hashlib.sha256).hexdigest()


def _is_demo(connection: duckdb.DuckDBPyConnection, digests: Mapping[str, tuple[int, str]]) -> bool:
    return (
        all(digests[name][1] == digest for name, digest in _DEMO_DIGESTS.items())
        and not any(digests[name][0] for name, table in TABLES.items() if table.schema not in ("hosp", "icu"))
        and not any(_strangers(connection, name) for name in _other_icu_tables())
    )


def _other_icu_tables() -> list[str]:
    return [
        name for name, t in TABLES.items() if t.schema == "icu" and t.has_subject and name != "icu.icustays"
    ]


def _strangers(connection: duckdb.DuckDBPyConnection, name: str) -> bool:
    """Whether a row of an ICU table belongs to a subject or a stay that is not in icu.icustays."""
    (strangers,) = one_row(
        connection,
        f"SELECT count(*) FROM (SELECT DISTINCT subject_id, stay_id FROM {name}) r "
        "WHERE NOT EXISTS (FROM icu.icustays s WHERE s.subject_id = r.subject_id "
        "AND (s.stay_id = r.stay_id OR r.stay_id IS NULL))",
    )
    return bool(strangers)
