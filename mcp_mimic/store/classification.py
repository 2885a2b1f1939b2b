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
    "hosp.patients": "4686406509e63bf9d40a2ab991fca796244b3ca982eb15654590294a8e9d4471",
    "hosp.admissions": "2bdde55e729ea11284160a3015532ff35dd476c78681dea243e00f452f651a25",
    "hosp.transfers": "e38438008d9833ecfde2f9476c383e56107f5f5fe77e6681ee4ab7eecdc58a3d",
    "hosp.services": "227727fa4dcc4dc716136a66fcc30d690431bbcca48468f8ab8edec8f5bb23b1",
    "hosp.labevents": "b1c122519da9611970da4ed0afbc115e35d42d039e6ae53fb9ba7427e3aa7378",
    "hosp.microbiologyevents": "1174d25f6fd60c8a10801d365d2ed5ef1d3cb26b3107ac6d1206cc1c2476678d",
    "hosp.emar": "3f1d1667f3996f89bc9e1fb05fcc5a0c79df4172d97ba6f5c7a3565ee3eeb816",
    "hosp.emar_detail": "db28d7c74e6d8e38cd2f1fde8e59a460e8ccc6b5b3d67f596d6f3a45ea10a5b0",
    "hosp.prescriptions": "44b80e815282ec4216eea927ed45ca0750715f2b283f405f216a25a74dd8b23c",
    "hosp.pharmacy": "8e82d53387d8ae4c5136a965e29f65b6f6290e42a406be7df6c921d77cda8f30",
    "hosp.poe": "5c358b8a2af8852208edc791cf67e1b2ec4935363ea7f77d1bed7c24245395c1",
    "hosp.poe_detail": "4a4fbb6a5e31e7942c1bed4729d09a661dafa76326ce3c0125874145bab81fa1",
    "hosp.omr": "33545ef8c5e2a3eb6520679a4b7162491ab5a3fe32112908fc0b78f8e23b2742",
    "hosp.diagnoses_icd": "ca915cbc74831180501ab436612342a3907c5accbfc3c947d00a17d3e7743559",
    "hosp.procedures_icd": "8a5d94d0a69cf1bd25258e9910b3c236a2e85e93e8d636985dc6a66a7e0a41a4",
    "hosp.drgcodes": "c3e21c6a109b5687ff58919c689aee88568fbc48a768bc3cd391b8a3766bfeb6",
    "hosp.hcpcsevents": "68a41b7338b1e1b34c91adfd9709b396fcc945d3ebc578a6d5a875aeb93b436d",
    "icu.icustays": "7d7f5004d87c339018ffbcee345ed8b09f50ac1b54999315c83c7eb99bf431e8",
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
