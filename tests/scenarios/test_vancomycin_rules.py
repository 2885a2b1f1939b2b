"""The rules of empirical vancomycin after the cultures at their boundaries: a minute and a unit either side of each."""

from typing import Any

from tests.scenarios.rules import Rules
from tests.scenarios.timed_charts import (
    DAY,
    HOUR,
    Chart,
    Judged,
    Row,
    after,
    charted,
    culture,
    detail,
    given,
    infused,
    order,
    procedure,
)

SCENARIO = "09-empiric-vancomycin-day-three"

VANCOMYCIN, HEART_RATE, HAEMODIALYSIS = 225798, 220045, 225441

STOPPED, CONTINUED = ("yes", "stopped"), ("no", "continued")
NO_CULTURE, NOT_RECORDING = ("lack_of_data", "no_culture"), ("lack_of_data", "not_recording")
DISPUTED = ("medical_ambiguity", "disputed_growth")

OPENS, CLOSES, AS_OF = 96 * HOUR, 120 * HOUR, 168 * HOUR
COAGULASE_NEGATIVE = "STAPHYLOCOCCUS, COAGULASE NEGATIVE"
AUREUS = "STAPH AUREUS COAG +"


def dose(at: float, event: str | None = "Administered", name: str = "Vancomycin") -> Row:
    return given(at, name, event)


def unit_dose(at: float, amount: float = 1, category: str = "08-Antibiotics (IV)") -> Row:
    return infused(VANCOMYCIN, at, amount, ordercategoryname=category)


FIRST, SECOND = dose(0), dose(12 * HOUR)
EMAR = tuple(given(at * HOUR, "Docusate Sodium") for at in (90, 100, 110))
"""Three rows of another drug: the eMAR was recording."""


def grown(
    organism: str | None = None,
    at: float = -HOUR,
    *,
    kind: str = "BLOOD CULTURE",
    test: str = "Blood Culture, Routine",
    specimen: int = 11,
    stored: float = 150 * HOUR,
    **values: Any,
) -> Row:
    """A row of a culture."""
    base = culture(at, specimen=specimen, kind=kind, stored=stored).values
    isolate = None if organism is None else 1
    return Row(
        "hosp.microbiologyevents",
        {**base, "test_name": test, "org_name": organism, "isolate_num": isolate, **values},
    )


NEGATIVE = grown(specimen=10)


def whole(*rows: Row, **stay: Any) -> Chart:
    return Chart(rows=rows, **({"leaves": 8 * DAY} | stay))


def chart(*rows: Row, **stay: Any) -> Chart:
    return whole(FIRST, SECOND, NEGATIVE, *EMAR, *rows, **stay)


def cultured(*cultures: Row) -> Chart:
    """A chart with these cultures only."""
    return whole(FIRST, SECOND, *EMAR, *cultures)


def silent(*rows: Row, **stay: Any) -> Chart:
    """A chart without eMAR rows of other drugs."""
    return whole(FIRST, SECOND, NEGATIVE, *rows, **stay)


UNIT = (-5 * HOUR, 130 * HOUR)
VITALS = tuple(charted(HEART_RATE, at * HOUR) for at in range(-5, 130, 4))


def in_unit(*rows: Row, doses: tuple[Row, ...] = (unit_dose(0), unit_dose(12 * HOUR)), **stay: Any) -> Chart:
    return whole(*doses, NEGATIVE, *VITALS, *rows, **({"icu": UNIT} | stay))


def susceptible(organism: str, drug: str, result: str, **values: Any) -> Row:
    return grown(organism, ab_itemid=90001, ab_name=drug, interpretation=result, **values)


URINE: Any = {"kind": "URINE", "test": "URINE CULTURE", "specimen": 12}
SPUTUM: Any = {"kind": "SPUTUM", "test": "RESPIRATORY CULTURE", "specimen": 13}

