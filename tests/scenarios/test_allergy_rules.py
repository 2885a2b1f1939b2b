"""The rules of listed allergies at their boundaries: each list, class, reaction and dose."""

import pytest

from tests.scenarios.rules import SampledRules
from tests.scenarios.timed_charts import (
    DAY,
    HOUR,
    Chart,
    Judged,
    Row,
    after,
    charted,
    detail,
    given,
    infused,
    order,
    ordered,
    procedure,
    summary,
)

SCENARIO = "22-documented-allergy-antibiotic-class"

YES, NO = ("yes", "given"), ("no", "not_given")
NO_SUMMARY, NO_TEXT = ("lack_of_data", "no_summary"), ("lack_of_data", "no_allergy_text")
NOT_RECORDING = ("lack_of_data", "not_recording")
CROSS, TOLERATED = ("medical_ambiguity", "cross_reactive"), ("medical_ambiguity", "intolerance_only")
DESENSITISED = ("medical_ambiguity", "desensitised")

CAME, WENT = -2 * DAY, 3 * DAY
AS_OF = WENT + 30 * DAY
VISIT = (CAME - 90, CAME)
BEFORE = (-90 * DAY, -85 * DAY)
PEN, SULFA = "Penicillins", "Sulfa (Sulfonamide Antibiotics)"
ZOSYN, UNIT = 225893, (CAME, WENT)
EMAR = tuple(given(hour * HOUR, "Docusate Sodium") for hour in (-5, -1, 2))
"""Three rows of another drug: the eMAR was recording."""


def text(allergies: str | None, course: str = "Stable.") -> str:
    """A summary on the form; without the heading where there is no list."""
    head = [] if allergies is None else [f"Allergies: \n{allergies}"]
    parts = ["Service: MEDICINE", *head, "Attending: ___.", f"Brief Hospital Course:\n{course}"]
    return "\n \n".join([*parts, "Discharge Disposition:\nHome\n"])


def note(allergies: str | None, course: str = "Stable.", *, at: float = WENT) -> Row:
    return summary(at, text(allergies, course), hadm_id=None)


def silent(*rows: Row, **stay: object) -> Chart:
    """A chart without the three eMAR rows, with an order that puts it into the cohort."""
    return Chart(rows=(order(CAME + 60, "Aztreonam"), *rows), **({"leaves": WENT} | stay))  # type: ignore[arg-type]


def chart(*rows: Row, **stay: object) -> Chart:
    return silent(*EMAR, *rows, **stay)


def exposed(allergies: str, *drugs: str, course: str = "Stable.") -> Chart:
    return chart(note(allergies, course), *(given(hour, drug) for hour, drug in enumerate(drugs, 30)))


def dispensed(at: float, drug: str) -> tuple[Row, Row]:
    """A drug from the cabinet of an emergency visit."""
    came, went = VISIT
    visit = Row("ed.edstays", {"stay_id": 9001, "intime": after(came), "outtime": after(went)})
    return visit, Row("ed.pyxis", {"stay_id": 9001, "charttime": after(at), "name": drug, "med_rn": 1})


def routed(allergies: str, drug: str, route: str) -> Chart:
    return chart(note(allergies), given(300, drug), detail(route))


