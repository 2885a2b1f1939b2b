"""Rubric items of a scenario: of the process behind an answer, and of the policies it rests on.

Checks of a `computed` item, decided from the audit and the citations alone:

- `searched`: some call covered `source`, and of it at least one of `items`, `names` or `terms`, where given;
- `retrieved`: rows that satisfy the evidence requirement `requirement` were served;
- `cited`: the requirement `requirement` is satisfied by what was cited.

An item `judged` is left to a judge, who sees the report and the calls.
"""

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from harness.sources import LONGEST_NAME, TEXT_ROUTES, narrowing_problem
from mcp_mimic.store.tables import TABLES

_POLICY_FILE = "policy_rubrics.toml"


class DataModel(BaseModel):
    """What is read from a data file: unknown keys are errors, and what was read stays as it is."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


def _searchable(source: str) -> str:
    """An official table, or the text of one; ValueError says how to write it."""
    if source in TABLES or source in TEXT_ROUTES:
        return source
    if source.partition(".")[0] in ("policy", "policies"):
        raise ValueError(
            f"{source} is no source: what an answer should say of policies stands in {_POLICY_FILE}"
        )
    texts = ", ".join(TEXT_ROUTES)
    raise ValueError(
        f"{source} is no official table; write it as schema.table, such as hosp.labevents, or {texts} for "
        "what notes say"
    )


Identifier = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
Text = Annotated[str, Field(min_length=1)]
Source = Annotated[str, AfterValidator(_searchable)]
Sought = Annotated[str, Field(min_length=2, max_length=LONGEST_NAME)]
"""A term: as long as the tools take one."""


class Searched(DataModel):
    """A call covered the source, and of it at least one of the items, names or terms, where given.

    What narrows it is that of a search in a requirement: the text of notes needs terms.
    """

    name: Literal["searched"]
    source: Source
    items: tuple[int, ...] | None = Field(default=None, min_length=1)
    names: Text | None = None
    terms: tuple[Sought, ...] | None = Field(default=None, min_length=1)

    @model_validator(mode="after")
    def _can_be_made(self) -> Self:
        if problem := narrowing_problem(self.source, self.items, self.names, self.terms):
            raise ValueError(problem)
        return self


class Fulfilled(DataModel):
    """A requirement was retrieved (served), or cited."""

    name: Literal["retrieved", "cited"]
    requirement: Identifier


Check = Annotated[Searched | Fulfilled, Field(discriminator="name")]


class RubricItem(DataModel):
    """One item of rubrics.toml; a negative weight is a penalty taken when the behaviour occurs."""

    id: Identifier
    text: Text
    weight: int = Field(ge=-5, le=5)
    by: Literal["computed", "judged"]
    check: Check | None = None

    @model_validator(mode="after")
    def _check_fits(self) -> Self:
        if self.weight == 0:
            raise ValueError(f"item {self.id}: a weight of 0 decides nothing")
        if (self.by == "computed") != (self.check is not None):
            raise ValueError(f"item {self.id}: a computed item names a check, a judged one none")
        return self


class PolicyItem(DataModel):
    """One item of policy_rubrics.toml: a statement that the answer should rest on, and where it stands.

    `document` is a policy of the scenario or the id of one of its references; `locator` the passage.
    """

    id: Identifier
    text: Text
    weight: int = Field(ge=1, le=5)
    document: Text
    locator: Text


class Rubric(DataModel):
    """rubrics.toml."""

    item: tuple[RubricItem, ...] = Field(min_length=1)


class PolicyRubric(DataModel):
    """policy_rubrics.toml."""

    item: tuple[PolicyItem, ...] = Field(min_length=1)