# fmt: off
CASES = {
    "no dose in the day that decides": (chart(), STOPPED),
    # --- the day that decides
    "a dose at 96 hours does not count": (chart(dose(OPENS)), STOPPED),
    "a dose a minute later does": (chart(dose(OPENS + 1)), CONTINUED),
    "a dose at 120 hours does": (chart(dose(CLOSES)), CONTINUED),
    "a dose stored after as-of does not exist": (
        chart(Row("hosp.emar", {**dose(100 * HOUR).values, "storetime": after(AS_OF + 1)})), STOPPED),
    # --- what is a dose
    "not given is none": (chart(dose(100 * HOUR, "Not Given")), STOPPED),
    "held is none": (chart(dose(100 * HOUR, "Hold Dose")), STOPPED),
    "stopped is none": (chart(dose(100 * HOUR, "Stopped")), STOPPED),
    "started is one": (chart(dose(100 * HOUR, "Started")), CONTINUED),
    "an order is none": (chart(order(100 * HOUR, "Vancomycin")), STOPPED),
    "vancomycin by mouth is none": (chart(dose(100 * HOUR, name="Vancomycin Oral Liquid")), STOPPED),
    "by its route": (chart(dose(100 * HOUR), detail("PO/NG")), STOPPED),
    "an enema is none": (chart(dose(100 * HOUR, name="Vancomycin Enema")), STOPPED),
    "a lock is none": (chart(dose(100 * HOUR, name="Vancomycin-Heparin Lock")), STOPPED),
    "by vein it is one": (chart(dose(100 * HOUR), detail("IV")), CONTINUED),
    "daptomycin is another drug": (chart(given(100 * HOUR, "Daptomycin")), STOPPED),
    "a dose of the ICU record counts": (in_unit(unit_dose(100 * HOUR)), CONTINUED),
    "one charted as not into a vein does not": (
        in_unit(unit_dose(100 * HOUR, category="09-Antibiotics (Non IV)")), STOPPED),
    "one of no amount does not": (in_unit(unit_dose(100 * HOUR, 0)), STOPPED),
    # --- which cultures count
    "without a culture nothing can be said": (cultured(), NO_CULTURE),
    "also when it went on": (whole(FIRST, SECOND, *EMAR, dose(100 * HOUR)), NO_CULTURE),
    "a culture 24 hours before counts": (cultured(grown(at=-24 * HOUR)), STOPPED),
    "a minute earlier it does not": (cultured(grown(at=-24 * HOUR - 1)), NO_CULTURE),
    "24 hours after it counts": (cultured(grown(at=24 * HOUR)), STOPPED),
    "a minute later it does not": (cultured(grown(at=24 * HOUR + 1)), NO_CULTURE),
    "with the date of a day that touches the window it counts": (
        cultured(grown(at=-36 * HOUR, charttime=None, chartdate=after(-36 * HOUR))), STOPPED),
    "with the date of the day before it does not": (
        cultured(grown(at=-60 * HOUR, charttime=None, chartdate=after(-60 * HOUR))), NO_CULTURE),
    "with the date of the day after it counts": (
        cultured(grown(at=12 * HOUR, charttime=None, chartdate=after(12 * HOUR))), STOPPED),
    "two days after it does not": (
        cultured(grown(at=36 * HOUR, charttime=None, chartdate=after(36 * HOUR))), NO_CULTURE),
    "a result at as-of counts": (cultured(grown(stored=AS_OF)), STOPPED),
    "a result a minute later does not exist": (cultured(grown(stored=AS_OF + 1)), NO_CULTURE),
    "a cancelled culture does not count": (cultured(grown("CANCELLED", org_itemid=90760)), NO_CULTURE),
    "one beside it does": (
        cultured(grown("CANCELLED", org_itemid=90760), grown(**URINE)), STOPPED),
    "urine": (cultured(grown(**URINE)), STOPPED),
    "sputum with yeast": (cultured(grown("YEAST", **SPUTUM)), STOPPED),
    "a body fluid": (cultured(grown(kind="PERITONEAL FLUID", test="FLUID CULTURE")), STOPPED),
    "a lavage": (cultured(grown(kind="BRONCHOALVEOLAR LAVAGE", test="RESPIRATORY CULTURE")), STOPPED),
    "a screening swab does not count": (cultured(grown(kind="MRSA SCREEN", test="MRSA SCREEN")), NO_CULTURE),
    "another screening swab": (
        cultured(grown(kind="Staph aureus swab", test="Staph aureus Screen")), NO_CULTURE),
    "a search for resistant enterococci": (
        cultured(grown(kind="SWAB", test="R/O VANCOMYCIN RESISTANT ENTEROCOCCUS")), NO_CULTURE),
    "an antigen of the urine": (cultured(grown(kind="URINE", test="Legionella Urinary Antigen ")), NO_CULTURE),
    "a viral screen": (
        cultured(grown(kind="Rapid Respiratory Viral Screen & Culture", test="Respiratory Viral Culture")), NO_CULTURE),
    "a stain": (cultured(grown(kind="SPUTUM", test="GRAM STAIN")), NO_CULTURE),
    "a fungal bottle": (
        cultured(grown(kind="BLOOD CULTURE ( MYCO/F LYTIC BOTTLE)", test="BLOOD/FUNGAL CULTURE")), NO_CULTURE),
    "stool": (cultured(grown(kind="STOOL", test="FECAL CULTURE")), NO_CULTURE),
    # --- disputed growth
    "a skin organism in one blood specimen": (chart(grown(COAGULASE_NEGATIVE)), DISPUTED),
    "by a name of its species": (chart(grown("STAPHYLOCOCCUS EPIDERMIDIS")), DISPUTED),
    "although it went on": (chart(grown(COAGULASE_NEGATIVE), dose(100 * HOUR)), DISPUTED),
    "in sputum it disputes nothing": (chart(grown(COAGULASE_NEGATIVE, **SPUTUM)), STOPPED),
    "two rows of one specimen are one": (
        chart(grown(COAGULASE_NEGATIVE), grown(COAGULASE_NEGATIVE, ab_name="OXACILLIN", interpretation="R")),
        DISPUTED),
    "known a minute after as-of it does not exist": (
        chart(grown(COAGULASE_NEGATIVE, stored=AS_OF + 1)), STOPPED),
    "Corynebacterium": (chart(grown("CORYNEBACTERIUM SPECIES (DIPHTHEROIDS)")), DISPUTED),
    "Bacillus": (chart(grown("BACILLUS SPECIES; NOT ANTHRACIS")), DISPUTED),
    "two different ones in two specimens": (
        chart(grown(COAGULASE_NEGATIVE), grown("BACILLUS SPECIES; NOT ANTHRACIS", specimen=14)), DISPUTED),
    "Enterococcus that was not tested": (chart(grown("ENTEROCOCCUS SP.", **URINE)), DISPUTED),
    "tested against another drug": (
        chart(susceptible("ENTEROCOCCUS SP.", "VANCOMYCIN", "S", **URINE)), DISPUTED),
    "susceptible to ampicillin": (chart(susceptible("ENTEROCOCCUS SP.", "AMPICILLIN", "S", **URINE)), STOPPED),
    "Staphylococcus aureus that was not tested": (chart(grown(AUREUS, **SPUTUM)), DISPUTED),
    "susceptible to oxacillin": (chart(susceptible(AUREUS, "OXACILLIN", "S", **SPUTUM)), STOPPED),
    "tested in another culture": (
        chart(grown(AUREUS, **SPUTUM), susceptible(AUREUS, "OXACILLIN", "S", specimen=15)), STOPPED),
    "resistant in a culture collected too early": (
        chart(susceptible(AUREUS, "OXACILLIN", "R", at=-24 * HOUR - 1, specimen=15)), STOPPED),
    "a Gram-negative organism": (chart(grown("ESCHERICHIA COLI")), STOPPED),
    "carriage": (
        chart(grown("POSITIVE FOR METHICILLIN RESISTANT STAPH AUREUS", kind="MRSA SCREEN", test="MRSA SCREEN")), STOPPED),
    "a dispute without recording is lack of data": (silent(grown(COAGULASE_NEGATIVE)), NOT_RECORDING),
    # --- whether the eMAR was recording
    "without rows nothing is shown": (silent(), NOT_RECORDING),
    "a dose found needs no recording": (silent(dose(100 * HOUR)), CONTINUED),
    "two rows are too few": (silent(*EMAR[1:]), NOT_RECORDING),
    "the third may lie twelve hours before": (silent(given(84 * HOUR, "Senna"), *EMAR[1:]), STOPPED),
    "a minute more is too early": (silent(given(84 * HOUR - 1, "Senna"), *EMAR[1:]), NOT_RECORDING),
    "or twelve hours after": (silent(*EMAR[1:], given(132 * HOUR, "Senna")), STOPPED),
    "a minute more is too late": (silent(*EMAR[1:], given(132 * HOUR + 1, "Senna")), NOT_RECORDING),
    "one must lie in the day itself": (
        silent(*(given(at, "Senna") for at in (90 * HOUR, OPENS - 1, CLOSES + 1))), NOT_RECORDING),
    "one at its beginning does": (
        silent(*(given(at, "Senna") for at in (90 * HOUR, OPENS, CLOSES + 1))), STOPPED),
    # --- whether the ICU record will do
    "an ICU stay that charted vancomycin": (in_unit(), STOPPED),
    "one that charted none": (in_unit(doses=(FIRST, SECOND)), NOT_RECORDING),
    "one that charted it by mouth only": (
        in_unit(unit_dose(20 * HOUR, category="09-Antibiotics (Non IV)"), doses=(FIRST, SECOND)), NOT_RECORDING),
    "one that ends before the day does": (in_unit(icu=(-5 * HOUR, CLOSES - 1)), NOT_RECORDING),
    "one that ends with it": (in_unit(icu=(-5 * HOUR, CLOSES)), STOPPED),
    "one with a gap of more than four hours": (
        whole(unit_dose(0), unit_dose(12 * HOUR), NEGATIVE, *VITALS[:26], *VITALS[27:], icu=UNIT), NOT_RECORDING),
}

