"""Scenario folders: a question as data, loaded into models that forbid unknown keys.

A folder `NN-slug` holds scenario.toml, cohort.sql, adjudicate.sql, evidence.sql, rubrics.toml,
policy_rubrics.toml and plants.toml. adjudicate.sql gives `task_id, verdict, rule`; further columns are
facts of the case that the expressions of `[[evidence]]` may use. A fact `eligible` that is false says
that the case is too close to call and must not be sampled.
"""

import re
import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import Field, ValidationError, model_validator

from harness.data import data_folder
from harness.errors import ScenarioError
from harness.review.signoff import SIGNOFF_FILE, Signer, counts_for, standing_of
from harness.rubric import DataModel, Identifier, PolicyRubric, Rubric, Sought, Source, Text
from harness.sources import narrowing_problem, table_of
from mcp_mimic.contract import VERDICTS
from mcp_mimic.text.slips import first_slip

Verdict = Literal["yes", "no", "lack_of_data", "medical_ambiguity"]
Expression = Annotated[str, Field(min_length=1)]
"""A DuckDB expression over the columns of `task` and the columns that adjudicate.sql returns."""

Value = str | int | float | bool

if get_args(Verdict) != VERDICTS:
    raise AssertionError("harness.scenario.Verdict differs from mcp_mimic.contract.VERDICTS")


class Search(DataModel):
    """A window of one source, narrowed to items, names or terms, that a search must cover.

    `source` is an official table, or the text of a table of notes (`note.discharge.text`). `names` is a
    case-insensitive regular expression of the store's names. `terms` are what is sought itself: of a text whole
    words in a row, open where they have a `*`; of a table any part of a name. `from` and `to` are expressions,
    both ends included; None is open, and `to` never passes as_of. `when` says for which cases the entry counts.
    """

    source: Source
    items: tuple[int, ...] | None = Field(default=None, min_length=1)
    names: Text | None = None
    terms: tuple[Sought, ...] | None = Field(default=None, min_length=1)
    from_: Expression | None = Field(default=None, alias="from")
    to: Expression | None = None
    when: Expression | None = None

    @model_validator(mode="after")
    def _can_be_made(self) -> Self:
        if problem := narrowing_problem(self.source, self.items, self.names, self.terms):
            raise ValueError(problem)
        if self.names is not None:
            try:
                re.compile(self.names)
            except re.error as error:
                raise ValueError(f"names is no regular expression: {error}") from error
        return self


class Evidence(DataModel):
    """One requirement: what an adequate answer rests on, for the verdicts and cases it applies to.

    `rows` is met by one alternative of evidence.sql; its `search` only says where to look. `absence` is
    met by cited searches that together cover every entry of `search` (with `any`: one entry), `series`
    by one single cited search an entry. `when` narrows the requirement to some cases.
    """

    id: Identifier
    verdicts: tuple[Verdict, ...] = Field(min_length=1)
    kind: Literal["rows", "absence", "series"]
    when: Expression | None = None
    any: bool = False
    search: tuple[Search, ...] = ()

    @model_validator(mode="after")
    def _search_fits(self) -> Self:
        if self.kind != "rows" and not self.search:
            raise ValueError(f"evidence {self.id}: kind {self.kind} needs at least one search")
        for search in self.search:
            if self.kind == "rows" and (table := table_of(search.source)) != search.source:
                raise ValueError(f"evidence {self.id}: rows are found in a table: name {table}, not its text")
        if self.any and self.kind != "absence":
            raise ValueError(f"evidence {self.id}: any belongs to kind absence only")
        return self


class Reading(DataModel):
    """An accepted alternative reading of the definitions: the params it replaces, and who accepts it."""

    id: Identifier
    text: Text
    params: dict[str, Value] = Field(min_length=1)
    source: Text


class Reference(DataModel):
    """A publication behind the rules; facts only, no text of it."""

    id: Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]*$")]
    text: Text
    doi: Annotated[str, Field(pattern=r"^10\.\d{4,}/\S+$")] | None = None
    url: Annotated[str, Field(pattern=r"^https://\S+$")] | None = None


