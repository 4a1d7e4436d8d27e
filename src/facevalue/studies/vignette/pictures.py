"""Whose pictures there are: the paper's whole list, the part that is drawn, or the user's own."""

from collections.abc import Mapping, Sequence

import polars as pl

from facevalue.errors import DataError
from facevalue.protocol.study import LeftOut
from facevalue.stimuli.drawn_people import DrawnPeople
from facevalue.studies.vignette.design import Cast
from facevalue.studies.vignette.settings import Selection
from facevalue.studies.vignette.tables import GENDERS, activities, dimensions, identities, released_word, wording

COLUMNS = ("image", "gender", "dimension", "identity", "activity")
_SHOWN = 5


def picture_name(gender: str, dimension: str, identity: str, activity: str | None, person: str | None = None) -> str:
    """Name of the picture of one person; portraits have no activity.

    Examples
    --------
    >>> picture_name("male", "age", "old", None), picture_name("male", "age", "old", "cooking", "2")
    ('male|age|old|', 'male|age|old|cooking|2')
    """
    name = f"{gender}|{dimension}|{identity}|{activity or ''}"
    return name if person is None else f"{name}|{person}"


def everyone(chosen: Selection) -> pl.DataFrame:
    """The pictures of the paper (section 3): every identity with every activity, and portraits."""
    people = [
        (gender, dimension.name, one.name)
        for gender in chosen.genders or GENDERS
        for dimension in dimensions()
        if dimension.name in (chosen.dimensions or (dimension.name,))
        for one in identities(dimension.name, gender)
        if one.name in (chosen.identities or (one.name,))
    ]
    done = [a.name for a in activities() if a.name in (chosen.activities or (a.name,))]
    return _crossed(people, done)


def drawn(chosen: Selection, people: DrawnPeople, count: int) -> tuple[pl.DataFrame, tuple[LeftOut, ...]]:
    """The pictures that FaceValue can draw, and what of the paper's it cannot.

    Parameters
    ----------
    chosen:
        What of it is wanted.
    people:
        Who draws.
    count:
        How many different people are drawn as each identity.

    Returns
    -------
    The manifest, empty if nothing can be drawn, and what is left out.

    Raises
    ------
    DataError
        An identity or activity that was asked for by name cannot be drawn.
    """
    rows: list[tuple[str, str, str]] = []
    missing: dict[tuple[str, str], dict[str, None]] = {}
    for gender in chosen.genders or GENDERS:
        for dimension in dimensions():
            if chosen.dimensions and dimension.name not in chosen.dimensions:
                continue
            known, reasons = people.drawable(gender, dimension.name), people.left_out(gender, dimension.name)
            for one in identities(dimension.name, gender):
                if chosen.identities and one.name not in chosen.identities:
                    continue
                if one.name in known:
                    rows.append((gender, dimension.name, one.name))
                else:
                    why = reasons[one.name]
                    missing.setdefault((dimension.name, why), {})[one.name] = None
    there = {row[2] for row in rows}
    for (_, why), who in missing.items():
        for name in who:
            if name in chosen.identities and name not in there:
                raise DataError(f"{name!r} is not drawn: {why} {_ELSE}")
    done: list[str] = []
    lost: dict[str, list[str]] = {}
    for activity in activities():
        if chosen.activities and activity.name not in chosen.activities:
            continue
        if activity.name in people.activities:
            done.append(activity.name)
        elif chosen.activities:
            raise DataError(f"{activity.name!r} is not drawn: {people.activities_left_out[activity.name]} {_ELSE}")
        else:
            lost.setdefault(people.activities_left_out[activity.name], []).append(activity.name)
    out = [LeftOut(f"{dimension}: {', '.join(who)}", why) for (dimension, why), who in missing.items()]
    out += [LeftOut(f"activities: {', '.join(names)}", why) for why, names in lost.items()]
    models = pl.DataFrame({"person": [str(number) for number in range(1, count + 1)]})
    named = (
        pl.concat_str("image", "person", separator="|"),
        pl.concat_str("gender", "person", separator=" ").alias("set"),
    )
    frame = _crossed(rows, done).join(models, how="cross").with_columns(named)
    return frame, tuple(out)


def nothing_drawn(chosen: Selection, left_out: Sequence[LeftOut]) -> str:
    """Why there is nothing to show, and what to do."""
    return f"Nothing of {', '.join(chosen.dimensions)} is drawn: {left_out[0].why} {_ELSE}"


_ELSE = "Give pictures of your own (--manifest, --folder), or ask without any (--pictures none)."