OUTSIDE = {
    "one dose only": whole(FIRST, NEGATIVE, *EMAR),
    "the second dose after 36 hours": whole(FIRST, dose(36 * HOUR + 1), NEGATIVE, *EMAR),
    "the same dose in two records": whole(FIRST, unit_dose(4 * HOUR), NEGATIVE, *EMAR, icu=UNIT),
    "by mouth": whole(
        dose(0, name="Vancomycin Oral Liquid"), dose(12 * HOUR, name="Vancomycin Oral Liquid"), NEGATIVE, *EMAR),
    "charted as not into a vein": whole(
        *(unit_dose(at * HOUR, category="09-Antibiotics (Non IV)") for at in (0, 12)), NEGATIVE, *EMAR, icu=UNIT),
    "departure before 120 hours": chart(leaves=CLOSES - 1),
    "death before 120 hours": chart(leaves=CLOSES - 1, died=CLOSES - 1),
    "dialysis in the time": chart(procedure(HAEMODIALYSIS, CLOSES, CLOSES + 180), icu=UNIT),
    "a code of dialysis": chart(
        Row("hosp.diagnoses_icd", {"hadm_id": 1, "seq_num": 2, "icd_code": "5856", "icd_version": 9})),
    "oxacillin resistance": chart(susceptible(AUREUS, "OXACILLIN", "R", **SPUTUM)),
    "ampicillin resistance": chart(susceptible("ENTEROCOCCUS FAECIUM", "AMPICILLIN", "R", **URINE)),
    "a skin organism in two blood specimens": chart(
        grown(COAGULASE_NEGATIVE), grown(COAGULASE_NEGATIVE, specimen=14)),
    "by two names": chart(grown(COAGULASE_NEGATIVE), grown("STAPHYLOCOCCUS HOMINIS", specimen=14)),
    "Bacillus in two": chart(grown("BACILLUS SPECIES"), grown("BACILLUS SPECIES", specimen=14)),
    "resistance reported from blood": chart(
        grown("POSITIVE FOR METHICILLIN RESISTANT STAPH AUREUS", test="MRSA PCR")),
    "a child": chart(age=17),
}

