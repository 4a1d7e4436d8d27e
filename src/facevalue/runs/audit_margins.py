"""Margins of the studies of an audit: the largest differences that would not matter, declared before any answer."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import tomli_w

from facevalue.errors import UnknownNameError
from facevalue.protocol.study import Study
from facevalue.protocol.toml_tables import TomlTable
from facevalue.runs.audit_folder import run_name

if TYPE_CHECKING:
    from facevalue.measures.families import Preregistration


def read_margins(table: TomlTable) -> dict[str, TomlTable]:
    """Read the tables `[margins.STUDY]` of an audit's settings, by study: numbers above 0, by measure.

    Raises
    ------
    DataError
        A table without a measure, or a margin that is none; names the line.
    """
    by_study = table.table("margins", needed=False)
    out = {study: by_study.table(study) for study in by_study}
    for study, margins in out.items():
        if not list(margins):
            raise by_study.error(f"[margins.{study}] names no measure: write one, such as shift = 0.02.", study)
        for measure in margins:
            if margins.number(measure) <= 0:
                raise margins.error(
                    f"The margin of {measure} is {margins.number(measure):g}: it is above 0, or nothing is equivalent.",
                    measure,
                )
    return out


def recorded_margins(margins: Mapping[str, TomlTable]) -> dict[str, list[str]]:
    """Margins as the record of an audit holds them: by study, a line for each measure."""
    return {
        f"margins of {run_name(study)}": sorted(f"{measure} = {table.number(measure)!r}" for measure in table)
        for study, table in margins.items()
    }


def declared_margins(margins: TomlTable, study: Study) -> "Preregistration":
    """Understand the margins of a study, as what is declared before its run.

    Raises
    ------
    UnknownNameError
        The study has no such measure.
    DataError
        Nothing can lie beyond a margin, or the study's file declares families or margins itself.
    """
    from facevalue.measures.families import parse_preregistration  # noqa: PLC0415 - slow to import
    from facevalue.measures.family_tests import check_margins  # noqa: PLC0415 - slow to import

    if study.estimates.declared is not None:
        raise margins.error(
            f"{study.name} declares in its own file what it confirms: write the `margin` of an estimand there."
        )
    measures = study.estimates.measures
    names = [measure.key for measure in measures]
    for name in margins:
        with margins.at(name):
            if name not in names:
                raise UnknownNameError("measure", name, names)
            check_margins({name: margins.number(name)}, measures)
    text = tomli_w.dumps({"margin": {name: margins.number(name) for name in sorted(margins)}})
    return parse_preregistration(text.encode(), names)
