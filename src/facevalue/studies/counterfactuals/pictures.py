"""Pictures of the study: counterfactual sets, photographs of no set, the user's own pictures, or drawn sets."""

from collections import Counter
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from itertools import product
from pathlib import Path

import polars as pl

from facevalue.annotations import lexicon
from facevalue.errors import DataError
from facevalue.prompts.phrases import with_article
from facevalue.protocol import settings
from facevalue.protocol.settings import Options, Setting
from facevalue.protocol.sources import (
    PictureSource,
    files,
    list_pictures,
    own_manifest,
    root_of,
    show_pictures,
)
from facevalue.protocol.stimuli import Stimuli
from facevalue.protocol.study import LeftOut
from facevalue.statistics.sets import Sets
from facevalue.stimuli.base import Kind, Source
from facevalue.stimuli.counterfactual_datasets import (
    ATTRIBUTES,
    SOCIAL_SUBSETS,
    read_cultural_counterfactuals,
    read_social_counterfactuals,
)
from facevalue.stimuli.drawings.workers import drawn_sets, portrait_sets, worker_sets
from facevalue.stimuli.face_datasets import missing_photographs, read_pata
from facevalue.stimuli.manifest_rows import Column, Listing, check_sets
from facevalue.stimuli.pairs import NoPicture
from facevalue.studies.counterfactuals.measures import UNIT
from facevalue.studies.counterfactuals.settings import FOLDERS, GIVEN, LISTS, RATINGS, TEXT, chosen_prompts
from facevalue.types import OptionValue

UNNAMED = "pictures"
"""The subset of pictures of which nothing says it."""
COLUMNS = (
    Column("set", "pictures that differ in who is shown alone have the same", role="unit"),
    Column("group", "who is shown, such as Black male; made of the next three where there is none"),
    Column("physical", "such as obese or old", role="group", levels=lambda: dict.fromkeys(ATTRIBUTES["physical"], ())),
    Column("race", "as perceived", role="group", levels=lambda: dict.fromkeys(ATTRIBUTES["race"], ())),
    Column("gender", "as perceived", role="group", levels=lambda: {"male": ("man",), "female": ("woman",)}),
    Column("occupation", "what the person is; ratings are asked where it is known"),
    Column("subset", "a part that is measured by itself"),
)
"""Columns of a manifest of the user's own pictures."""


_PATA_RACES = {"Caucasian": "White", "East Asian": "Asian", "Hispanic": "Latino"}
_FORM = ("image", "path", "subset", "set", "group", "occupation")
_PEOPLE = {"male": "man", "female": "woman"}
TOLD = ("who", "an_occupation", "a_person")
"""Columns of what prompts say of pictures, besides their occupation."""
_TAKEN = ("task", "shown", "draw", "prompt", "open", "rating", "salary", "reason", "note", "mass", *TOLD)


def groups(subset: str) -> tuple[str, ...]:
    """Groups of a published subset, as the paper prints them; none of any other.

    Examples
    --------
    >>> groups("physical-race")[:2], len(groups("race-gender"))
    (('skinny White', 'skinny Black'), 12)
    """
    return (
        tuple(map(" ".join, product(*(ATTRIBUTES[name] for name in SOCIAL_SUBSETS[subset]))))
        if subset in SOCIAL_SUBSETS
        else ()
    )