# fmt: off
CASES = {
    # --- classes
    "a penicillin listed and given": (exposed(PEN, "Nafcillin"), YES),
    "piperacillin-tazobactam is one": (exposed(PEN, "Piperacillin-Tazobactam"), YES),
    "a brand in the list": (exposed("Zosyn", "Ampicillin-Sulbactam"), YES),
    "augmentin given": (exposed("PCN", "Augmentin 875 mg"), YES),
    "a cephalosporin": (exposed("Keflex", "CeftriaXONE"), YES),
    "the class by its name": (exposed("Cephalosporins", "CefePIME"), YES),
    "a sulfonamide": (exposed(SULFA, "Sulfameth/Trimethoprim DS"), YES),
    "its brand": (exposed("Bactrim", "Sulfamethoxazole-Trimethoprim"), YES),
    "a sulfate is no sulfonamide": (exposed(SULFA, "Morphine Sulfate", "Magnesium Sulfate"), NO),
    "sulfasalazine is no antibiotic": (exposed(SULFA, "SulfaSALAzine_"), NO),
    "a quinolone": (exposed("Levaquin", "Ciprofloxacin HCl"), YES),
    "a macrolide": (exposed("Erythromycin Base", "Azithromycin"), YES),
    "vancomycin": (exposed("vancomycin", "Vancomycin"), YES),
    "another class is not": (exposed(PEN, "Levofloxacin", "Vancomycin"), NO),
    "aztreonam is no relative": (exposed(PEN, "Aztreonam"), NO),
    "two entries, the second given": (exposed(f"{PEN} / {SULFA}", "Bactrim DS"), YES),
    "an entry on the next line": (exposed(f"latex\n{PEN}", "Nafcillin"), YES),
    "none given": (exposed(PEN), NO),
    # --- given
    "an order is no dose": (chart(note(PEN), order(0, "Piperacillin-Tazobactam")), NO),
    "not given is no dose": (chart(note(PEN), given(0, "Ampicillin-Sulbactam", "Not Given")), NO),
    "held is no dose": (chart(note(PEN), given(0, "Ampicillin-Sulbactam", "Hold Dose")), NO),
    "a late dose is one": (chart(note(PEN), given(0, "Nafcillin", "Delayed Administered")), YES),
    "at admission": (chart(note(PEN), given(CAME, "Nafcillin")), YES),
    "at discharge": (chart(note(PEN), given(WENT, "Nafcillin")), YES),
    "a minute after discharge": (chart(note(PEN), given(WENT + 1, "Nafcillin")), NO),
    "before the admission and not in its emergency visit": (chart(note(PEN), given(CAME - 1, "Nafcillin")), NO),
    "an infusion counts": (chart(note(PEN), infused(ZOSYN, 0, 1), icu=UNIT), YES),
    "one of no amount does not": (chart(note(PEN), infused(ZOSYN, 0, 0), icu=UNIT), NO),
    "an infusion of a relative": (chart(note(PEN), infused(225855, 0, 1), icu=UNIT), CROSS),
    "eye drops do not": (routed("Cipro", "Ciprofloxacin 0.3% Ophth Soln", "LEFT EYE"), NO),
    "ointment by its name does not": (exposed("Erythromycin", "Erythromycin 0.5% Ophth Oint"), NO),
    "a quinolone by mouth counts": (routed("Cipro", "Ciprofloxacin HCl", "PO"), YES),
    "vancomycin by mouth does not": (routed("Vancomycin", "Vancomycin", "PO/NG"), NO),
    "oral liquid does not": (exposed("Vancomycin", "Vancomycin Oral Liquid"), NO),
    "an enema does not": (routed("Vancomycin", "Vancomycin Enema", "PR"), NO),
    "a lock does not": (exposed("Vancomycin", "Vancomycin Antibiotic Lock"), NO),
    # --- the list
    "no summary": (chart(given(0, "Nafcillin")), NO_SUMMARY),
    "a removed list": (exposed("___", "Nafcillin"), NO_TEXT),
    "an empty list": (exposed("", "Nafcillin"), NO_TEXT),
    "a summary without the heading": (exposed(None, "Nafcillin"), NO_TEXT),  # type: ignore[arg-type]
    "the last list before": (
        chart(summary(BEFORE[1], text(PEN)), given(0, "Nafcillin"), earlier=BEFORE), YES),
    "the own list comes before it": (
        chart(summary(BEFORE[1], text(PEN)), note(SULFA), given(0, "Nafcillin"), earlier=BEFORE), NO),
    "an own summary without the heading leaves it": (
        chart(summary(BEFORE[1], text(PEN)), note(None), given(0, "Nafcillin"), earlier=BEFORE), YES),
    "a removed own list does not": (
        chart(summary(BEFORE[1], text(PEN)), note("___"), given(0, "Nafcillin"), earlier=BEFORE), NO_TEXT),
    "a list of a later admission does not count": (
        chart(summary(9 * DAY, text(PEN)), given(0, "Nafcillin"), earlier=(6 * DAY, 9 * DAY)), NO_SUMMARY),
    "a summary stored at as-of": (chart(note(PEN, at=AS_OF), given(0, "Nafcillin")), YES),
    "a minute later it does not exist": (chart(note(PEN, at=AS_OF + 1), given(0, "Nafcillin")), NO_SUMMARY),
    "allergy learnt in the stay": (exposed(PEN, "Nafcillin", course="Rash after nafcillin, added to list."), YES),
    # --- the reaction
    "nausea alone": (exposed("Penicillins (nausea)", "Nafcillin"), TOLERATED),
    "two of the stomach": (exposed("Erythromycin Base (nausea/vomiting)", "Azithromycin"), TOLERATED),
    "after a colon": (exposed("Bactrim: GI upset", "Bactrim DS"), TOLERATED),
    "a headache": (exposed("Levaquin (headache)", "Levofloxacin"), TOLERATED),
    "nausea and a rash": (exposed("Penicillins (nausea, rash)", "Nafcillin"), YES),
    "a rash": (exposed("Penicillins (rash)", "Nafcillin"), YES),
    "an intolerance and another class given": (
        exposed("Penicillins (nausea) / Levaquin", "Nafcillin", "Levofloxacin"), YES),
    "an intolerance has no relatives": (exposed("Penicillins (nausea)", "CefePIME"), NO),
    # --- relatives
    "a cephalosporin with a penicillin listed": (exposed(PEN, "CefePIME"), CROSS),
    "a penicillin with a cephalosporin listed": (exposed("Keflex", "Nafcillin"), CROSS),
    "both listed": (exposed("Penicillins / Keflex", "CefePIME"), YES),
    "the class itself comes first": (exposed(PEN, "CefePIME", "Nafcillin"), YES),
    # --- desensitisation
    "desensitised by the note": (exposed(PEN, "Nafcillin", course="Underwent desensitization."), DESENSITISED),
    "a test dose": (exposed(PEN, "Nafcillin", course="Tolerated a test\ndose."), DESENSITISED),
    "by an order": (
        chart(note(PEN), given(0, "Nafcillin"), order(0, "Penicillin G Desensitization")), DESENSITISED),
    "of a drug that was not given": (exposed(PEN, "Levofloxacin", course="Consider desensitization."), NO),
    # --- whether the eMAR was recording
    "two rows are too few": (silent(note(PEN), *EMAR[:2]), NOT_RECORDING),
    "three are not": (silent(note(PEN), *EMAR), NO),
    "one at admission counts": (silent(note(PEN), *EMAR[:2], given(CAME, "Heparin")), NO),
    "one a minute before does not": (silent(note(PEN), *EMAR[:2], given(CAME - 1, "Heparin")), NOT_RECORDING),
    "one at discharge counts": (silent(note(PEN), *EMAR[:2], given(WENT, "Heparin")), NO),
    "one a minute after does not": (silent(note(PEN), *EMAR[:2], given(WENT + 1, "Heparin")), NOT_RECORDING),
    "a dose comes before it": (silent(note(PEN), given(0, "Nafcillin")), YES),
    "a relative does not": (silent(note(PEN), given(0, "CefePIME")), NOT_RECORDING),
    "no list comes before it": (silent(given(0, "Nafcillin")), NO_SUMMARY),
}

