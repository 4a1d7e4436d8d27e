"""Pictures of VIGNETTE: the paper's whole list, the part that is drawn, the authors', PATA's, or the user's own.

A picture of one person is `individual_images/{gender}/{axis}/{descriptor}_{activity}.png`, a portrait
`{descriptor}.png`; a pair is `{contrast}/{gender}/{axis}/{descriptor}_{activity}--{descriptor}_{activity}.png`, such as
`little-boy_babysitting--male-adolescent_babysitting.png`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import polars as pl

from facevalue.errors import DataError, UnknownNameError
from facevalue.protocol.settings import Options, names, whole
from facevalue.protocol.sources import PictureSource, kind_of, list_pictures, own_manifest, root_of, source_of
from facevalue.protocol.study import LeftOut
from facevalue.stimuli.base import Kind, Source
from facevalue.stimuli.drawings.people import PEOPLE, DrawnPeople
from facevalue.stimuli.drawings.people import left_out as identities_left_out
from facevalue.stimuli.drawings.portraits import default_cache
from facevalue.stimuli.face_datasets import missing_photographs, read_pata, read_pata_list
from facevalue.stimuli.folders import Levels, Spellings, read_folder
from facevalue.stimuli.manifest_rows import Column, Faults, Listing, levels, select_levels
from facevalue.stimuli.noto.scenes import NOT_DRAWN
from facevalue.stimuli.pair_lists import identity_pairs
from facevalue.stimuli.pairs import ComposedPairs, FileIndividuals, NoPicture, PairSource
from facevalue.studies.vignette import tables
from facevalue.studies.vignette.design import Cast
from facevalue.studies.vignette.settings import RELEASED, Chosen, selection
from facevalue.types import OptionValue

# Folders in which VIGNETTE's authors keep their pictures.


CONTRASTS: Mapping[str, Sequence[str]] = {
    "identity": ("identity_contrast", "same_activity"),
    "activity": ("activity_contrast", "same_descriptor"),
    "identity-activity": ("activity_identity_contrast", "different_activity"),
}
"""Folders of pairs, by the contrast that each holds. Pairs without activities are of the contrast "portrait"."""
INDIVIDUALS = "individual_images"
_PLACE = "{gender}/{dimension}/"
_PERSON_FOLDERS = ("{identity}", "{identity}_{activity}")
_PAIR = ("{identity_1}--{identity_2}", "{identity_1}_{activity_1}--{identity_2}_{activity_2}")
_SHOWN = 5


def read_individuals(root: Path) -> pl.DataFrame:
    """List the pictures of one person each.

    `root`: the folder that holds `individual_images`, or `male` and `female` themselves.

    Returns one row per picture, by gender and path: `image` (the path without its suffix), `path` (relative to `root`),
    `gender`, `dimension`, `identity`, `activity` (null for portraits).
    """
    top = f"{INDIVIDUALS}/" if (root / INDIVIDUALS).is_dir() else ""
    patterns = [f"{top}{_PLACE}{person}" for person in _PERSON_FOLDERS]
    return _read(root, patterns, [f"{top}{gender}" for gender in tables.GENDERS], ("identity", "activity"))


def read_pairs(root: Path) -> pl.DataFrame:
    """List pictures of two people each, composed by the authors.

    `root`: the folder that holds folders of contrasts, such as `identity_contrast`.

    Returns one row per picture, by contrast, gender and path: `image`, `path`, `gender`, `dimension`, `contrast` (of
    `CONTRASTS`, or "portrait"), `identity_1`, `identity_2`, `activity_1`, `activity_2` (null for portraits). The person
    on the left is 1.
    """
    folders = [f"{name}/{gender}" for names in CONTRASTS.values() for name in names for gender in tables.GENDERS]
    columns = ("contrast", "identity_1", "identity_2", "activity_1", "activity_2")
    frame = _read(root, [f"{{contrast}}/{_PLACE}{pair}" for pair in _PAIR], folders, columns)
    differ = [
        pl.when(pl.col(f"{name}_1").ne_missing(pl.col(f"{name}_2"))).then(pl.lit(name))
        for name in ("identity", "activity")
    ]
    wrong = frame.filter(pl.concat_str(differ, separator="-", ignore_nulls=True) != pl.col("contrast"))["path"]
    if len(wrong):
        more = f" and {len(wrong) - _SHOWN:,} more" if len(wrong) > _SHOWN else ""
        raise DataError(f"{root}: not of the contrast of their folders: {', '.join(wrong[:_SHOWN])}{more}.")
    portrait = pl.col("activity_1").is_null()
    return frame.with_columns(contrast=pl.when(portrait).then(pl.lit("portrait")).otherwise("contrast"))


def _read(root: Path, patterns: Sequence[str], folders: Sequence[str], columns: Sequence[str]) -> pl.DataFrame:
    activities = Levels({activity.name: () for activity in tables.activities()})
    identities = Levels(lambda within: _identity_spellings(within.get("gender", ""), within.get("dimension", "")))
    levels = {
        "contrast": Levels(CONTRASTS),
        "gender": Levels(dict.fromkeys(tables.GENDERS, ())),
        "dimension": Levels({d.name: (d.axis,) for d in tables.dimensions()}),
        **dict.fromkeys(("identity", "identity_1", "identity_2"), identities),
        **dict.fromkeys(("activity", "activity_1", "activity_2"), activities),
    }
    frame = read_folder(root, patterns, levels, folders)
    image = pl.col("path").str.replace(r"\.[^.]*$", "").alias("image")
    return frame.select(image, "path", "gender", "dimension", *columns)


@cache
def _identity_spellings(gender: str, dimension: str) -> Spellings:
    """Identities of a gender and dimension, with what they are called in names of files."""
    return {i.name: (tables.wording(i, gender), *i.aliases) for i in tables.identities(dimension, gender)}


RELEASED_SIZE = (672, 336)
"""Size that the released code squeezes pairs to, in pixels."""
PATA_ACTIVITIES = ("cooking", "programming")
"""Activities that PATA is asked about unless some are named, as in the paper (A.6)."""
UNSTATED = "unstated"
"""Gender of pictures whose manifest doesn't say."""
_PERSON = ("gender", "dimension", "identity")
_COLUMNS = ("image", *_PERSON, "activity")