class ScenarioFile(DataModel):
    """scenario.toml. Only `question` and `definitions` reach the agent."""

    id: Annotated[str, Field(pattern=r"^\d{2}-[a-z0-9]+(-[a-z0-9]+)*$")]
    version: int = Field(ge=1)
    title: Text
    domain: Text
    question: Text
    definitions: tuple[Text, ...] = Field(min_length=1)
    index_event: Text
    as_of: Literal["before", "after"]
    criteria: dict[Verdict, Text]
    mix: dict[Verdict, Annotated[int, Field(ge=0)]]
    params: dict[str, Value] = Field(default_factory=dict)
    reading: tuple[Reading, ...] = ()
    evidence: tuple[Evidence, ...] = Field(min_length=1)
    policies: tuple[Text, ...] = ()
    reference: tuple[Reference, ...] = Field(min_length=1)
    clinician_reviewed: bool
    reviewers: tuple[Text, ...] = ()

    @property
    def wanted(self) -> tuple[Verdict, ...]:
        """The verdicts of which the mix wants cases."""
        return tuple(verdict for verdict, count in self.mix.items() if count)

    @model_validator(mode="after")
    def _whole(self) -> Self:
        for name, table in (("criteria", self.criteria), ("mix", self.mix)):
            if missing := [verdict for verdict in VERDICTS if verdict not in table]:
                raise ValueError(f"{name} lacks {', '.join(missing)}")
        if self.clinician_reviewed != bool(self.reviewers):
            raise ValueError("clinician_reviewed and reviewers must agree: a sign-off has names")
        _require_unique("evidence", [item.id for item in self.evidence])
        _require_unique("reading", [item.id for item in self.reading])
        for verdict in VERDICTS:
            if not any(verdict in item.verdicts for item in self.evidence):
                raise ValueError(f"no evidence requirement applies to the verdict {verdict}")
        for reading in self.reading:
            if unknown := sorted(set(reading.params) - set(self.params)):
                raise ValueError(f"reading {reading.id} replaces params that do not exist: {unknown}")
        if unknown_fields := sorted(set(re.findall(r"\{(.*?)\}", self.question)) - {"index_time", "as_of"}):
            raise ValueError(
                f"question: only {{index_time}} and {{as_of}} can be filled in, not {unknown_fields}"
            )
        return self


class Scenario(ScenarioFile):
    """A whole scenario folder."""

    folder: Path
    cohort_sql: Text
    adjudicate_sql: Text
    evidence_sql: Text
    rubric: Rubric
    policy_rubric: PolicyRubric
    signers: tuple[Signer, ...] = ()
    """Clinicians whose sign-off holds; `reviewers` are those of them who count for the charts in question."""
    lapsed: tuple[Text, ...] = ()
    """Clinicians whose sign-off does not hold, because the scenario changed since."""

    @property
    def slug(self) -> str:
        """The id without its number; sampling hashes use it."""
        return self.id.split("-", 1)[1]

    @property
    def number(self) -> str:
        """The id's number, two digits."""
        return self.id.split("-", 1)[0]

    @property
    def readings(self) -> tuple[Reading, ...]:
        """The accepted alternative readings."""
        return self.reading

    def on(self, classification: str) -> "Scenario":
        """The same scenario, signed by those only whose sign-off counts for a store of this classification."""
        names = [str(one) for one in self.signers if counts_for(one.classification, classification)]
        return self.model_copy(update={"clinician_reviewed": bool(names), "reviewers": tuple(names)})

    def at_most(self, cases: int) -> "Scenario":
        """The same scenario, of which at most so many cases of each verdict are wanted."""
        return self.model_copy(
            update={"mix": {verdict: min(wanted, cases) for verdict, wanted in self.mix.items()}}
        )

    @property
    def plants(self) -> Path:
        """The file with the timed events that realise each class in a synthetic chart."""
        return self.folder / "plants.toml"

    @model_validator(mode="after")
    def _rubrics_fit(self) -> Self:
        requirements = {item.id for item in self.evidence}
        _require_unique("rubrics item", [item.id for item in self.rubric.item])
        for item in self.rubric.item:
            wanted = getattr(item.check, "requirement", None)
            if wanted is not None and wanted not in requirements:
                raise ValueError(f"rubrics item {item.id} checks an unknown requirement {wanted}")
        documents = {*self.policies, *(reference.id for reference in self.reference)}
        for policy in self.policy_rubric.item:
            if policy.document not in documents:
                raise ValueError(
                    f"policy_rubrics item {policy.id} names {policy.document}, no policy or reference"
                )
        return self


