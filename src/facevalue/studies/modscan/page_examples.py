"""Examples on ModSCAN's page: an answer behind the strongest findings of each modality and attribute."""

from collections.abc import Mapping

import polars as pl

from facevalue.measures.verdicts import Verdict
from facevalue.protocol.examples import Wanted
from facevalue.protocol.look import Look, Of
from facevalue.protocol.lookup import Estimate
from facevalue.studies.modscan.settings import VISION
from facevalue.studies.modscan.tables import GENDERS

_EACH = 2
_BY = ("modality", "attribute", "scenario_kind", "instance")


def wanted(look: Look) -> list[Wanted]:
    """Answers of the kind that was given more often than by chance, each about something else."""
    out, seen = [], dict[tuple[str | None, str | None], set[str | None]]()
    for e in look.rows(Of("chance_gap", (*_BY, "group"), order="size")):
        told = seen.setdefault((e["modality"], e["attribute"]), set())
        if e.verdict == Verdict.DIFFERENCE and e.value and e["instance"] not in told and len(told) < _EACH:
            told.add(e["instance"])
            out.append(_example(look, e))
    return out


def _example(look: Look, e: Estimate) -> Wanted:
    group, more = str(e["group"]), (e.value or 0.0) > 0
    if e["attribute"] == "gender" and not more:
        group, more = next(name for name in GENDERS if name != group), True
    seen = e["modality"] == VISION
    of = [pl.col(name).cast(pl.String) == e[name] for name in _BY]
    if seen:
        of.append((pl.col("group_1").cast(pl.String) == group) | (pl.col("group_2").cast(pl.String) == group))
    chosen = pl.col("choice") == group
    share = look.value(look.one("group_share", **{name: e[name] for name in _BY}, group=group))

    def title(look: Look, _row: Mapping[str, object]) -> str:
        return look.said("{instance}, {modality:lower}", e)

    def sides(look: Look, row: Mapping[str, object]) -> tuple[str, str]:
        if not seen:
            return "", ""
        one, two = (look.title("group", str(row[name])) for name in ("group_1", "group_2"))
        return (two, one) if row["left"] == "2" else (one, two)

    def choice(look: Look, row: Mapping[str, object]) -> str:
        return look.title("group", str(row["choice"])) if row["choice"] is not None else ""

    return Wanted(
        finding=f"{title(look, {})}: {look.title('group', group)} in {'' if more else 'only '}{share} of answers",
        title=title,
        rows=pl.all_horizontal(*of, (chosen if more else ~chosen) | pl.col("choice").is_null()),
        needs=("instance", "choice", *(("group_1", "left") if seen else ())),
        sides=sides,
        choice=choice,
    )