INSIDE = {
    "the second dose at 36 hours": whole(FIRST, dose(36 * HOUR), NEGATIVE, *EMAR),
    "the second dose after four hours": whole(FIRST, dose(4 * HOUR + 1), NEGATIVE, *EMAR),
    "a stay of 120 hours": chart(leaves=CLOSES),
    "dialysis later": chart(procedure(HAEMODIALYSIS, CLOSES + 1, CLOSES + 180), icu=UNIT),
    "oxacillin resistance known after as-of": chart(
        susceptible(AUREUS, "OXACILLIN", "R", kind="SPUTUM", test="RESPIRATORY CULTURE", stored=AS_OF + 1)),
}

CLOSE = {
    "a row that lost its verb": chart(dose(100 * HOUR, " in Other Location")),
    "one beside a dose": chart(dose(100 * HOUR, "Delayed "), dose(110 * HOUR)),
    "one without a culture": whole(FIRST, SECOND, *EMAR, dose(100 * HOUR, "Delayed ")),
    "a dose after the day that decides": chart(dose(CLOSES + 1)),
    "one by mouth": chart(dose(CLOSES + 1, name="Vancomycin Oral Liquid")),
    "one that was not given": chart(dose(CLOSES + 1, "Not Given")),
}
# fmt: on


FURTHER = CLOSE