def _require_unique(what: str, ids: list[str]) -> None:
    if doubled := sorted({item for item in ids if ids.count(item) > 1}):
        raise ValueError(f"{what} ids occur twice: {', '.join(doubled)}")


def load_scenario(folder: Path) -> Scenario:
    """Read one scenario folder; ScenarioError names the file, the key and what to do."""
    file = folder / "scenario.toml"
    head = _parse(ScenarioFile, _toml(file), file)
    if head.id != folder.name:
        raise ScenarioError(f"{file}: id is {head.id}", f"id must be the folder's name, {folder.name}")
    if head.clinician_reviewed:
        raise ScenarioError(
            f"{file}: clinician_reviewed is true",
            f"leave it false: the sign-off is {SIGNOFF_FILE} beside it, which `harness review --import` writes",
        )
    for name in ("plants.toml", "cohort.sql", "adjudicate.sql", "evidence.sql"):
        _text(folder / name)
    rubrics = {name: _toml(folder / name) for name in ("rubrics.toml", "policy_rubrics.toml")}
    standing = standing_of(folder, head.version, head.wanted)
    whole = head.model_dump(by_alias=True) | {
        "clinician_reviewed": bool(standing.signed),
        "reviewers": tuple(map(str, standing.signed)),
        "signers": standing.signed,
        "lapsed": tuple(map(str, standing.lapsed)),
        "folder": folder,
        "cohort_sql": _text(folder / "cohort.sql"),
        "adjudicate_sql": _text(folder / "adjudicate.sql"),
        "evidence_sql": _text(folder / "evidence.sql"),
        "rubric": _parse(Rubric, rubrics["rubrics.toml"], folder / "rubrics.toml"),
        "policy_rubric": _parse(PolicyRubric, rubrics["policy_rubrics.toml"], folder / "policy_rubrics.toml"),
    }
    return _parse(Scenario, whole, file)


def load_scenarios(root: Path | None = None) -> list[Scenario]:
    """Every determination scenario under `root` (default: those that come with the harness), by id."""
    root = root or data_folder("scenarios") / "determination"
    folders = sorted(path.parent for path in root.glob("*/scenario.toml"))
    if not folders:
        raise ScenarioError(
            f"no scenario in {root}", "name a folder that holds NN-slug/scenario.toml folders"
        )
    return [load_scenario(folder) for folder in folders]


def _text(path: Path) -> str:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise ScenarioError(
            f"{path} is missing", "add it; a scenario folder needs all seven files"
        ) from error
    except UnicodeDecodeError as error:
        raise ScenarioError(f"{path} is not UTF-8", "save it as UTF-8") from error
    if not text.strip():
        raise ScenarioError(f"{path} is empty", "fill it or remove the scenario folder")
    return text


def _toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(_text(path))
    except tomllib.TOMLDecodeError as error:
        raise ScenarioError(f"{path} is not valid TOML: {error}", "correct the line it names") from error


def _parse[M: DataModel](model: type[M], data: dict[str, Any], path: Path) -> M:
    try:
        return model.model_validate(data)
    except ValidationError as error:
        slip = first_slip(error, model, data)
        raise ScenarioError(f"{path}: {slip}", slip.remedy) from error
