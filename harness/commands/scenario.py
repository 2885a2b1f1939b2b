"""`harness scenario check` and `harness scenario show`: the scenarios as folders that people write and read."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from harness.commands.data import meant_scenario, standing
from harness.errors import ScenarioError
from harness.words import counted

Slugs = Annotated[
    list[str] | None, typer.Argument(help="Ids, numbers, slugs or folders of scenarios. Default: all.")
]

scenario = typer.Typer(
    help="Check and show scenarios.", rich_markup_mode=None, add_completion=False, no_args_is_help=True
)


def register(app: typer.Typer) -> None:
    """Add the commands to the app."""
    app.add_typer(scenario, name="scenario")


@scenario.command()
def check(
    scenarios: Slugs = None,
    store: Annotated[
        Path | None, typer.Option(help="A store on which to try the SQL too, and whose cases to count.")
    ] = None,
) -> None:
    """Check scenario folders: files, SQL, plants, and that a full answer is possible.

    Example: harness scenario check 16 my-scenarios/26-lactate-again
    """
    from harness.scenario import load_scenario
    from harness.scenario_check import check_scenario
    from mcp_mimic.store.store import Store

    chart = None if store is None else Store.open(store)
    bad = 0
    for folder in _folders(scenarios or []):
        found = check_scenario(folder, chart, _tell)
        worth = standing([load_scenario(folder)])
        counts = ", ".join(f"{count} {verdict}" for verdict, count in sorted(found.strata.items())) or "none"
        state = counted(len(found.problems), "problem") if found.problems else "ok"
        carried = f"{counted(found.plants, 'plant')}, {counted(found.carriers, 'patient')}"
        sys.stdout.write(f"{found.scenario}\t{state}\t{carried}\tcases: {counts}\t{worth}\n")
        for problem in found.problems:
            sys.stdout.write(f"  {problem}\n")
        bad += bool(found.problems)
    if bad:
        raise typer.Exit(1)


@scenario.command()
def show(
    scenario: Annotated[str, typer.Argument(help="Id, number, slug or folder of the scenario.")],
) -> None:
    """Print a scenario for a person: question, rules, evidence, corrections of the catalogue.

    Example: harness scenario show severe-hyperkalaemia-treatment
    """
    from harness.scenario import load_scenario
    from harness.scenario_page import scenario_page

    (folder,) = _folders([scenario])
    page = scenario_page(load_scenario(folder))
    if sys.stdout.isatty():
        from rich.console import Console
        from rich.markdown import Markdown

        Console().print(Markdown(page))
    else:
        sys.stdout.write(page)


def _folders(names: list[str]) -> list[Path]:
    """The folders meant; ScenarioError for a name that is none."""
    from harness.data import data_folder

    root = data_folder("scenarios") / "determination"
    shipped = sorted(path.parent for path in root.glob("*/scenario.toml"))
    known = {
        name: folder
        for folder in shipped
        for name in (folder.name, folder.name[:2], folder.name.partition("-")[2])
    }
    return [known.get(name.zfill(2)) or _folder(name, known) for name in names] or shipped


def _folder(name: str, known: Mapping[str, Path]) -> Path:
    """The folder that a path names, which no shipped scenario's name is; ScenarioError if it is no scenario's."""
    path = Path(name).resolve()
    if (path / "scenario.toml").is_file():
        return path
    if path.is_dir():
        raise ScenarioError(
            f"{name} is no scenario: there is no scenario.toml in it",
            "name a folder such as 26-lactate-again",
        )
    if "/" in name:
        raise ScenarioError(f"{name}: no such folder", "check the path")
    raise ScenarioError(
        f"unknown scenario {name!r}",
        meant_scenario(name, known) or "use a folder, or the id, number or slug of one in docs/scenarios.md",
    )


def _tell(text: str) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(f"{text}\n")
