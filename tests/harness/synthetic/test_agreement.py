"""What a laboratory calculates agrees with what it measured, in planted specimens as in others."""

from collections.abc import Iterable
from datetime import timedelta
from math import log10
from pathlib import Path
from typing import Any

import duckdb
import pytest

from harness.synthetic.agreement import base_excess, bicarbonate
from harness.synthetic.chart import Chart
from tests.harness.synthetic.conftest import SyntheticWorld
from tests.harness.synthetic.toy_plants import plant_one

HOUR = timedelta(hours=1)


@pytest.fixture(scope="module")
def ask(world: SyntheticWorld) -> Iterable[Any]:
    with duckdb.connect() as connection:
        world.store.attach(connection, "store")
        connection.execute("use store")
        yield lambda sql: connection.execute(sql).fetchall()


def specimen_of(chart: Chart, item: int, offset: timedelta) -> dict[int, str]:
    """The results of the specimen drawn then, to the minute, that has the item."""
    time = (chart.index_time + offset).replace(second=0)
    labs = [row for row in chart.rows["hosp.labevents"] if row["charttime"] == time]
    (found,) = {row["specimen_id"] for row in labs if row["itemid"] == item}
    return {row["itemid"]: row["value"] for row in labs if row["specimen_id"] == found}


def test_the_equations_are_the_published_ones() -> None:
    assert bicarbonate(7.40, 40) == pytest.approx(24.2, abs=0.1)
    assert base_excess(7.40, 24.4) == 0
    assert base_excess(7.20, 24.4) == pytest.approx(-2.75, abs=0.01)


@pytest.mark.parametrize(("ph", "serum"), [(7.12, 9), (7.36, 16), (7.22, 24), (7.5, 30)])
def test_a_planted_ph_has_companions_that_go_with_it_and_with_the_serum(
    tmp_path: Path, ph: float, serum: int
) -> None:
    body = (
        'suppress = [{ source = "hosp.labevents", items = [50882, 50820], from = "-9d", to = "+9d" }]\n'
        "event = [\n"
        f'{{ source = "hosp.labevents", item = 50820, at = "+5h", value = {ph} }},\n'
        f'{{ source = "hosp.labevents", item = 50882, at = "+6h", value = {serum} }},\n]\n'
    )
    for number in range(6):
        chart = plant_one(tmp_path, body, number=number)
        gas = specimen_of(chart, 50820, 5 * HOUR)
        of_gas = bicarbonate(ph, float(gas[50818]))
        assert gas[50820] == f"{ph:g}"
        assert of_gas == pytest.approx(serum, abs=2.6)
        assert float(gas[50804]) == pytest.approx(of_gas + 0.0307 * float(gas[50818]), abs=0.51)
        assert float(gas[50802]) == pytest.approx(base_excess(ph, of_gas), abs=0.51)


@pytest.mark.slow
def test_every_gas_obeys_the_equations(ask: Any) -> None:
    gases = ask(
        """select max(valuenum) filter (itemid = 50820), max(valuenum) filter (itemid = 50818),
            max(valuenum) filter (itemid = 50804), max(valuenum) filter (itemid = 50802)
        from hosp.labevents where itemid in (50820, 50818, 50804, 50802)
        group by specimen_id having count(valuenum) = 4"""
    )
    assert len(gases) > 200
    for ph, pco2, total, excess in gases:
        of_gas = total - 0.0307 * pco2
        assert 6.105 + log10(of_gas / (0.0307 * pco2)) == pytest.approx(ph, abs=0.045)
        assert excess == pytest.approx(base_excess(ph, bicarbonate(ph, pco2)), abs=0.51)


@pytest.mark.slow
def test_gas_and_serum_of_the_same_hour_have_the_same_bicarbonate(ask: Any) -> None:
    ((worst, usual),) = ask(
        """select max(abs(gap)), quantile_cont(abs(gap), 0.95) from (
            select g.valuenum - 1.2 - s.valuenum as gap
            from hosp.labevents g join hosp.labevents s using (subject_id)
            where g.itemid = 50804 and s.itemid = 50882
              and abs(date_diff('minute', g.charttime, s.charttime)) <= 30)"""
    )
    assert usual <= 3.5
    assert worst <= 9