class SetPictures(Stimuli):
    """Pictures of counterfactual sets, or of none: those of two data sets, photographs, the user's own, or drawn."""

    unit = UNIT
    settings: tuple[Setting, ...] = ()  # those of the study say where they are from
    _latest: tuple[Options, tuple[pl.DataFrame, tuple[LeftOut, ...]]] | None = None
    """What was listed last, so that large lists are read once for a study."""

    def table(self, options: Options) -> pl.DataFrame:
        """A row per picture, by subset, then set, then group; one of no set, or of a faulty one, is one by itself."""
        self._latest = dict(options), _list_sets(options)
        return self._latest[1][0]

    def left_out(self, options: Options) -> tuple[LeftOut, ...]:
        """Pictures that are not shown or rated, sets that lack a group, and phrases of lists, which never count."""
        latest, self._latest = self._latest, None
        table, omissions = latest[1] if latest and latest[0] == options else _list_sets(options)
        unknown = table["occupation"].null_count() if {*chosen_prompts(options)} & {*RATINGS} else 0
        reason = "Their occupation, which the prompts name, is not known."
        unrated = [LeftOut(f"Ratings of {unknown:,} pictures", reason)] if unknown else []
        return (*omissions, *unrated, *_uncounted_phrases(options))

    def left_out_of(self, table: pl.DataFrame) -> tuple[LeftOut, ...]:
        """Pictures that are in no set with each group of their subset once."""
        groups_of_subset = pl.col("group").n_unique().over("subset")
        sizes = pl.len().over("subset", "set"), pl.col("group").n_unique().over("subset", "set")
        is_partial = pl.any_horizontal(size != groups_of_subset for size in sizes)
        counts = table.group_by("subset", maintain_order=True).agg(pl.len())
        partial = dict(table.filter(is_partial)["subset"].value_counts().iter_rows())
        return tuple(
            LeftOut(f"{partial[name]:,} of {size:,} pictures of {name}, from measures of sets", "In no whole set.")
            for name, size in counts.iter_rows() if name in partial
        )  # fmt: skip

    def with_paths(self, options: Options) -> dict[str, OptionValue]:
        """The options with folders and files spelled out, so that the study can be built again from anywhere."""
        return settings.located(options, folders=FOLDERS, files=LISTS, others=(*GIVEN, "root", "words"))

    def group_words(self, table: pl.DataFrame) -> dict[str, str]:
        """A group as a sentence names it: "Black man", "old Asian person"."""
        return {group: _in_words(group) for group in table["group"].unique(maintain_order=True)}

    def sets(self, table: pl.DataFrame) -> Sets:
        """Sets are units, and nothing is a base."""
        if lacking := next((name for name in _FORM if name not in table.columns), ""):
            raise DataError(f"The table of pictures lacks the column {lacking!r}.")
        return Sets(table, UNIT, texts=TOLD, fixed=("subset", "group"))

    def source(self, table: pl.DataFrame, options: Options) -> Source:
        """Shows the pictures, or none where words say who is shown."""
        return NoPicture() if options["shown"] == TEXT else show_pictures(SOURCES, options, table)


def _list_sets(options: Options) -> tuple[pl.DataFrame, tuple[LeftOut, ...]]:
    """The pictures that were chosen, or are drawn, and what of them is not shown."""
    table, lost = list_pictures(SOURCES, options)
    table = _in_order(table)
    partial: dict[str, tuple[str, ...]] = {}
    for (subset,), images in table.group_by("subset", maintain_order=True):
        checked = check_sets(images, groups(str(subset)) if options["social"] else ())
        if checked.partial:
            partial[str(subset)] = checked.partial
            sets_checked = f"{len(checked.partial):,} of {checked.sets:,} sets of {subset}, from measures of sets"
            lost = (*lost, LeftOut(sets_checked, f"Not each group once: {checked.faults}."))
    return with_words(_with_sets(_select_pictures(table, options, partial), partial), options), lost


def _with_sets(table: pl.DataFrame, partial: Mapping[str, Sequence[str]]) -> pl.DataFrame:
    """The pictures, each of a set; sets of one name in several subsets are told apart."""
    rows = table.select("subset", "set", "image").iter_rows()
    names = (image if name is None or name in partial.get(subset, ()) else name for subset, name, image in rows)
    numbered = table.with_columns(pl.Series("set", list(names), pl.String))
    is_twice = pl.col("subset").n_unique().over("set") > 1
    return numbered.with_columns(set=pl.when(is_twice).then(pl.format("{} {}", "subset", "set")).otherwise("set"))