_UNDECLARED = (
    "an identity is none of VIGNETTE's, and no column says what questions call it: prompts would name it. Give what is "
    "compared, such as old, or your own with a 'wording' or 'dimension'; who is shown belongs in 'person'"
)
_ELSE = "Give pictures of your own (--manifest, --folder), or ask without any (--drawings none)."


def _identities() -> Mapping[str, Sequence[str]]:
    table: dict[str, dict[str, None]] = {}
    for dimension in tables.dimensions():
        for identity in tables.identities(dimension.name):
            spelled = (*identity.aliases, *filter(None, (identity.male, identity.female)))
            table.setdefault(identity.name, {}).update(dict.fromkeys(spelled))
    return {name: tuple(spelled) for name, spelled in table.items()}


def _dimension(row: Mapping[str, str]) -> str | None:
    """The only dimension that has all identities of a row."""
    names = {row[name] for name in ("identity", "identity_1", "identity_2") if row.get(name)}
    dimensions = [
        d.name
        for d in tables.dimensions()
        if names and names <= {identity.name for identity in tables.identities(d.name)}
    ]
    return dimensions[0] if len(dimensions) == 1 else None


def _contrast(row: Mapping[str, str]) -> str | None:
    """Contrast between the two people of a picture."""
    if "identity_1" not in row:
        return None
    differ = [n for n in ("identity", "activity") if row.get(f"{n}_1", row.get(n)) != row.get(f"{n}_2", row.get(n))]
    return "-".join(differ) if any(name.startswith("activity") for name in row) else "portrait"


