"""query_chart: one SELECT over the chart, what it gives, and each wall that keeps it there by itself."""

import asyncio
import json
import shutil
import subprocess
import sys
import time
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb
import pytest

from mcp_mimic.chart import querying
from mcp_mimic.chart.lockdown import lock_down
from mcp_mimic.chart.query_child import load, run
from mcp_mimic.chart.querying import ChartQuery, QueryLimits, queryable, rows_of
from mcp_mimic.chart.slice import open_slice
from mcp_mimic.chart.statement import FUNCTIONS, TABLE_FUNCTIONS, Statement, read_statement
from mcp_mimic.contract import EID_KINDS, Limits
from mcp_mimic.errors import ToolError
from mcp_mimic.store.store import Store
from mcp_mimic.tools.catalogue import all_tools
from tests.adversarial.sql_attempts import BOMBS, REFUSED_SQL
from tests.hospital import ADA, BEN, BEN_HADM
from tests.mcp_mimic.charts import Session, Told, lab, make_slice, session, shared_slice, size

GRANTED = ("*", "query_chart")
LATE = datetime(2160, 1, 1)


def ask(
    folder: Path, sql: str, rows: Any = None, limits: Limits | None = None
) -> tuple[Told, dict[str, Any]]:
    """One query, and its line in the audit."""

    async def go() -> tuple[Told, dict[str, Any]]:
        async with session(folder, rows, tools=GRANTED, limits=limits or Limits()) as chart:
            told = await chart.call("query_chart", sql=sql)
            return told, dict(chart.last())

    return asyncio.run(go())


# --- what it gives -------------------------------------------------------------------------------------


def test_it_is_there_only_for_a_grant_that_names_it(tmp_path: Path) -> None:
    async def go(folder: str, tools: tuple[str, ...]) -> tuple[bool, str | None]:
        (tmp_path / folder).mkdir()
        async with session(tmp_path / folder, tools=tools) as chart:
            listed = "query_chart" in [tool.name for tool in await chart.client.list_tools()]
            told = await chart.call("query_chart", sql="select 1")
            return listed, told.data.get("error", {}).get("code")

    assert asyncio.run(go("all", ("*",))) == (False, "grant.tools")
    assert asyncio.run(go("some", ("get_labs",))) == (False, "grant.tools")
    assert asyncio.run(go("named", ("get_labs", "query_chart"))) == (True, None)


def test_a_query_counts_and_joins_and_its_text_says_the_same_as_its_rows(tmp_path: Path) -> None:
    told, _ = ask(
        tmp_path,
        "select label, count(*) as n, max(charttime) as latest, min(flag) as flag from hosp.labevents "
        "join hosp.d_labitems using (itemid) group by label order by n desc, label",
    )
    assert told.data["columns"] == ["label", "n", "latest", "flag"]
    assert told.data["rows"][0] == ["Creatinine", 4, "2150-03-02T14:00:00", None]
    assert (told.data["returned"], told.data["complete"]) == (3, True)
    assert told.text.splitlines()[1:3] == [
        "label | n | latest | flag",
        '"Creatinine" | 4 | "2150-03-02T14:00:00" | null',
    ]


def test_the_audit_holds_the_querys_digest_and_neither_ids_nor_coverage(tmp_path: Path) -> None:
    told, line = ask(tmp_path, "select * from hosp.labevents where comments like '%INSTRUCTIONS%'")
    assert told.data["returned"] == 1
    assert (line["outcome"], line["rule"], line["eids"], line["coverage"]) == ("ok", None, [], None)
    assert sorted(line["args"]["sql"]) == ["length", "sha256"]
    assert "labevents" not in json.dumps(line)


def test_a_table_may_be_named_without_its_schema(tmp_path: Path) -> None:
    told, _ = ask(tmp_path, "with w as (select itemid from labevents) select count(*) from w")
    assert told.data["rows"] == [[6]]


def test_the_description_lists_every_table_with_its_columns_and_an_example() -> None:
    text = str(all_tools()["query_chart"].description)
    for table, columns in queryable().items():
        assert f"{table}({', '.join(columns)})" in text
    assert "Example: query_chart(" in text


