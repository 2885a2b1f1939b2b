"""The shared macros over charts made for them: what counts as given, recording, a result."""

from harness.definitions import tables_read


def test_tables_behind_a_macro_are_known() -> None:
    """Fragility moves rows of every table that decides, also of those that only a macro names."""
    sql = "select task_id from icu_live(index_time, index_time + interval 1 hour) join hosp.labevents using (task_id)"
    assert tables_read(sql) == {"icu.icustays", "icu.chartevents", "hosp.labevents"}
    assert tables_read("select * from lab_results([50912])") == {"hosp.labevents"}
    assert "hosp.emar_detail" in tables_read("select * from administrations('metformin')")
