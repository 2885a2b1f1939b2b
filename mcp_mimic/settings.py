"""What `mcp-mimic serve` is told: which store, whose chart, where the audit goes, how it is reached."""

from dataclasses import dataclass
from pathlib import Path

from mcp_mimic.contract import Grant
from mcp_mimic.errors import SettingsError
from mcp_mimic.governance.grant import grant_from_flags, read_grant


@dataclass(frozen=True)
class ServeSettings:
    """One server's settings. The grant comes from `grant_file`, or from `patient` and `as_of`.

    `corpus` is the folder of policy documents. `http` serves streamable HTTP on `host` and `port` (0: any free one) instead of stdio. `allow_hosts` are
    names that clients may use in the Host header besides localhost and the address itself.
    """

    store: Path
    grant_file: Path | None = None
    patient: int | None = None
    as_of: str | None = None
    sealed_hadm_id: int | None = None
    audit: Path | None = None
    corpus: Path | None = None
    http: bool = False
    host: str = "127.0.0.1"
    port: int = 8000
    allow_hosts: tuple[str, ...] = ()

    def grant(self) -> Grant:
        """The grant that the settings mean; SettingsError if they name none or two."""
        flags = (self.patient, self.as_of, self.sealed_hadm_id)
        if self.grant_file is not None:
            if any(flag is not None for flag in flags):
                raise SettingsError(
                    "both a grant file and flags say whose chart is served",
                    "give --grant FILE alone, or --patient and --as-of",
                )
            return read_grant(self.grant_file)
        if self.patient is None or self.as_of is None:
            raise SettingsError(
                "no grant, no chart", "give --grant FILE, or --patient SUBJECT and --as-of TIME"
            )
        return grant_from_flags(self.patient, self.as_of, self.sealed_hadm_id)