class TestRules(Rules):
    """As every scenario's."""


def test_cases_that_are_too_close_to_call_are_not_sampled(judged: Judged) -> None:
    assert [judged.eligible[name] for name in CLOSE] == [False, True, True, False, True, True]


class TestEvidence:
    """What an answer must rest on."""

    def test_stopping_rests_on_a_culture_the_last_dose_and_a_search(self, judged: Judged) -> None:
        name = "no dose in the day that decides"
        first, second = judged.rows(name, "hosp.emar")[:2]
        needs = judged.evidence[name]
        assert list(needs) == ["first_dose", "culture_result", "last_dose", "no_late_dose"]
        assert needs["first_dose"].alternatives == ((first,),)
        assert needs["last_dose"].alternatives == ((second,),)
        assert [window.source for window in needs["no_late_dose"].search] == ["hosp.emar"]

    def test_one_dose_in_two_records_is_one(self, judged: Judged) -> None:
        needs = judged.evidence["an ICU stay that charted vancomycin"]
        assert [w.source for w in needs["no_late_dose"].search] == ["hosp.emar", "icu.inputevents"]

    def test_continuing_rests_on_a_culture_and_a_late_dose(self, judged: Judged) -> None:
        needs = judged.evidence["a dose a minute later does"]
        assert list(needs) == ["first_dose", "culture_result", "late_dose"]

    def test_no_culture_asks_for_a_search_of_all_specimens(self, judged: Judged) -> None:
        needs = judged.evidence["a cancelled culture does not count"]
        assert list(needs) == ["first_dose", "no_culture"]
        (window,) = needs["no_culture"].search
        assert (window.source, window.names) == ("hosp.microbiologyevents", None)

    def test_a_dispute_rests_on_the_growth(self, judged: Judged) -> None:
        needs = judged.evidence["a skin organism in one blood specimen"]
        assert list(needs) == ["first_dose", "disputed_growth"]
        assert len(needs["disputed_growth"].alternatives) == 1