TOO_CLOSE = {
    "nothing listed": exposed("No Known Allergies / Adverse Drug Reactions", "CefePIME"),
    "an unknown list, and nothing given that it could rule out": exposed("___", "Aztreonam"),
    "no summary, and nothing given": chart(),
    "another substance": exposed("latex", "Nafcillin"),
    "another antibiotic beside": exposed("Penicillins / Clindamycin", "Levofloxacin"),
    "a list removed in part": exposed("Penicillins / ___", "Levofloxacin"),
    "a reaction of no known meaning": exposed("Penicillins (nausea, tablet)", "Nafcillin"),
    "a row that lost its verb": chart(note(PEN), given(0, "Nafcillin", " in Other Location")),
    "a dose in the emergency visit": chart(note(PEN), given(CAME - 30, "Nafcillin"), ed=VISIT),
    "one dispensed there": chart(note(PEN), *dispensed(CAME - 30, "Piperacillin-Tazobactam"), ed=VISIT),
    "in the operating room": chart(
        note(PEN), charted(220045, -60), procedure(225470, 0, 1), procedure(225469, 120, 121), icu=UNIT),
}

NEAR = {
    "another antibiotic beside a class that was given": exposed("Penicillins / Clindamycin", "Nafcillin"),
    "a row that lost its verb beside a dose": chart(
        note(PEN), given(0, "Nafcillin", " in Other Location"), given(60, "Nafcillin")),
    "an unknown list, and nothing that would show a dose": silent(note("___")),
    "another class in the emergency visit": chart(note(PEN), given(CAME - 30, "Levofloxacin"), ed=VISIT),
    "the operating room with a sulfonamide listed": chart(
        note(SULFA), charted(220045, -60), procedure(225470, 0, 1), procedure(225469, 120, 121), icu=UNIT),
}