def _crossed(people: Sequence[tuple[str, str, str]], done: Sequence[str]) -> pl.DataFrame:
    who = pl.DataFrame(people, schema=dict.fromkeys(("gender", "dimension", "identity"), pl.String()), orient="row")
    what = pl.DataFrame({"activity": [*done, None]}, schema={"activity": pl.String()})
    name = pl.concat_str("gender", "dimension", "identity", pl.col("activity").fill_null(""), separator="|")
    return who.join(what, how="cross").with_columns(name.alias("image")).select(COLUMNS)


def casts(frame: pl.DataFrame) -> list[Cast]:
    """Who can be paired with whom, for pictures of which there is one of each kind.

    Raises
    ------
    DataError
        An identity lacks the picture of an activity that others of its gender and dimension have.
    """
    out = []
    gaps: list[str] = []
    for key, part in frame.group_by("gender", "dimension", maintain_order=True):
        gender, dimension = map(str, key)
        acting = part.filter(pl.col("activity").is_not_null())
        done = acting["activity"].unique(maintain_order=True)
        who = acting["identity"].unique(maintain_order=True)
        portraits = part.filter(pl.col("activity").is_null())["identity"].unique(maintain_order=True)
        people = (
            part["person"].unique(maintain_order=True) if "person" in part.columns else pl.Series([], dtype=pl.String)
        )
        if who.len() * done.len() * max(people.len(), 1) != acting.height:
            there = set(acting.select("identity", "activity").iter_rows())
            gaps += [f"{one} ({gender}): {a}" for one in who for a in done if (one, a) not in there]
        out.append(Cast(gender, dimension, tuple(who), tuple(portraits), tuple(done), tuple(people)))
    if gaps:
        more = f" and {len(gaps) - _SHOWN:,} more" if len(gaps) > _SHOWN else ""
        what = "1 picture is missing" if len(gaps) == 1 else f"{len(gaps):,} pictures are missing"
        raise DataError(
            f"{what}: {'; '.join(gaps[:_SHOWN])}{more}. Every identity needs a picture of "
            "every activity, or pairs would not be comparable: choose with --identity and --activity."
        )
    return out


def check_partners(found: Sequence[Cast], chosen: Selection) -> None:
    """Refuse identities that were asked for by name and have nobody to be paired with.

    Raises
    ------
    DataError
        One is not of the dimensions or genders chosen, or alone in its dimension.
    """
    if not chosen.identities or chosen.contrasts == ("activity",):
        return
    partnered = {one for cast in found for who in (cast.identities, cast.portraits) if len(who) > 1 for one in who}
    for name in chosen.identities:
        if name in partnered:
            continue
        of = [cast.dimension for cast in found if name in (*cast.identities, *cast.portraits)]
        if not of:
            raise DataError(f"The identity {name!r} is in none of the dimensions and genders chosen.")
        raise DataError(
            f"The identity {name!r} is the only one chosen of {of[0]}: pairs are made of two identities within one "
            "dimension. Name another one of it, or ask about --contrast activity."
        )


def words(frame: pl.DataFrame, released: bool = False) -> pl.DataFrame:
    """What each identity of these pictures is called: as in Table 6, by the user's `wording`, or else "NAME man".

    Parameters
    ----------
    frame:
        A row per picture.
    released:
        Whether names of Table 6 are written as the authors' code has them from its file names (`released_word`).

    Returns
    -------
    Columns gender, dimension, identity, word.
    """
    named_by = released_word if released else wording
    table = {
        (gender, dimension.name, one.name): named_by(one, gender)
        for gender in GENDERS
        for dimension in dimensions()
        for one in identities(dimension.name, gender)
    }
    noun: Mapping[str, str] = {"male": " man", "female": " woman"}
    given = pl.col("wording") if "wording" in frame.columns else pl.lit(None, pl.String)
    sides = [name for name in ("identity", "identity_1", "identity_2") if name in frame.columns]
    named = [frame.select("gender", "dimension", identity=pl.col(side), wording=given) for side in sides]
    people = pl.concat(named).drop_nulls("identity").unique(["gender", "dimension", "identity"], maintain_order=True)
    rows = []
    for gender, dimension, identity, own in people.iter_rows():
        word = own or table.get((gender, dimension, identity)) or f"{identity}{noun.get(gender, '')}"
        rows.append((gender, dimension, identity, word))
    return pl.DataFrame(
        rows, schema=dict.fromkeys(("gender", "dimension", "identity", "word"), pl.String()), orient="row"
    )