COLUMNS = (
    Column("identity", "who is shown, such as old; no name of a person", needed=True, filled=True,
           instead=("identity_1", "identity_2"), levels=_identities, paired=True),
    Column("activity", "what the person does; empty for portraits", paired=True,
           levels=lambda: {activity.name: () for activity in tables.activities()}),
    Column("gender", "people of one gender are paired",
           levels=lambda: {"male": ("man", "men", "boy"), "female": ("woman", "women", "girl")}),
    Column("dimension", "what identities differ in; identities of one are paired", level_of=_dimension,
           levels=lambda: {dimension.name: (dimension.axis,) for dimension in tables.dimensions()}),
    Column("contrast", "what differs in a picture of two people: identity, activity, ... or portrait",
           level_of=_contrast),
    Column("wording", "what questions call the identity"),
    Column("person", "who is shown, where several people have one identity"),
)  # fmt: skip
"""Columns of a manifest."""


@dataclass(frozen=True)
class RolePictures:
    """Pictures that can be shown."""

    frame: pl.DataFrame
    """The manifest: one row per picture."""
    chosen: Chosen
    """Choice of what is asked about."""
    pairs: pl.DataFrame | None = None
    """Its pairs where they are a list; None where everyone is paired with everyone."""
    left_out: tuple[LeftOut, ...] = ()
    """Omissions from the paper, and why."""
    unshown: str = ""
    """Reason why there is nothing at all; the frame then lists what the paper has."""

    @property
    def composed(self) -> bool:
        """True if each picture shows two people already."""
        return self.pairs is not None and "image_1" not in self.pairs.columns


def read_pictures(options: Mapping[str, OptionValue], manifest: pl.DataFrame | None = None) -> RolePictures:
    """Read the pictures that were chosen, or list those that can be drawn."""
    if not source_of(SOURCES, options).setting:
        return _ours(options, manifest)
    frame, left_out = list_pictures(SOURCES, options, manifest)
    composed = "identity_1" in frame.columns or "activity_1" in frame.columns
    chosen = selection(options, levels(frame, "identity"), levels(frame, "activity"))
    for dimension in chosen["dimension"]:
        if dimension not in frame["dimension"]:
            raise UnknownNameError("dimension", dimension, frame["dimension"].unique().to_list())
    frame = select_levels(
        frame,
        {name: chosen[name] for name in (*_PERSON, "activity", "contrast")},
    )
    if not frame.height:
        raise DataError("None of the pictures is of the genders, dimensions, identities and activities chosen.")
    if composed:
        return RolePictures(frame, chosen, frame.with_columns(pl.col("image").alias("pair")))
    if frame.select(_COLUMNS[1:]).is_duplicated().any():
        pairs = _pair_pictures(frame, whole(options, "pairs", 1), whole(options, "shuffle_seed", 0))
        return RolePictures(frame, chosen, pairs, left_out)
    return RolePictures(frame, chosen, None, left_out)


def source(pictures: RolePictures, options: Mapping[str, OptionValue], shuffle: int) -> Source:
    """Source of the stimuli."""
    size = RELEASED_SIZE if options["prompts"] == RELEASED else None
    if not source_of(SOURCES, options).setting:
        if options["drawings"] == "none" or pictures.chosen["shown"] == ("text",) or pictures.unshown:
            return NoPicture()
        return PairSource(DrawnPeople(default_cache()), _picture_names, shuffle, size)
    kind = kind_of(options, Kind.PHOTOGRAPHS if options["pata"] else Kind.UNSTATED)
    if pictures.composed:
        return ComposedPairs(pictures.frame, root_of(options), kind, size)
    images = FileIndividuals(pictures.frame, root_of(options), kind)
    if pictures.pairs is not None:
        return PairSource(images, lambda row: (row["image_1"] or "", row["image_2"] or ""), shuffle, size)
    rows = pictures.frame.select(_COLUMNS).iter_rows(named=True)
    by_name = {_picture_names(row)[0]: row["image"] for row in rows}

    def pair_of(row: Mapping[str, str | None]) -> tuple[str, str]:
        first, second = _picture_names(row)
        return by_name[first], by_name[second]

    return PairSource(images, pair_of, shuffle, size)


