"""What is published about the releases: row counts, and how a source is recognised by them.

Counts come from the validation scripts that the MIMIC team publishes in the mimic-code repository
(MIT-LCP/mimic-code, folders mimic-iv, mimic-iv-note and mimic-iv-ed, `buildmimic`), those of radiographs
from the descriptions of MIMIC-CXR and MIMIC-CXR-JPG. A table for which nothing is published (ecg and echo
are described in round numbers only) has no count here.
"""

from collections.abc import Mapping
from dataclasses import dataclass

UNKNOWN_RELEASE = "unknown"


@dataclass(frozen=True)
class Counts:
    """Published row counts by table, and where they are published."""

    source: str
    rows: Mapping[str, int]


def _counts(source: str, **modules: str) -> Counts:
    rows = {
        f"{module}.{name}": int(number)
        for module, text in modules.items()
        for name, number in (word.split(":") for word in text.split())
    }
    return Counts(source, rows)


_CORE = {
    "3.1": _counts(
        "mimic-code, mimic-iv/buildmimic/mysql/validate.sql (MIMIC-IV 3.1)",
        hosp="patients:364627 admissions:546028 transfers:2413581 services:593071 labevents:158374764 "
        "microbiologyevents:3988224 emar:42808593 emar_detail:87371064 prescriptions:20292611 "
        "pharmacy:17847567 poe:52212109 poe_detail:8504982 omr:7753027 diagnoses_icd:6364488 "
        "procedures_icd:859655 drgcodes:761856 hcpcsevents:186074 d_labitems:1650 "
        "d_icd_diagnoses:112107 d_icd_procedures:86423 d_hcpcs:89208",
        icu="icustays:94458 chartevents:432997491 datetimeevents:9979761 inputevents:10953713 "
        "outputevents:5359395 procedureevents:808706 d_items:4095",
    ),
    "2.2": _counts(
        "mimic-code, mimic-iv/buildmimic/postgres/validate.sql (MIMIC-IV 2.2)",
        hosp="patients:299712 admissions:431231 transfers:1890972 services:468029 labevents:118171367 "
        "microbiologyevents:3228713 emar:26850359 emar_detail:54744789 prescriptions:15416708 "
        "pharmacy:13584514 poe:39366291 poe_detail:3879418 omr:6439169 diagnoses_icd:4756326 "
        "procedures_icd:669186 drgcodes:604377 hcpcsevents:150771 d_labitems:1622 "
        "d_icd_diagnoses:109775 d_icd_procedures:85257 d_hcpcs:89200",
        icu="icustays:73181 chartevents:313645063 datetimeevents:7112999 inputevents:8978893 "
        "outputevents:4234967 procedureevents:696092 d_items:4014",
    ),
    "demo-2.2": _counts(
        "mimic-code, mimic-iv/buildmimic/postgres/validate_demo.sql (MIMIC-IV demo 2.2)",
        hosp="patients:100 admissions:275 transfers:1190 services:319 labevents:107727 "
        "microbiologyevents:2899 emar:35835 emar_detail:72018 prescriptions:18087 pharmacy:15306 "
        "poe:45154 poe_detail:3795 omr:2964 diagnoses_icd:4506 procedures_icd:722 drgcodes:454 "
        "hcpcsevents:61 d_labitems:1622 d_icd_diagnoses:109775 d_icd_procedures:85257 d_hcpcs:89200 "
        "provider:40508",
        icu="icustays:140 chartevents:668862 datetimeevents:15280 inputevents:20404 "
        "ingredientevents:25728 outputevents:9362 procedureevents:1468 d_items:4014 caregiver:15468",
    ),
}

# Modules have releases of their own; the same one goes with MIMIC-IV 2.2 and 3.1.
_MODULES = {
    "note": _counts(
        "mimic-code, mimic-iv-note/buildmimic/postgres/validate.sql",
        note="discharge:331793 radiology:2321355 discharge_detail:186138 radiology_detail:6046121",
    ),
    "ed": _counts(
        "mimic-code, mimic-iv-ed/buildmimic/postgres/validate.sql (MIMIC-IV-ED 2.2)",
        ed="edstays:425087 diagnosis:899050 medrecon:2987342 pyxis:1586053 triage:425087 vitalsign:1564610",
    ),
    "cxr": _counts(
        "descriptions of MIMIC-CXR 2.0.0 and MIMIC-CXR-JPG 2.0.0 (PhysioNet)",
        cxr="metadata:377110 chexpert:227827 record_list:377110 study_list:227835",
    ),
}

RELEASES = tuple(_CORE)
"""Releases that a source can be recognised as, or stated to be."""

_TELLING = ("hosp.patients", "hosp.admissions", "icu.icustays")


def recognise(rows: Mapping[str, int]) -> str:
    """The release whose published numbers of patients, admissions and ICU stays are those of `rows`.

    The layouts of 2.2 and 3.1 are the same, so a part of a release cannot be told: it is `unknown`.
    """
    for release, counts in _CORE.items():
        if all(rows.get(name) == counts.rows[name] for name in _TELLING):
            return release
    return UNKNOWN_RELEASE


def published(release: str) -> dict[str, tuple[int, str]]:
    """Published rows and their source by table, for the core and the modules that go with `release`."""
    core = _CORE.get(release)
    if core is None:
        return {}
    modules = [] if release.startswith("demo") else list(_MODULES.values())
    return {name: (rows, counts.source) for counts in (core, *modules) for name, rows in counts.rows.items()}