OUTSIDE = {
    "no antibacterial ordered": Chart(rows=(order(0, "Heparin"), note(PEN))),
    "eye drops alone": Chart(rows=(order(0, "Ciprofloxacin 0.3% Ophth Soln", "LEFT EYE"), note(PEN))),
    "morphine sulfate": Chart(rows=(order(0, "Morphine Sulfate"), note(PEN))),
    "an order of another kind": Chart(rows=(ordered(0, "Medications"), note(PEN))),
    "a child": chart(note(PEN), age=17),
}
# fmt: on


INSIDE, FURTHER = NEAR, TOO_CLOSE


class TestRules(SampledRules):
    """As every scenario's."""


@pytest.mark.parametrize("claim", TOO_CLOSE)
def test_too_close_to_call(claim: str, judged: Judged) -> None:
    assert not judged.eligible[claim]


@pytest.mark.parametrize("claim", NEAR)
def test_not_too_close(claim: str, judged: Judged) -> None:
    assert judged.eligible[claim]


class TestEvidence:
    """What an answer must rest on."""

    def test_any_one_dose_is_enough(self, judged: Judged) -> None:
        needs = judged.evidence["the class itself comes first"]
        assert list(needs) == ["allergy_text", "exposure"]
        assert [len(dose) for dose in needs["exposure"].alternatives] == [1]

    def test_a_penicillin_asks_for_its_relatives_too(self, judged: Judged) -> None:
        (window,) = judged.evidence["none given"]["no_exposure"].search
        assert window.source == "hosp.emar"
        assert window.names is not None
        assert "cillin" in window.names
        assert "cef" in window.names

    def test_in_an_icu_infusions_are_searched_as_well(self, judged: Judged) -> None:
        needs = judged.evidence["one of no amount does not"]
        assert [window.source for window in needs["no_exposure"].search] == ["hosp.emar", "icu.inputevents"]

    def test_two_classes_are_both_searched(self, judged: Judged) -> None:
        sulfonamide = judged.evidence["the own list comes before it"]["no_exposure"].search
        assert [window.names for window in sulfonamide] == ["sulfameth|bactrim|septra"]

    def test_the_last_list_before_is_the_one_to_cite(self, judged: Judged) -> None:
        name = "the last list before"
        assert judged.evidence[name]["allergy_text"].alternatives == (
            (judged.rows(name, "note.discharge")[0],),
        )

    def test_too_few_rows_are_searched_for(self, judged: Judged) -> None:
        needs = judged.evidence["two rows are too few"]
        assert list(needs) == ["listed_but_not_recorded", "too_few_records"]