def _picture_names(row: Mapping[str, str | None]) -> tuple[str, str]:
    """Names of both pictures, such as "male|age|old|cooking|3"; portraits have no activity."""
    get = row.get
    identity, activity, person = get("identity"), get("activity"), get("person")
    within, whose = f"{row['gender'] or ''}|{row['dimension'] or ''}", "" if person is None else f"|{person}"
    return (
        f"{within}|{get('identity_1') or identity or ''}|{get('activity_1') or activity or ''}{whose}",
        f"{within}|{get('identity_2') or identity or ''}|{get('activity_2') or activity or ''}{whose}",
    )


@cache
def _table_6() -> pl.DataFrame:
    """People of the paper: gender, dimension and identity, and their words as the paper and as its code has them."""
    rows = [
        (gender, dimension.name, person.name, tables.wording(person, gender), tables.released_word(person, gender))
        for gender in tables.GENDERS
        for dimension in tables.dimensions()
        for person in tables.identities(dimension.name, gender)
    ]
    return pl.DataFrame(rows, schema=dict.fromkeys((*_PERSON, "paper", "released"), pl.String()), orient="row")


def everyone(chosen: Chosen) -> pl.DataFrame:
    """The pictures of the paper (section 3): every identity with every activity, and portraits."""
    activities = [a.name for a in tables.activities() if a.name in (chosen["activity"] or (a.name,))]
    return _cross_activities(_people(chosen), activities)


def _people(chosen: Chosen) -> pl.DataFrame:
    """Gender, dimension and name of the identities that were chosen."""
    return select_levels(_table_6().select(_PERSON), {name: chosen[name] for name in _PERSON})


def _cross_activities(people: pl.DataFrame, activities: Sequence[str]) -> pl.DataFrame:
    activity = pl.DataFrame({"activity": [*activities, None]}, schema={"activity": pl.String()})
    name = pl.concat_str(*_PERSON, pl.col("activity").fill_null(""), separator="|")
    return people.join(activity, how="cross").with_columns(name.alias("image")).select(_COLUMNS)


def _ours(options: Mapping[str, OptionValue], manifest: pl.DataFrame | None) -> RolePictures:
    chosen = selection(options)
    count = whole(options, "people", 1)
    if count > len(PEOPLE):
        raise DataError(f"At most {len(PEOPLE)} people are drawn as each identity, not {count}.")
    if options["drawings"] == "none" or chosen["shown"] == ("text",):
        return RolePictures(everyone(chosen) if manifest is None else manifest, chosen)
    frame, left_out = _list_drawings(chosen, count)
    if not frame.height:
        nothing = f"Nothing of {', '.join(chosen['dimension'])} is drawn: {left_out[0].why} {_ELSE}"
        return RolePictures(everyone(chosen), chosen, None, left_out, nothing)
    return RolePictures(frame if manifest is None else manifest, chosen, None, left_out)


