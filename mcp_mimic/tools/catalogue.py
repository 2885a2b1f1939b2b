"""All tools, built once: what a server adds is chosen by its grant."""

from functools import lru_cache

from fastmcp.tools import Tool

from mcp_mimic.contract import Grant
from mcp_mimic.errors import GrantError
from mcp_mimic.governance.decision import EXPLICIT_TOOLS
from mcp_mimic.tools.diagnoses import get_diagnoses
from mcp_mimic.tools.ecg import get_ecgs
from mcp_mimic.tools.echo import get_echos
from mcp_mimic.tools.ed import get_ed_records, list_ed_visits
from mcp_mimic.tools.encounters import list_encounters
from mcp_mimic.tools.imaging import get_imaging
from mcp_mimic.tools.intake_output import get_intake_output
from mcp_mimic.tools.labs import get_labs
from mcp_mimic.tools.medications import get_medications
from mcp_mimic.tools.microbiology import get_microbiology
from mcp_mimic.tools.note_search import search_notes
from mcp_mimic.tools.notes import list_notes, read_note
from mcp_mimic.tools.observations import get_observations
from mcp_mimic.tools.orders import get_orders
from mcp_mimic.tools.overview import get_patient_overview
from mcp_mimic.tools.policies import read_policy, search_policies
from mcp_mimic.tools.procedures import get_procedures
from mcp_mimic.tools.query_chart import query_chart
from mcp_mimic.tools.search import search_items
from mcp_mimic.tools.submission import submit_determination


@lru_cache(maxsize=1)
def all_tools() -> dict[str, Tool]:
    """Every tool by name, in the order in which a client should meet them."""
    functions = (
        get_patient_overview,
        list_encounters,
        search_items,
        get_labs,
        get_observations,
        get_medications,
        get_intake_output,
        get_procedures,
        get_microbiology,
        get_diagnoses,
        get_orders,
        list_ed_visits,
        get_ed_records,
        get_ecgs,
        get_imaging,
        get_echos,
        list_notes,
        read_note,
        search_notes,
        search_policies,
        read_policy,
        query_chart,
        submit_determination,
    )
    tools = [Tool.from_function(function) for function in functions]
    return {tool.name: tool for tool in tools}


def require_known_tools(grant: Grant) -> None:
    """GrantError if the grant names a tool that there is not."""
    if unknown := set(grant.tools) - {"*", *EXPLICIT_TOOLS, *all_tools()}:
        raise GrantError(
            f"grant {grant.grant} names the unknown tool {min(unknown)[:40]!r}",
            f"name some of: {', '.join(all_tools())}",
            code="unknown_tool",
        )
