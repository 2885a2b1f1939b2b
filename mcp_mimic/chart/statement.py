"""Reading a client's SQL before any of it runs: one SELECT, over the chart's tables, of known functions.

Whatever is not named here is refused: kinds of statements, parts of a query, tables, functions. DuckDB
counts `with x as (insert …) select …` as a SELECT and has table functions that change settings or read
files, so the parsed query is walked whole.
"""

import json
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb

from mcp_mimic.errors import ToolError

_READING_NODES = frozenset({"SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE"})
_SOURCES = frozenset(
    {"BASE_TABLE", "SUBQUERY", "JOIN", "EXPRESSION_LIST", "EMPTY", "TABLE_FUNCTION", "PIVOT", "COLUMN_DATA"}
)
_PLAIN_PARTS = frozenset(
    {
        *("ORDER_MODIFIER", "LIMIT_MODIFIER", "DISTINCT_MODIFIER"),
        *("ORDER_DEFAULT", "ASCENDING", "DESCENDING"),
    }
)
_EXPRESSIONS = frozenset(
    {
        *("COLUMN_REF", "CONSTANT", "COMPARISON", "CONJUNCTION", "OPERATOR", "CASE", "CAST", "SUBQUERY"),
        *("STAR", "BETWEEN", "LAMBDA", "LAMBDA_REF", "COLLATE", "FUNCTION", "WINDOW"),
        *("POSITIONAL_REFERENCE", "TYPE"),
    }
)

TABLE_FUNCTIONS = frozenset({"range", "generate_series", "unnest"})

_FUNCTIONS = """
abs acos add age any_value apply approx_count_distinct approx_quantile arbitrary arg_max arg_max_null
arg_min arg_min_null array_agg array_append array_concat array_contains array_distinct array_extract
array_filter array_has array_has_all array_has_any array_length array_position array_prepend array_reverse
array_slice array_sort array_to_string array_transform ascii asin atan atan2 avg bit_and bit_count bit_or
bit_xor bool_and bool_or cardinality cbrt ceil ceiling char_length character_length chr concat concat_ws
contains corr cos cot count count_if count_star covar_pop covar_samp cume_dist date_add date_diff
date_part date_sub date_trunc datediff datepart datesub datetrunc day dayname dayofmonth dayofweek
dayofyear decade degrees dense_rank divide element_at ends_with entropy epoch epoch_ms even exp fdiv fill
filter first first_value flatten floor fmod format fsum generate_series greatest hash histogram hour if
ilike_escape instr isfinite isinf isnan isodow isoyear jaccard jaro_similarity jaro_winkler_similarity
julian kahan_sum kurtosis lag last last_day last_value lcase lead least left len length levenshtein
like_escape list list_aggregate list_append list_apply list_avg list_cat list_concat list_contains
list_count list_distinct list_extract list_filter list_first list_has list_has_all list_has_any list_last
list_max list_median list_min list_position list_prepend list_reduce list_reverse list_slice list_sort
list_sum list_transform list_unique list_value list_zip listagg ln log log10 log2 lower lpad ltrim mad
make_date make_time make_timestamp map map_contains map_entries map_extract map_from_entries map_keys
map_values max max_by md5 mean median microsecond millisecond min min_by minute mod mode month monthname
multiply not_ilike_escape not_like_escape nth_value ntile nullif ord percent_rank pi position pow power
prefix product quantile quantile_cont quantile_disc quarter radians range rank regexp_escape
regexp_extract regexp_extract_all regexp_full_match regexp_matches regexp_replace regexp_split_to_array
regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy repeat replace
reverse right round row row_number rpad rtrim second sem sign sin skewness split split_part sqrt
starts_with stddev stddev_pop stddev_samp str_split strftime string_agg string_split string_split_regex
strip_accents strlen strpos strptime struct_extract struct_insert struct_keys struct_pack substr substring
subtract suffix sum sum_no_overflow sumkahan tan time_bucket timezone to_days to_hours to_microseconds
to_milliseconds to_minutes to_months to_quarters to_seconds to_weeks to_years translate trim trunc
try_strptime typeof ucase unicode unnest unpivot_list upper var_pop var_samp variance wavg week weekday
weekofyear weighted_avg year yearweek
"""

FUNCTIONS = frozenset(_FUNCTIONS.split())
"""What a question about a chart needs; nothing that reads settings, files, clocks, sequences or other SQL."""

_BLANK = "; \t\r\n"
_OPERATOR = re.compile(r"[^\w\s]+")


@dataclass(frozen=True)
class Statement:
    """One SELECT that may run, and the tables of the chart that it names."""

    sql: str
    tables: tuple[str, ...]


def require_some(sql: str) -> None:
    """Refuse what holds nothing, for which no engine is needed; ToolError with the code `query.select`."""
    if not sql.strip(_BLANK):
        raise ToolError(*_no_select([]), code="query.select")