def _list_drawings(chosen: Chosen, count: int) -> tuple[pl.DataFrame, tuple[LeftOut, ...]]:
    """The pictures of so many people that FaceValue can draw, and what of the paper's it cannot."""
    everybody = _people(chosen)
    people = [(*person, identities_left_out(*person[:2]).get(person[2])) for person in everybody.iter_rows()]
    names = [activity.name for activity in tables.activities()]
    activities = [(name, NOT_DRAWN.get(name)) for name in names if name in (chosen["activity"] or (name,))]
    drawn_people = everybody.filter(pl.Series([reason is None for *_, reason in people], dtype=pl.Boolean))
    drawn_names = set(drawn_people["identity"])
    refused = [(name, reason) for *_, name, reason in people if name in chosen["identity"] and name not in drawn_names]
    for name, reason in [*refused, *(activities if chosen["activity"] else [])]:
        if reason is not None:
            raise DataError(f"{name!r} is not drawn: {reason} {_ELSE}")
    omitted: dict[tuple[str, str], dict[str, None]] = {}
    for label, name, reason in [*(person[1:] for person in people), *(("activities", *pair) for pair in activities)]:
        if reason is not None:
            omitted.setdefault((label, reason), {})[name] = None
    out = tuple(LeftOut(f"{label}: {', '.join(names)}", reason) for (label, reason), names in omitted.items())
    models = pl.DataFrame({"person": [str(number) for number in range(1, count + 1)]})
    columns = (
        pl.concat_str("image", "person", separator="|"),
        pl.concat_str("gender", "person", separator=" ").alias("set"),
    )
    drawn_activities = [name for name, reason in activities if reason is None]
    return _cross_activities(drawn_people, drawn_activities).join(models, how="cross").with_columns(columns), out


def _manifest(options: Mapping[str, OptionValue]) -> pl.DataFrame:
    frame = own_manifest(options, COLUMNS)
    needed = ("identity",) if "identity_1" not in frame.columns else ("identity_1", "identity_2")
    faults = Faults()
    for name in (*needed, "gender", "dimension"):
        if name in frame.columns:
            faults.add_rows(f"{name!r} is empty", frame[name].is_null(), frame["path"])
    words_of_list = [pl.col(name).is_not_null() for name in ("wording", "dimension") if name in frame.columns]
    is_declared = pl.any_horizontal(*words_of_list, False)
    for name in needed:
        is_listed = pl.col(name).is_in(_table_6()["identity"].unique().implode())
        undeclared = frame.select(~is_listed & ~is_declared).to_series()
        faults.add_rows(_UNDECLARED, undeclared, frame[name])
    faults.check(Path(str(options["manifest"])).name)
    absent: dict[str, str | None] = {"activity": None, "gender": UNSTATED, "dimension": "identity"}
    for name, level in absent.items():
        if name not in frame.columns and not (name == "activity" and "activity_1" in frame.columns):
            frame = frame.with_columns(pl.lit(level, pl.String).alias(name))
    if needed[0] == "identity_1" and "contrast" not in frame.columns:
        raise DataError("A manifest of composed pairs needs the column contrast: identity, activity, ... or portrait.")
    return frame


def _folder(options: Options) -> pl.DataFrame:
    root = Path(str(options["folder"]))
    composed = any((root / folder).is_dir() for folders in CONTRASTS.values() for folder in folders)
    return (read_pairs if composed else read_individuals)(root)


def _pata(options: Options) -> Listing:
    path, scenes = Path(str(options["pata"])), _scenes(options)
    frame = read_pata(path, root_of(options), scenes).with_columns(dimension=pl.lit("race"))
    missing = missing_photographs(path, scenes, frame)
    return Listing(frame, ((missing, "No such file in the folder."),) if missing else ())


def _scenes(options: Mapping[str, OptionValue]) -> list[str]:
    """The scenes that were named; else those of the paper, as far as the list has them."""
    listed = set(read_pata_list(Path(str(options["pata"])))["activity"])
    return names(options, "activity") or [name for name in PATA_ACTIVITIES if name in listed]


SOURCES = (
    PictureSource("manifest", lambda options: Listing(_manifest(options))),
    PictureSource("folder", lambda options: Listing(_folder(options))),
    PictureSource("pata", _pata),
    PictureSource("", lambda options: Listing(everyone(selection(options)))),
)
"""The user's own pictures, the authors' folders, PATA's photographs, or the paper's; `source` shows pairs of them."""