def with_words(table: pl.DataFrame, options: Options) -> pl.DataFrame:
    """The pictures, with what prompts say: who is shown, and occupations with articles where these are mended."""
    is_mended, added = options["prompts"] == "clean", dict[str, pl.Expr]()
    if options["shown"] == TEXT:
        person = pl.concat_str("group", pl.col("occupation").fill_null("person"), separator=" ")
        added["a_person" if is_mended else "who"] = person
    if is_mended:
        added["an_occupation"] = pl.col("occupation")
    worded = table.with_columns(words.alias(name) for name, words in added.items())
    return worded.with_columns(
        pl.col(name).map_elements(with_article, pl.String) for name in added if name.startswith("a")
    )


def _select_pictures(table: pl.DataFrame, options: Options, partial: Mapping[str, Sequence[str]]) -> pl.DataFrame:
    """The pictures of some subsets and occupations, and of some sets of each occupation."""
    for name in ("subset", "occupation"):
        levels = settings.chosen(
            name, settings.names(options, name), table[name].drop_nulls().unique(maintain_order=True).to_list()
        )
        table = table.filter(pl.col(name).is_in(levels)) if levels else table
    if table.is_empty():
        raise DataError("No picture is of these subsets and occupations.")
    limit = settings.whole(options, "occupation_sets", 0)
    return _drawn_sets(table, limit, partial) if limit else table


def _uncounted_phrases(options: Options) -> tuple[LeftOut, ...]:
    """Phrases of the user's word lists; everything that could be wrong with the file is found here."""
    if not options["words"]:
        return ()
    phrases = lexicon.read(str(options["words"])).phrases
    some = ", ".join(phrases[:3]) + (" ..." if len(phrases) > 3 else "")
    return (
        (LeftOut(f"Of the word lists, phrases ({len(phrases):,})", f"Words are counted: {some}."),) if phrases else ()
    )


def _draw_listing(options: Options) -> Listing:
    count, seed = settings.whole(options, "sets", 1), settings.whole(options, "set_seed", 0)
    tone = pl.concat_str(pl.col("skin_tone") + "-skinned", "gender", separator=" ")
    workers = worker_sets(count, seed).with_columns(subset=pl.lit("skin-tone-gender"), group=tone)
    look = pl.concat_str("physical", "gender", separator=" ")
    portraits = portrait_sets(count, seed).with_columns(subset=pl.lit("physical-gender"), group=look)
    return Listing(pl.concat([workers, portraits]).with_columns(path=pl.lit(None, pl.String)), ())


def _pata(options: Options) -> Listing:
    path = Path(str(options["pata"]))
    pictures = read_pata(path, root_of(options)).rename({"identity": "race"}).drop("activity", "url")
    frame = pictures.with_columns(
        pl.col("race").replace(_PATA_RACES),
        subset=pl.lit("pata"),
        set=pl.lit(None, pl.String),
        occupation=pl.lit(None, pl.String),
    ).with_columns(group=pl.concat_str("race", "gender", separator=" "))
    missing = missing_photographs(path, (), pictures)
    return Listing(frame, ((missing, "Not in the folder."),) if missing else ())


def _read_listing(options: Options) -> Listing:
    path, frame = Path(str(options["manifest"])), own_manifest(options, COLUMNS)
    taken = [name for name in _TAKEN if name in frame.columns]
    if taken:
        raise DataError(f"{path.name}: no column can be called {taken[0]!r}, which the study uses: rename it.")
    if (frame["identity"] == frame["image"]).all():
        frame = frame.drop("identity")
    levels_by_name = {name.lower(): name for levels in ATTRIBUTES.values() for name in levels}
    columns = [name for name in ATTRIBUTES if name in frame.columns]
    frame = frame.with_columns(
        pl.col(columns).map_elements(lambda level: levels_by_name.get(level.lower(), level), pl.String),
        *(
            pl.lit(None, pl.String).alias(name)
            for name in ("group", "occupation", "subset")
            if name not in frame.columns
        ),
    ).with_columns(pl.col("subset").fill_null(UNNAMED))
    composed = (
        pl.concat_str(columns, separator=" ", ignore_nulls=True).replace("", None)
        if columns
        else pl.lit(None, pl.String)
    )
    frame = frame.with_columns(group=pl.coalesce("group", composed).str.strip_chars())
    # One spelling of each group, or a capital letter makes every set lack one.
    frame = frame.with_columns(pl.col("group").first().over(pl.col("group").str.to_lowercase()))
    grouped = frame.drop_nulls("group")
    if not grouped.height:
        raise DataError(f"{path.name}: no picture has a group, nor a race, gender or physical attribute to make it of.")
    some = frame.height - grouped.height
    ungrouped = ((f"{some:,} of {frame.height:,} pictures", "Without a group."),) if some else ()
    no_sets = (("measures of sets", "No picture has a set: fill in the column 'set'."),)
    return Listing(grouped, (*ungrouped, *(no_sets if grouped["set"].null_count() == grouped.height else ())))