def read_statement(connection: duckdb.DuckDBPyConnection, sql: str, tables: Collection[str]) -> Statement:
    """The SELECT that `sql` is, over some of `tables` (`schema.table`); ToolError says why it is none.

    `connection` only parses. Codes: `query.select`, `query.part`, `query.table`, `query.function` for what
    is refused, `sql.syntax` for what cannot be read.
    """
    try:
        kinds = [statement.type for statement in connection.extract_statements(sql)]
    except duckdb.Error as error:
        raise ToolError(first_line(error), "mend the SQL (DuckDB's dialect)", code="sql.syntax") from error
    if kinds != [duckdb.StatementType.SELECT]:
        raise ToolError(*_no_select(kinds), code="query.select")
    row = connection.execute("select json_serialize_sql(?::varchar)", [sql]).fetchone()
    try:
        tree = json.loads(row[0]) if row else {}
    except RecursionError as error:
        raise ToolError("the query is nested too deeply", "flatten it", code="query.part") from error
    if tree.get("error") is not False:
        raise ToolError("this form of SELECT is not answered", "write a plain SELECT", code="query.part")
    named: set[str] = set()
    ctes: set[str] = set()
    for part in _parts(tree["statements"]):
        _require_known(part)
        ctes |= {entry["key"].lower() for entry in part.get("cte_map", {}).get("map", ())}
        if part.get("type") == "BASE_TABLE" and "class" not in part:
            named.add(_table_name(part))
    return Statement(sql, _resolved(named, ctes, tables))


def _no_select(kinds: Sequence[duckdb.StatementType]) -> tuple[str, str]:
    """What is sent instead of one SELECT, and what to send."""
    if not kinds:
        return "there is no statement in it", "send one SELECT"
    if len(kinds) > 1:
        return (
            f"{len(kinds)} statements are sent, and only one SELECT is answered",
            "send one at a time; a semicolon may stand at its end only",
        )
    if kinds[0] == duckdb.StatementType.MULTI:
        return (
            "a PIVOT that has to look for its columns first is not answered",
            "name its values (PIVOT … ON column IN (…)), or count with FILTER (WHERE …)",
        )
    return (
        f"{kinds[0].name.replace('_', ' ')} is not answered: a chart is only read",
        "send a SELECT, with WITH before it if you like; the tool's description lists the tables and columns",
    )


def first_line(error: Exception) -> str:
    """What an error says in its first sentence, without the advice and the drawing below it."""
    return str(error).strip().split("\n\n")[0].replace("\n", " ")[:300]


def _parts(tree: Any) -> Iterator[dict[str, Any]]:
    waiting = [tree]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            yield part
            waiting.extend(part.values())
        elif isinstance(part, list):
            waiting.extend(part)


def _require_known(part: dict[str, Any]) -> None:
    kind = part.get("type")
    if "class" in part:
        known = part["class"] in _EXPRESSIONS
    elif isinstance(kind, str) and ("alias" in part or kind.endswith(("_NODE", "_MODIFIER"))):
        known = kind in _READING_NODES | _SOURCES | _PLAIN_PARTS
    else:
        known = True
    if not known:
        raise ToolError(*_no_reading(str(part.get("class") or kind)), code="query.part")
    if part.get("at_clause") is not None:
        raise ToolError(
            "a table AT another version or time is not answered",
            "leave AT out: the chart is of one moment",
            code="query.part",
        )
    if "function_name" in part:
        _require_function(part)
    elif kind == "TABLE_FUNCTION" and part["function"]["function_name"].lower() not in TABLE_FUNCTIONS:
        raise _refused_function(part["function"]["function_name"])


def _no_reading(kind: str) -> tuple[str, str]:
    """What is wrong with a part that is no reading SELECT, and what to write."""
    if kind == "SHOW_REF":
        return (
            "DESCRIBE, SHOW and SUMMARIZE are not answered",
            "see the tool's description, which lists the tables and their columns",
        )
    if kind == "PARAMETER":
        return "a parameter of the query has no value here", "write the value itself into the query"
    if kind.endswith("_QUERY_NODE"):
        verb = kind.removesuffix("_QUERY_NODE")
        return f"{verb} is not answered: a chart is only read", "write a SELECT in its place"
    return (
        "a part of this query is not answered (only reading SELECTs over the chart's tables are)",
        "write a plain SELECT",
    )


def _require_function(part: dict[str, Any]) -> None:
    name = part["function_name"].lower()
    qualified = part.get("schema") or part.get("catalog")
    if qualified:
        raise ToolError(
            f"the function {name[:60]} is not answered with a schema before its name",
            "write its name alone",
            code="query.function",
        )
    if not (name in FUNCTIONS or name in TABLE_FUNCTIONS or _OPERATOR.fullmatch(name)):
        raise _refused_function(part["function_name"])


def _refused_function(name: str) -> ToolError:
    return ToolError(
        f"the function {name[:60]} is not answered",
        "use the usual functions on numbers, texts, times and lists",
        code="query.function",
    )


def _table_name(part: dict[str, Any]) -> str:
    names = (part.get("catalog_name"), part.get("schema_name"), part.get("table_name"))
    return ".".join(name.lower() for name in names if name)


def _resolved(named: Collection[str], ctes: Collection[str], tables: Collection[str]) -> tuple[str, ...]:
    """The chart's tables among the names; a name without a schema may be a table's own or a WITH's."""
    found: set[str] = set()
    for name in named:
        meant = {table for table in tables if name in (table, table.partition(".")[2])}
        if not meant and name not in ctes:
            raise ToolError(
                f"there is no table {name[:60]} in the chart",
                "name one of the tables in the tool's description, such as hosp.labevents",
                code="query.table",
            )
        found |= meant
    return tuple(sorted(found))