def _pair_pictures(frame: pl.DataFrame, per_cell: int, seed: int) -> pl.DataFrame:
    """Pairs of pictures of two identities with one activity, or of two portraits, where each has several."""
    contrast = pl.when(pl.col("activity").is_null()).then(pl.lit("portrait")).otherwise(pl.lit("identity"))
    return (
        identity_pairs(frame, seed, per_cell)
        .with_columns(
            pl.concat_str("image_1", "image_2", separator=" + ").alias("pair"),
            contrast.alias("contrast"),
            pl.col("gender_1").alias("gender"),
        )
        .drop("gender_1", "gender_2")
    )


def casts(frame: pl.DataFrame) -> list[Cast]:
    """People and activities that can be paired, for pictures of which there is one of each kind."""
    out = []
    gaps: list[str] = []
    for key, pictures in frame.group_by("gender", "dimension", maintain_order=True):
        gender, dimension = map(str, key)
        acting = pictures.filter(pl.col("activity").is_not_null())
        activities, identities = (acting[name].unique(maintain_order=True) for name in ("activity", "identity"))
        portraits = pictures.filter(pl.col("activity").is_null())["identity"].unique(maintain_order=True)
        people = pictures["person"].unique(maintain_order=True) if "person" in pictures.columns else ()
        if identities.len() * activities.len() * max(len(people), 1) != acting.height:
            present = set(acting.select("identity", "activity").iter_rows())
            gaps += [
                f"{identity} ({gender}): {a}"
                for identity in identities
                for a in activities
                if (identity, a) not in present
            ]
        out.append(Cast(gender, dimension, tuple(identities), tuple(portraits), tuple(activities), tuple(people)))
    if gaps:
        more = f" and {len(gaps) - _SHOWN:,} more" if len(gaps) > _SHOWN else ""
        count = "1 picture is missing" if len(gaps) == 1 else f"{len(gaps):,} pictures are missing"
        raise DataError(
            f"{count}: {'; '.join(gaps[:_SHOWN])}{more}. Every identity needs a picture of "
            "every activity, or pairs would not be comparable: choose with --identity and --activity."
        )
    return out


def check_partners(casts: Sequence[Cast], chosen: Chosen) -> None:
    """Refuse identities that were asked for by name and have nobody to be paired with."""
    if not chosen["identity"] or chosen["contrast"] == ("activity",):
        return
    groups = [identities for cast in casts for identities in (cast.identities, cast.portraits)]
    partnered = {identity for identities in groups if len(identities) > 1 for identity in identities}
    for name in chosen["identity"]:
        if name in partnered:
            continue
        of = [cast.dimension for cast in casts if name in (*cast.identities, *cast.portraits)]
        if not of:
            raise DataError(f"The identity {name!r} is in none of the dimensions and genders chosen.")
        raise DataError(
            f"The identity {name!r} is the only one chosen of {of[0]}: pairs are made of two identities within one "
            "dimension. Name another one of it, or ask about --contrast activity."
        )


def words(frame: pl.DataFrame, released: bool = False) -> pl.DataFrame:
    """Name of each identity: as in Table 6, by the user's `wording`, or else "NAME man".

    Columns gender, dimension, identity, word. With `released`, names of Table 6 are as the authors' code has them from
    its file names (`released_word`).
    """
    wording = pl.col("wording") if "wording" in frame.columns else pl.lit(None, pl.String)
    sides = [name for name in ("identity", "identity_1", "identity_2") if name in frame.columns]
    worded = [frame.select("gender", "dimension", identity=pl.col(side), wording=wording) for side in sides]
    people = pl.concat(worded).drop_nulls("identity").unique(_PERSON, maintain_order=True)
    table = _table_6().select(*_PERSON, table="released" if released else "paper")
    noun = pl.col("gender").replace_strict({"male": " man", "female": " woman"}, default="")
    word = pl.coalesce(pl.col("wording").replace("", None), "table", pl.concat_str("identity", noun))
    return people.join(table, on=_PERSON, how="left", maintain_order="left").select(*_PERSON, word=word)
