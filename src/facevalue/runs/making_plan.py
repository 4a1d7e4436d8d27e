"""Plans of makings: how many pictures are made and edited, what they cost, and how long that takes."""

from dataclasses import dataclass

from facevalue.protocol.making import SOURCE, requested
from facevalue.protocol.making_study import MADE_FOR
from facevalue.runs.prepared_making import PreparedMaking


@dataclass(frozen=True, slots=True)
class MakingPlan:
    """Pictures of a making, its sample where there is one.

    Attributes
    ----------
    study:
        What they are for.
    pictures:
        How many are made: one call of a generator or an editor each.
    from_texts, edits:
        Of these: made from their text alone, and edited from others.
    existing:
        Pictures that are there already, and are edited.
    whole:
        Pictures without a sample.
    groups:
        Pictures by level of each factor that says who is shown.
    cost:
        In the currency of the price; None without one.
    hours:
        None where it is not known how long a picture takes.
    """

    study: str
    pictures: int
    from_texts: int
    edits: int
    existing: int
    whole: int
    groups: dict[str, dict[str, int]]
    cost: float | None
    hours: float | None


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
    everything = requested(study.manifest)
    rows = everything if settings.sample is None else everything[study.sample(settings.sample, settings.seed, 1)]
    edits = rows.height - rows[SOURCE].null_count()
    paces = [pace for pace in (seconds, 60.0 / rpm if rpm else None) if pace is not None]
    return MakingPlan(
        study=str(study.options[MADE_FOR]),
        pictures=rows.height,
        from_texts=rows.height - edits,
        edits=edits,
        existing=study.manifest.height - everything.height,
        whole=everything.height,
        groups={
            name: dict(rows.group_by(name, maintain_order=True).len().drop_nulls().iter_rows())
            for name in prepared.plan.groups
        },
        cost=None if settings.price_each is None else rows.height * settings.price_each,
        hours=rows.height * max(paces) / 3600 if paces else None,
    )