@pytest.mark.slow
def test_venous_blood_has_less_oxygen(ask: Any) -> None:
    found = {
        kind: (highest, median)
        for kind, highest, median in ask(
            """select k.value, max(o.valuenum), median(o.valuenum)
            from hosp.labevents k join hosp.labevents o using (specimen_id)
            where k.itemid = 52033 and o.itemid = 50821 group by 1"""
        )
    }
    assert found["VEN."][0] <= 75
    assert found["VEN."][1] + 30 < found["ART."][1]


@pytest.mark.slow
@pytest.mark.parametrize(("low", "potassium"), [(8, 1), (10, 0)])
def test_a_reported_gap_is_the_sum_that_its_range_tells(ask: Any, low: int, potassium: int) -> None:
    gaps = ask(
        f"""select max(valuenum) filter (itemid = 50868), max(valuenum) filter (itemid = 50983)
              - max(valuenum) filter (itemid = 50902) - max(valuenum) filter (itemid = 50882)
              + {potassium} * max(valuenum) filter (itemid = 50971)
        from hosp.labevents where itemid in (50868, 50983, 50902, 50882, 50971)
        group by specimen_id
        having count(valuenum) = 5 and max(ref_range_lower) filter (itemid = 50868) = {low}"""
    )
    assert len(gaps) > 100
    assert max(abs(reported - max(1, summed)) for reported, summed in gaps) <= 0.51


@pytest.mark.slow
def test_a_planted_haemoglobin_has_its_haematocrit_and_indices(ask: Any) -> None:
    counts = ask(
        """select max(valuenum) filter (itemid = 51222), max(valuenum) filter (itemid = 51221),
            max(valuenum) filter (itemid = 51279), max(valuenum) filter (itemid = 51250),
            max(valuenum) filter (itemid = 51248)
        from hosp.labevents where itemid in (51222, 51221, 51279, 51250, 51248) group by specimen_id
        having max(valuenum) filter (itemid = 51222) is not null"""
    )
    for haemoglobin, haematocrit, cells, volume, mass in counts:
        assert abs(haematocrit / haemoglobin - 3) < 0.35
        assert cells * volume / 10 == pytest.approx(haematocrit, abs=0.5)
        assert cells * mass / 10 == pytest.approx(haemoglobin, abs=0.15)


@pytest.mark.slow
def test_women_have_their_own_reference_ranges(ask: Any) -> None:
    found = ask(
        """select l.itemid, p.gender, list(distinct (l.ref_range_lower, l.ref_range_upper))
        from hosp.labevents l join hosp.patients p using (subject_id)
        where l.itemid in (50912, 51222, 51221) and l.ref_range_upper is not null
        group by all order by all"""
    )
    # the commonest in the open MIMIC-IV demo's labevents
    assert found == [
        (50912, "F", [(0.4, 1.1)]),
        (50912, "M", [(0.5, 1.2)]),
        (51221, "F", [(34, 45)]),
        (51221, "M", [(40, 51)]),
        (51222, "F", [(11.2, 15.7)]),
        (51222, "M", [(13.7, 17.5)]),
    ]


@pytest.mark.slow
def test_a_flag_follows_the_patients_own_range(ask: Any) -> None:
    assert (
        ask(
            """select itemid from hosp.labevents
            where valuenum is not null and ref_range_upper is not null
              and (flag is not null) <> (valuenum < ref_range_lower or valuenum > ref_range_upper)"""
        )
        == []
    )


def test_few_results_are_stored_before_the_draw_and_no_planted_one(tmp_path: Path) -> None:
    body = (
        'event = [{ source = "hosp.labevents", item = 50912, at = "+1h", every = "1h", until = "+30h",'
        " value = 3.3 }]\n"
    )
    for number in range(8):
        chart = plant_one(tmp_path, body, number=number)
        planted = [row for row in chart.rows["hosp.labevents"] if row.get("_planted")]
        assert len(planted) == 30
        assert all(row["storetime"] > row["charttime"] for row in planted)


def test_urea_goes_with_a_high_creatinine(tmp_path: Path) -> None:
    body = (
        'suppress = [{ source = "hosp.labevents", items = [50912], from = "-9d", to = "+9d" }]\n'
        'event = [{ source = "hosp.labevents", item = 50912, at = "+5h", value = 2.6 }]\n'
    )
    for number in range(6):
        chart = plant_one(tmp_path, body, number=number)
        chemistry = specimen_of(chart, 50912, 5 * HOUR)
        assert 26 <= float(chemistry[51006]) <= 56