def test_a_module_that_the_store_lacks_is_said_to_be_missing(tmp_path: Path) -> None:
    told, _ = ask(tmp_path, "select count(*) from note.discharge")
    assert told.data["rows"] == [[0]]
    assert "no note module" in told.data["notes"][0]
    assert told.data["notes"][0] in told.text


def test_rows_characters_and_long_texts_are_cut_and_said_to_be(tmp_path: Path) -> None:
    for number, (sql, limits) in enumerate(
        (
            ("select * from range(1000)", Limits(rows=50)),
            ("select repeat('x', 200), * from range(1000)", Limits(chars=2_000)),
            ("select repeat('x', 100000)", Limits(chars=2_000)),
        )
    ):
        folder = tmp_path / str(number)
        folder.mkdir()
        told, _ = ask(folder, sql, limits=limits)
        assert not told.is_error
        assert size(told) <= limits.chars
        assert 0 < told.data["returned"] <= limits.rows
        assert "LIMIT and OFFSET" in told.text or "shortened" in told.text


@pytest.mark.slow
def test_the_package_need_not_be_installed_where_python_looks_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the image it is found by PYTHONPATH, which the query's process does not heed."""
    shutil.copytree(Path(querying.__file__).parents[1], tmp_path / "mcp_mimic")
    program = (
        "import mcp_mimic.chart.querying as q; from tests.mcp_mimic.charts import make_slice\n"
        "chart = make_slice({})\n"
        "found = q.ChartQuery(chart, 'select 1', q.QueryLimits(1, 100, 20)).run()\n"
        "print(q._COMMAND[-1], found.rows)\n"
        "chart.close()"
    )
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{Path.cwd()}")
    done = subprocess.run(
        [sys.executable, "-P", "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout == f"{tmp_path} ((1,),)\n"


def test_the_values_of_every_type_come_as_plain_json(tmp_path: Path) -> None:
    told, _ = ask(
        tmp_path,
        "select 1.5, 123456789012345678901234567890, 'nan'::double, date '2150-03-01', [1, null], {'a': [2]}, "
        "map {3: 'x'}, interval 90 minute, true, null, 'é', '\\xff'::blob, time '10:00:00'",
    )
    assert told.data["rows"] == [
        [
            *(1.5, "123456789012345678901234567890", "nan", "2150-03-01", [1, None], {"a": [2]}, {"3": "x"}),
            *("1:30:00", True, None, "é", "b'\\xff'", "10:00:00"),
        ]
    ]


@pytest.mark.parametrize(
    ("sql", "code", "says"),
    [
        ("selec 1", "sql.syntax", "selec"),
        ("select nope from hosp.labevents", "sql.names", "nope"),
        ("select cast(value as integer) from hosp.labevents", "sql.values", "___"),
        ("select eid from hosp.labevents", "sql.names", "eid"),
        ("select available_at from hosp.labevents", "sql.names", "available_at"),
        ("select subject_id from hosp.patients", "sql.names", "subject_id"),
    ],
)
def test_a_mistake_is_an_error_with_a_remedy(tmp_path: Path, sql: str, code: str, says: str) -> None:
    told, line = ask(tmp_path, sql)
    assert told.data["error"]["code"] == code
    assert says in told.data["error"]["message"]
    assert (line["outcome"], line["rule"]) == ("error", code)


@pytest.mark.parametrize(
    ("sql", "says", "remedy"),
    [
        ("-- nothing", "no statement", "send one SELECT"),
        ("select 1; select 2", "2 statements", "one at a time; a semicolon may stand at its end only"),
        ("insert into hosp.labevents values (1)", "INSERT is not answered", "send a SELECT"),
        ("merge into a using b on x = y when matched then delete", "MERGE INTO is not", "send a SELECT"),
        ("pivot hosp.labevents on itemid using count(*)", "a PIVOT", "name its values"),
        ("describe hosp.labevents", "DESCRIBE", "see the tool's description"),
        ("select * from hosp.labevents where itemid = ?", "parameter", "write the value itself"),
        ("with w as (delete from t returning *) from w", "DELETE is not answered", "a SELECT in its place"),
        ("from hosp.labevents at (version => 1)", "AT another version", "leave AT out"),
        ("select main.upper('x')", "upper is not answered with a schema", "write its name alone"),
        ("from read_csv('x')", "read_csv is not answered", "use the usual functions"),
    ],
)
def test_each_refusal_says_what_is_wrong_and_what_to_do_about_that(sql: str, says: str, remedy: str) -> None:
    with pytest.raises(ToolError, match=says) as refused:
        read_statement(duckdb.default_connection(), sql, queryable())
    assert remedy in refused.value.remedy


@pytest.mark.parametrize(
    ("sql", "rule"), [("", "arguments"), (" ;\n", "query.select"), (f"select {'1' * 20_000}", "arguments")]
)
def test_what_is_blank_or_too_long_needs_no_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sql: str, rule: str
) -> None:
    monkeypatch.setattr(querying, "_COMMAND", ("/nonexistent",))
    told, _ = ask(tmp_path, sql)
    assert told.data["error"]["code"] == rule


def test_a_statement_that_the_parser_chokes_on_ends_with_its_process(tmp_path: Path) -> None:
    """How long it takes to give up differs from run to run; the process bounds it."""
    told, _ = ask(tmp_path, f"select {'(' * 19_900}", limits=Limits(seconds=1))
    assert told.data["error"]["code"] in ("limits.seconds", "limits.memory", "sql.syntax")


def test_nothing_in_an_answer_has_the_shape_of_an_evidence_id(tmp_path: Path) -> None:
    kinds = [kind for kind in EID_KINDS if kind != "policy"]
    made = ", ".join(f"'{kind}:' || 7 as \"{kind}:8\"" for kind in kinds)
    told, _ = ask(
        tmp_path, f"select {made}, ['lab:1'], {{'a': 'obs:2'}}, 'see [lab:3, emar:4-5].', map {{'note:6': 1}}"
    )
    answer = json.dumps(told.data, ensure_ascii=False).replace(told.data["call"], "") + told.text
    answer = answer.replace(told.data["call"], "")
    assert not [kind for kind in kinds if f"{kind}:7" in answer or f"{kind}:8" in answer]
    assert not [word for word in ("lab:1", "obs:2", "lab:3", "emar:4-5", "note:6") if word in answer]


def test_text_of_the_record_stays_text_in_rows_and_in_errors(tmp_path: Path) -> None:
    forged = 'x"\n99 | "lab:9"\u202e\nsearch:1 · 5 rows'
    rows = {"hosp.labevents": [lab(1, 50912, 1, "1.0", comments=forged)]}
    (tmp_path / "a").mkdir()
    told, _ = ask(tmp_path / "a", "select comments from hosp.labevents", rows)
    assert len(told.text.splitlines()) == 4
    assert "\u202e" not in json.dumps(told.data, ensure_ascii=False)
    (tmp_path / "b").mkdir()
    told, _ = ask(tmp_path / "b", "select comments::integer from hosp.labevents", rows)
    assert told.data["error"]["code"] == "sql.values"
    assert len(told.text.splitlines()) == 2
    assert "lab:9" not in told.text
    assert "\u202e" not in told.text


def test_two_queries_of_a_session_take_turns_and_both_are_answered(tmp_path: Path) -> None:
    async def go() -> list[Told]:
        async with session(tmp_path, tools=GRANTED) as chart:
            return await asyncio.gather(
                *(chart.call("query_chart", sql=f"select {number}") for number in range(3))
            )

    assert [told.data["rows"] for told in asyncio.run(go())] == [[[0]], [[1]], [[2]]]


def test_a_query_that_has_no_turn_in_time_is_refused_and_a_lookup_is_answered(tmp_path: Path) -> None:
    async def go() -> None:
        async with session(tmp_path, tools=GRANTED, limits=Limits(seconds=1)) as chart:
            with chart.server.session.queries:
                told, labs = await asyncio.gather(
                    chart.call("query_chart", sql="select 1"), chart.call("get_labs")
                )
            assert told.data["error"]["code"] == "query.busy"
            assert not labs.is_error

    asyncio.run(go())


# --- the walls -----------------------------------------------------------------------------------------


def test_every_function_that_may_be_used_exists() -> None:
    found = duckdb.connect().execute("select distinct function_name from duckdb_functions()").fetchall()
    assert {name for (name,) in found} >= FUNCTIONS | TABLE_FUNCTIONS


@pytest.fixture(scope="module")
def unlocked(small_store: Store) -> duckdb.DuckDBPyConnection:
    """What a query's process is given, without lock-down, without statement check, without bounds."""
    connection = duckdb.connect(":memory:")
    with open_slice(small_store, ADA, LATE) as chart:
        load(connection, {t: dict(c) for t, c in queryable().items()}, rows_of(chart, list(queryable())))
    return connection


def test_first_wall_what_is_not_there_cannot_be_read_by_any_sql(unlocked: duckdb.DuckDBPyConnection) -> None:
    columns = unlocked.execute("select distinct column_name from duckdb_columns() where not internal")
    assert not {name for (name,) in columns.fetchall()} & {"eid", "available_at", "subject_id", "task_id"}
    assert unlocked.execute("select count(*) from hosp.labevents").fetchall() == [(4,)]
    for table in queryable():
        text = str(unlocked.execute(f"from {table}").fetchall())
        assert not [number for number in (ADA, BEN, BEN_HADM) if str(number) in text], table
        assert not any(f"'{kind}:" in text for kind in EID_KINDS), table
    assert unlocked.execute("select count(*) from duckdb_databases() where path is not null").fetchall() == [
        (0,)
    ]


_REACHING = ("read_", "copy", "attach", "glob", "sniff", "set ", "install", "load ", "_scan", "getenv", "'/")


def test_second_wall_a_locked_engine_reads_no_file_and_keeps_its_settings(
    small_store: Store, tmp_path: Path
) -> None:
    secret = tmp_path / "secret.csv"
    secret.write_text("a\nhunter2\n")
    connection = duckdb.connect(":memory:", config={"threads": 1, "temp_directory": ""})
    connection.execute("create schema hosp; create table hosp.labevents (itemid integer)")
    lock_down(connection, memory_limit="100MB", threads=1)
    reaching = [
        sql.replace("/etc/passwd", str(secret)).replace("/store/chart.duckdb", str(small_store.database))
        for sql in REFUSED_SQL
        if any(word in sql for word in _REACHING) and not sql.startswith("with")
    ]
    assert len(reaching) > 20
    for sql in reaching:
        with pytest.raises(duckdb.Error):
            connection.execute(sql).fetchall()
    assert [path.name for path in tmp_path.iterdir()] == ["secret.csv"]


@pytest.mark.parametrize(
    "sql", ["insert into hosp.labevents values (1)", "create table t as select 1", "drop table hosp.labevents",
            "with w as (insert into hosp.labevents values (1) returning *) from w"]
)  # fmt: skip
def test_second_wall_a_query_runs_in_a_transaction_that_writes_nothing(sql: str) -> None:
    connection = duckdb.connect(":memory:")
    connection.execute("create schema hosp; create table hosp.labevents (itemid integer)")
    with pytest.raises(ToolError):
        run(connection, Statement(sql, ()), rows=10, chars=1000)
    connection.execute("rollback")
    assert connection.execute("select count(*) from hosp.labevents").fetchall() == [(0,)]
    assert connection.execute("select count(*) from duckdb_tables()").fetchall() == [(1,)]


@pytest.mark.parametrize(("sql", "rule"), REFUSED_SQL.items())
def test_third_wall_only_a_reading_select_over_the_chart_is_let_through(sql: str, rule: str) -> None:
    """The connection that parses is not locked: the check alone refuses."""
    with pytest.raises(ToolError) as refused:
        read_statement(duckdb.default_connection(), sql, queryable())
    assert refused.value.code == rule


ORDINARY = (
    "from hosp.labevents",
    "select * exclude (value) replace (valuenum * 2 as valuenum) from labevents union all by name from labevents",
    "with recursive t(n) as (select 1 union all select n + 1 from t where n < 5) select * from t",
    "select l.itemid, lag(valuenum) over w, avg(valuenum) over (order by charttime rows 2 preceding) from "
    "hosp.labevents l left join hosp.d_labitems d using (itemid) where lower(label) like '%creat%' and charttime "
    "between timestamp '2150-01-01' - interval 2 day and '2151-01-01' and valuenum not in (1, 2) window w as "
    "(order by charttime) qualify row_number() over w = 1 order by all desc nulls last limit 10 offset 2",
    "select count(distinct itemid) filter (where valuenum > 1), string_agg(value, ',' order by charttime), "
    "median(valuenum) from labevents group by all having count(*) > 1",
    "select a.itemid from labevents a asof join icu.chartevents b on a.charttime >= b.charttime",
    "select * from (select itemid, valuenum from labevents) pivot (avg(valuenum) for itemid in (1, 2))",
    "select [x + 1 for x in [1, 2]], {'a': 1}, 'abc'[1], case when true then 1 end, cast('1' as double)",
    "select list_transform([1, 2], lambda x: x + 1), map {'a': 1}, unnest([1, 2])",
    "select first(value order by charttime), arg_max(value, charttime), quantile_cont(valuenum, 0.5), "
    "date_diff('hour', charttime, storetime), extract(hour from charttime) from labevents group by all",
    "select exists (from labevents), (select 1), 1 = any (select 1)",
    "select distinct on (itemid) itemid, value from labevents order by itemid, charttime",
    "select * from range(3), generate_series(1, 2), (values (1), (2)) v(x)",
    "select 1;",
)  # fmt: skip


@pytest.mark.parametrize("sql", ORDINARY)
def test_third_wall_an_ordinary_question_passes_and_runs(
    unlocked: duckdb.DuckDBPyConnection, sql: str
) -> None:
    cursor = unlocked.cursor()
    cursor.execute("set search_path = 'hosp,icu'")
    statement = read_statement(cursor, sql, queryable())
    run(cursor, statement, rows=200, chars=16_000)


_BOUNDED = """
import duckdb, sys
from mcp_mimic.chart.query_child import bound_process
connection = duckdb.connect(":memory:")
connection.execute("set enable_progress_bar = false")
bound_process(64, 2)
try:
    connection.execute(sys.argv[1]).fetchall()
except (duckdb.Error, MemoryError, OSError) as error:
    print(type(error).__name__)
"""


@pytest.mark.parametrize(
    ("sql", "ends"),
    [
        ("select repeat('x', 1000000000)", "OutOfMemoryException"),
        ("select count(distinct md5(i::varchar)) from range(30000000) t(i)", "OutOfMemoryException"),
        ("copy (select 1) to '{folder}/x.csv'", "IOException"),
        pytest.param("select sum(a.range * b.range) from range(1000000) a, range(1000000) b", "", marks=pytest.mark.slow),
    ],
)  # fmt: skip
def test_fourth_wall_the_process_alone_bounds_memory_time_and_files(
    tmp_path: Path, sql: str, ends: str
) -> None:
    """No lock-down, no statement check, no memory limit of the engine's."""
    done = subprocess.run(
        [sys.executable, "-c", _BOUNDED, sql.format(folder=tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.stdout.strip() == ends
    assert not [path for path in tmp_path.iterdir() if path.stat().st_size]
    assert done.returncode == 0 if ends else done.returncode < 0


@pytest.mark.skipif(sys.platform != "linux", reason="Linux tells the kernel whom to end")
def test_where_memory_runs_out_the_kernel_ends_the_query_before_the_server() -> None:
    """It is told so before it takes any."""
    told = "import sys; from pathlib import Path; from mcp_mimic.chart.query_child import bound_process\n"
    told += "bound_process(64, 2); print(Path('/proc/self/oom_score_adj').read_text())"
    done = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True)
    assert int(done.stdout) == 1000


def test_a_querys_process_has_no_environment_and_no_file_of_the_servers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_OF_THE_SERVER", "hunter2")
    with (tmp_path / "audit").open("w"):
        query = ChartQuery(shared_slice(), BOMB, QueryLimits(10, 1000, 20))
        seen: dict[str, str] = {}

        def look() -> None:
            process = Path("/proc") / str(wait_for_process(query))
            while not seen.get("files") or "pipe" not in seen["files"]:
                seen["environment"] = (process / "environ").read_bytes().decode()
                seen["files"] = " ".join(str(file.readlink()) for file in (process / "fd").iterdir())
                seen["folder"] = str((process / "cwd").readlink())
            query.stop()

        asyncio.run(_both(query, look))
    assert "hunter2" not in seen["environment"]
    assert str(tmp_path) not in seen["files"]
    assert "socket" not in seen["files"]
    assert seen["folder"] == "/"


BOMB = next(iter(BOMBS))


async def _both(query: ChartQuery, look: Any) -> None:
    async def asked() -> None:
        with pytest.raises(ToolError) as ended:
            await asyncio.to_thread(query.run)
        assert ended.value.code == "query.departed"

    await asyncio.gather(asked(), asyncio.to_thread(look))


def wait_for_process(query: ChartQuery) -> int:
    while query.pid is None:
        time.sleep(0.01)
    return query.pid


# --- bombs ---------------------------------------------------------------------------------------------


async def _answers_others(chart: Session, sql: str) -> tuple[Told, float]:
    """A bomb's answer, and the longest that another tool took to answer meanwhile."""
    bomb = asyncio.ensure_future(chart.call("query_chart", sql=sql))
    slowest = 0.0
    while not bomb.done():
        started = time.monotonic()
        assert not (await chart.call("get_labs", limit=1)).is_error
        slowest = max(slowest, time.monotonic() - started)
        await asyncio.sleep(0.05)
    return await bomb, slowest


def _bomb(folder: Path, sql: str, rule: str) -> None:
    async def go() -> None:
        async with session(folder, tools=GRANTED, limits=Limits(seconds=2, calls=2000)) as chart:
            told, slowest = await _answers_others(chart, sql)
            assert told.data["error"]["code"] in {rule, "limits.seconds"}
            assert slowest < 2
            told = await chart.call("query_chart", sql="select count(*) from hosp.labevents")
            assert told.data["rows"] == [[6]]
            refusals = [call for call in chart.audit().calls if call["outcome"] == "refused"]
            assert [call["tool"] for call in refusals] == ["query_chart"]

    asyncio.run(go())


@pytest.mark.parametrize(
    "sql", ["select repeat('x', 4000000000)", pytest.param(BOMB, marks=pytest.mark.slow)]
)
def test_a_bomb_is_refused_while_others_are_answered(tmp_path: Path, sql: str) -> None:
    _bomb(tmp_path, sql, BOMBS[sql])


@pytest.mark.slow
@pytest.mark.parametrize(("sql", "rule"), BOMBS.items())
def test_every_bomb_is_refused_while_others_are_answered(tmp_path: Path, sql: str, rule: str) -> None:
    _bomb(tmp_path, sql, rule)


@pytest.mark.parametrize("sql", ["select " + "(" * 9_000 + "1" + ")" * 9_000, "select " + "-" * 3 + "1",
                                 "select " + "+".join(["1"] * 9_000), "select " + "[" * 9_000])  # fmt: skip
def test_a_query_that_is_nested_or_malformed_ends_no_server(tmp_path: Path, sql: str) -> None:
    told, _ = ask(tmp_path, sql)
    assert told.data["error"]["code"] in {"sql.syntax", "query.part", "query.select", "limits.memory"}


# --- clients that go -----------------------------------------------------------------------------------


def test_a_query_whose_client_gives_up_is_stopped_and_audited(tmp_path: Path) -> None:
    async def go() -> None:
        async with session(tmp_path, tools=GRANTED) as chart:
            call = asyncio.ensure_future(chart.call("query_chart", sql=BOMB))
            await asyncio.sleep(1)
            call.cancel()
            await asyncio.gather(call, return_exceptions=True)
            until = time.monotonic() + 10
            while not chart.audit().calls and time.monotonic() < until:
                await asyncio.sleep(0.05)
            assert (chart.last()["outcome"], chart.last()["rule"]) == ("refused", "query.departed")
            told = await chart.call("query_chart", sql="select 1")
            assert told.data["rows"] == [[1]]

    asyncio.run(go())


def test_a_query_that_was_stopped_before_it_began_starts_no_process() -> None:
    query = ChartQuery(shared_slice(), "select 1", QueryLimits(10, 1000, 5))
    query.stop()
    with pytest.raises(ToolError) as ended:
        query.run()
    assert ended.value.code == "query.departed"
    assert query.pid is None


def test_a_chart_of_many_rows_arrives_whole() -> None:
    with make_slice({}) as chart:
        chart.cursor().execute(
            "insert into hosp.labevents (labevent_id, valuenum, comments) "
            "select i, 1.25, 'a\nb\t\u202e\"c' from range(12001) t(i)"
        )
        sql = (
            "select count(*), sum(valuenum), count(distinct labevent_id), any_value(comments) from labevents"
        )
        found = ChartQuery(chart, sql, QueryLimits(10, 1000, 20)).run()
    assert found.rows == ((12001, 15001.25, 12001, 'a\nb\t\u202e"c'),)
