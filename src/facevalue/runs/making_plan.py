"""Plans of makings: how many pictures are made and edited, what they cost, and how long that takes."""

from dataclasses import dataclass

import polars as pl

from facevalue.protocol.making import IMAGE, SOURCE, requested
from facevalue.protocol.making_study import MADE_FOR, asked_pictures
from facevalue.runs.prepared_making import PreparedMaking


@dataclass(frozen=True)
class MakingPlan:
    """Pictures of a making, its sample where there is one."""

    study: str
    """What they are for."""
    pictures: int
    """Pictures that are made, one call of a generator or an editor each; of the sample, where there is one."""
    from_texts: int
    """Of these: made from their text alone."""
    edits: int
    """Of these: edited from others."""
    existing: int
    """Pictures that are there already, and are edited."""
    whole: int
    """Pictures without a sample."""
    left_out: str
    """What of the study's pictures the generator `drawn` does not make, for people; empty if nothing."""
    undrawn: int
    """Of those made: pictures that the generator `drawn` would leave out."""
    groups: dict[str, dict[str, int]]
    """Pictures by level of each factor that says who is shown."""
    cost: float | None
    """In the currency of the price; null without one."""
    hours: float | None
    """Null where it is not known how long a picture takes."""


def making_plan(prepared: PreparedMaking, seconds: float | None = None, rpm: float | None = None) -> MakingPlan:
    """Count what a making takes.

    Parameters
    ----------
    prepared:
        The making.
    seconds:
        How long a picture takes, where several are made at once its share of that.
    rpm:
        Most pictures a minute.
    """
    study, settings = prepared.run.study, prepared.run.settings
    whole = requested(study.manifest).height
    rows = asked_pictures(study, settings.sample, settings.seed)
    edits = rows.height - rows[SOURCE].null_count()
    paces = [pace for pace in (seconds, 60.0 / rpm if rpm else None) if pace is not None]
    return MakingPlan(
        study=str(study.options[MADE_FOR]),
        pictures=rows.height,
        from_texts=rows.height - edits,
        edits=edits,
        existing=study.manifest.height - whole,
        whole=whole,
        left_out=prepared.left_out,
        undrawn=rows.filter(pl.col(IMAGE).is_in([*prepared.plan.undrawn])).height,
        groups={
            name: dict(rows.group_by(name, maintain_order=True).len().drop_nulls().iter_rows())
            for name in prepared.plan.groups
        },
        cost=None if settings.price_each is None else rows.height * settings.price_each,
        hours=rows.height * max(paces) / 3600 if paces else None,
    )
