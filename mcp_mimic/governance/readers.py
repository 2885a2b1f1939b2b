"""Who reads a credentialed chart: models that the operator names, each with the agreement it runs under."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from mcp_mimic.errors import SettingsError


class Reader(BaseModel):
    """A model, and the agreement that lets it read a credentialed store."""

    model_config = ConfigDict(extra="forbid", frozen=True, str_strip_whitespace=True)

    model: str = Field(min_length=1, max_length=200)
    agreement: str = Field(min_length=1, max_length=500)

    def __str__(self) -> str:
        return f"{self.model} ({self.agreement})"


def _parsed(value: Any) -> Any:
    """`MODEL=AGREEMENT` as it stands on a command line; anything else as it is."""
    if not isinstance(value, str):
        return value
    model, found, agreement = value.partition("=")
    if not found:
        raise ValueError("write it as MODEL=AGREEMENT")
    return {"model": model, "agreement": agreement}


NamedReader = Annotated[Reader, BeforeValidator(_parsed)]
"""A reader, or the text `MODEL=AGREEMENT`."""


def require_readers(store: Path, classification: str, readers: Sequence[Reader]) -> None:
    """SettingsError for a credentialed store that no reader is named for; any other may be read by anything."""
    if classification == "credentialed" and not readers:
        raise SettingsError(
            f"the store {store} is credentialed, and no model is named that may read it",
            "name what will read it and the agreement it runs under: --reader 'MODEL=AGREEMENT', or readers in "
            "the settings file; see DATA_ACCESS.md",
            code="unnamed_reader",
        )
