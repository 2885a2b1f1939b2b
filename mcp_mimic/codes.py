"""Every code that a refusal or an error carries, with what it means: for the reference, and for programs.

A test holds this to the code: a code that is raised and not listed here fails it, and so does the reverse.
"""

from mcp_mimic.tools.registry import REFUSALS

CALLS = {
    "sealed": "the session is closed and its audit sealed; no further call is possible",
    "unknown_tool": "no tool has that name",
    "grant.tools": "the grant does not include the tool",
    "grant.documents": "the grant does not include the policy document",
    "limits.calls": "the calls of the session are used up",
    "limits.total_chars": "the characters of the session are used up, or the answer would exceed them",
    "limits.chars": "one answer does not fit",
    "limits.seconds": "the call took too long and was stopped",
    "limits.memory": "the query needed too much memory and was stopped",
    "query.select": "not one SELECT",
    "query.part": "a part of the query is no reading SELECT over the chart",
    "query.table": "the query names a table that the chart does not have",
    "query.function": "the query calls a function that is not answered",
    "query.engine": "the engine refused something that lies outside the chart",
    "query.busy": "other queries are still running",
    "query.departed": "the client gave the query up",
    "sql.syntax": "the SQL cannot be read",
    "sql.names": "the SQL names a column or function that there is not",
    "sql.values": "the SQL failed on a value, a conversion say",
    "arguments": "the arguments do not fit the tool's schema",
    "window": "a time cannot be read, or the window ends before it starts",
    "cursor": "the cursor belongs to another query",
    "no_itemids": "the table has no itemids",
    "no_names": "the table has no names to search by",
    "too_broad": "the labels match too many items",
    "query": "the words sought cannot be searched for as they are",
    "unknown_note": "the chart has no such note",
    "unknown_passage": "the note has no such passage",
    "unknown_section": "the note or document has no such section",
    "document_not_here": "the document's text is not in the corpus",
    "bad_report": "the report is too large",
    "no_report_folder": "the server keeps no report, since it has no audit folder",
    "report_unwritten": "the report could not take its place",
    "audit_unavailable": "the call cannot be audited, so it is not answered; the message says why",
    "busy": "with grants: all charts that fit into memory are in use",
    "grant": "with grants: the grant cannot be honoured",
    "chart_unavailable": "with grants: the chart cannot be opened",
    "internal": "a bug; its own message is withheld, since it may hold values",
}
"""Codes of calls, which are the audit's rules too."""

COMMANDS = {
    "store": "a source or store cannot be used",
    "no_store": "no store in that folder",
    "store_exists": "a store is there already",
    "busy": "another import works on the store",
    "missing_table": "a required table has no file",
    "broken_file": "a file is cut off or damaged",
    "columns": "a file lacks a column",
    "bad_row": "a row cannot be read",
    "bad_value": "a value is not of its column's type",
    "release": "the release cannot be told, or is not the one that was named",
    "grant": "a grant cannot be used",
    "unknown_grant": "there is no grant of that id",
    "unknown_tool": "a grant names a tool that there is not",
    "unknown_subject": "the store has no such subject",
    "unknown_admission": "the admission to be sealed is none of the subject's",
    "as_of_before_birth": "the as-of time lies before the patient's birth",
    "as_of_before_record": "a grant is asked for whose chart would be empty: nothing was known by its as-of time",
    "unknown_document": "a grant is asked for with a policy document that the corpus does not name",
    "store_mismatch": "the grant was made for another store",
    "memory": "the chart does not fit into its memory",
    "lock_down": "the chart could not be cut off from everything else",
    "settings": "a setting cannot be used",
    "unnamed_reader": "a credentialed store, and no model is named that may read it",
    "sealed": "the audit is sealed, so its session cannot go on, and no token for it is issued",
    "work_failed": "the work failed, not what was asked for: ends with 1, all others with 2",
}
"""Codes of what stops a command, or keeps a session from being opened; then they are the log's reason."""

TOKENS = {
    "missing": "no bearer token",
    "malformed": "no token of this form, or of another algorithm",
    "signature": "signed with another key, or altered",
    "altered": "not byte for byte as it was issued",
    "no_grant": "no grant is named",
    "no_expiry": "no expiry",
    "claims": "an expiry that is no whole number, or more than grant, store and expiry",
    "audience": "for another store",
    "expired": "past its expiry",
    "unknown_grant": "its grant is not in the folder (any more)",
    "store_mismatch": "its grant's file belongs to another id or store",
    "grant": "its grant's file cannot be read",
}
"""Reasons in the log for a token that was refused; outside, all look the same."""

EVENTS = {
    "listening": "the server answers",
    "readers": "a credentialed store is served, and to whom",
    "no_audit": "no audit is kept",
    "call": "a call was answered: grant, tool, outcome, rule, ms; a warning, and why, if it could not be audited",
    "token_refused": "a request was not let in: reason, and the grant where the signature holds",
    "session_unavailable": "a call could not be given its session: grant, tool, rule, reason",
    "chart_opened": "a grant's chart was read into memory: grant, ms",
    "chart_closed": "a grant's chart was put out of memory",
    "seal_failed": "an audit could not be sealed: reason",
    "stopping": "a signal came: nothing new is begun",
    "stopped": "what was in flight is finished",
    "problem": "something of this server failed: message",
    "library": "a library failed: its name as message, the type of the error as reason",
}
"""Events of the log, with the fields they have besides time and level."""


def is_refusal(code: str) -> bool:
    """Whether a call that ends with `code` was refused, rather than in error."""
    return code == "sealed" or code.startswith(REFUSALS)