SOURCES = (
    PictureSource(
        "social", lambda options: read_social_counterfactuals(root_of(options)), files(Kind.SYNTHETIC, sure=True)
    ),
    PictureSource(
        "cultural", lambda options: read_cultural_counterfactuals(root_of(options)), files(Kind.SYNTHETIC, sure=True)
    ),
    PictureSource("pata", _pata, files(Kind.PHOTOGRAPHS, sure=True)),
    PictureSource("manifest", _read_listing, files()),
    PictureSource("", _draw_listing, lambda frame, _: drawn_sets(frame)),
)
"""Generated sets of two data sets, photographs of no set, the user's own pictures, or drawn sets."""


def _in_order(frame: pl.DataFrame) -> pl.DataFrame:
    """Rows by subset, set and group; sets in the order in which they come, their images as neighbours."""
    attributes = [name for name in ("race", "gender", "physical") if name in frame.columns]
    others = [name for name in frame.columns if name not in (*_FORM, *attributes)]
    ordered = [(subset, group, at) for subset in SOCIAL_SUBSETS for at, group in enumerate(groups(subset))]
    ranks = pl.DataFrame(ordered, {"subset": pl.String, "group": pl.String, "rank": pl.Int64}, orient="row")
    row = pl.int_range(pl.len())
    keys = frame.select("subset", "group", set=pl.coalesce("set", "image"), row=row)
    places = keys.join(ranks, on=["subset", "group"], how="left", maintain_order="left").select(
        pl.col("row").min().over("subset").alias("subset"),
        pl.col("row").min().over("subset", "set").alias("set"),
        pl.coalesce("rank", pl.col("row").min().over("subset", "group")).alias("group"),
        "row",
    )
    return frame.select(*_FORM, *attributes, *others)[places.sort(pl.all())["row"]]


def _drawn_sets(frame: pl.DataFrame, limit: int, lacking: Mapping[str, Sequence[str]]) -> pl.DataFrame:
    """At most so many whole sets of each subset and occupation, by their names' digests: always the same."""
    incomplete = {(subset, name) for subset, names in lacking.items() for name in names}
    listed = frame.drop_nulls(["set", "occupation"]).select("subset", "set", "occupation").unique()
    rows = [row for row in listed.iter_rows() if row[:2] not in incomplete]
    rows.sort(key=lambda row: blake2b("\x1f".join(row).encode()).digest())
    count: Counter[tuple[str, str]] = Counter()
    sets = set()
    for subset, name, occupation in rows:
        count[subset, occupation] += 1
        if count[subset, occupation] <= limit:
            sets.add((subset, name))
    if not sets:
        raise DataError("No whole set is of a known occupation, so that none can be drawn by occupation.")
    return frame.filter(pl.Series([row in sets for row in frame.select("subset", "set").iter_rows()], dtype=pl.Boolean))


def _in_words(group: str) -> str:
    """A group as a sentence names it: "Black man", "old Asian person"."""
    *before, last = group.split(" ")
    return " ".join([*before, _PEOPLE.get(last, f"{last} person")])
