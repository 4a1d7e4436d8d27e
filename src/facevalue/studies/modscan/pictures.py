"""Pictures of ModSCAN: pairs of faces side by side, and scenes without people; from files, or drawn."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b
from itertools import combinations, product
from pathlib import Path

import numpy as np
import polars as pl

from facevalue.errors import DataError, SettingError
from facevalue.protocol.settings import Options, Setting, located, whole
from facevalue.protocol.settings import chosen as matching
from facevalue.protocol.sources import (
    PictureSource,
    Shows,
    files,
    kind_of,
    list_pictures,
    own_manifest,
    root_of,
    show_pictures,
)
from facevalue.protocol.stimuli import Stimuli
from facevalue.protocol.study import LeftOut
from facevalue.statistics.group_choices import UNIT_COLUMNS
from facevalue.statistics.sets import OTHER_PATH, Sets
from facevalue.stimuli.base import Kind, Source
from facevalue.stimuli.drawings.workers import DrawnImages, TableDrawings
from facevalue.stimuli.face_datasets import read_fairface, read_utkface, read_utkface_pairs
from facevalue.stimuli.folders import Levels, read_folder
from facevalue.stimuli.images import FileSource
from facevalue.stimuli.manifest_rows import Column, Listing
from facevalue.stimuli.mixed_stimuli import check_images
from facevalue.stimuli.noto.persona_scenes import persona_svg
from facevalue.stimuli.pairs import JOINED, FileIndividuals, Individuals, PairSource, SourceIndividuals, left_first
from facevalue.stimuli.portraits import AGES, Identity
from facevalue.studies.modscan.settings import (
    ATTRIBUTES,
    BOTH,
    GENDERS,
    GROUPS,
    LANGUAGE,
    MODALITIES,
    PAPER_PAIRS,
    RACES,
    SCENES,
    VISION,
    instances,
    is_balanced,
    parts_asked,
    personas_asked,
)
from facevalue.studies.modscan.statistics import read_real
from facevalue.types import OptionValue, Stimulus

PERSONA, ATTRIBUTE = "persona", "attribute"
_SCENE = ("image", "path", PERSONA, "identity")


TONE = "skin_tone"
TONES = ("monk-02", "monk-05", "monk-07", "monk-09")
"""Skin tones that are drawn, in place of race."""
_SCENES = (PERSONA,)
_GENDERS: Mapping[str, tuple[str, ...]] = {"male": ("man",), "female": ("woman",)}
COLUMNS = (
    Column("age", "of the person; pairs are of one age", needed=True, instead=_SCENES),
    Column("gender", "as perceived", needed=True, instead=_SCENES, levels=lambda: _GENDERS),
    Column("race", "as perceived", needed=True, instead=_SCENES, levels=lambda: dict.fromkeys(RACES, ())),
    Column(PERSONA, "the trait of a scene without people, such as geek; empty for faces"),
)
"""Columns of a manifest of the user's own faces, scenes, or both."""


class PairsAndScenes(Stimuli):
    """Pairs of faces that differ in one attribute alone, either of them on the left, and scenes of persona traits.

    A pair is one set with both of its sides; a scene is one by itself.
    """

    unit = "counterfactual set"
    settings: tuple[Setting, ...] = ()  # those of the study say where they are from

    def table(self, options: Options) -> pl.DataFrame:
        """A row per pair and side, and per scene."""
        return _pictures(options)[0]

    def with_paths(self, options: Options) -> dict[str, OptionValue]:
        """The settings with all paths spelled out."""
        return located(options, ("utkface", "composed"), ("manifest", "fairface"), ("scenes", "real_world"))

    def left_out(self, options: Options) -> tuple[LeftOut, ...]:
        """Pictures at hand that are not shown, and cells and personas that are short of them."""
        return () if options["paper"] else _pictures(options)[1]

    def reason_not_shown(self, options: Options) -> str:
        """Reason why the paper's own pictures cannot be shown."""
        return _UNSHOWN if options["paper"] else ""

    def sets(self, table: pl.DataFrame) -> Sets:
        """Pairs and scenes."""
        return Sets(table, self.unit)

    def source(self, table: pl.DataFrame, options: Options) -> Source:
        """Shows pairs side by side, those that are composed already as they are, and scenes."""
        pairs, scenes = split_scenes(table)
        if options["paper"]:
            return Shown(None, None, table)
        return Shown(
            show_pictures(FACES, options, pairs) if pairs.height else None,
            scene_source(options, scenes) if scenes.height else None,
            table,
        )


_UNSHOWN = (
    "These are the paper's pictures, of which only the number is known: leave out --paper to run what is at hand."
)


def _pictures(options: Options) -> tuple[pl.DataFrame, tuple[LeftOut, ...]]:
    """The pictures that were chosen, or are drawn, and what is short or left out."""
    modalities, tables, left_out = parts_asked(options, "modality", MODALITIES), [], list[LeftOut]()
    if options["paper"]:
        tables += [_paper_pairs(options)] if VISION in modalities else []
        personas = [persona["name"] for persona in personas_asked(options)] if LANGUAGE in modalities else []
        tables += [_with_orders(_drawn_scenes(personas, options), options)] if personas else []
        return pl.concat(tables, how="diagonal"), ()
    if VISION in modalities:
        faces, lost = list_pictures(FACES, options)
        pairs, short = _pairs(faces, options) if faces.height else (faces, ())
        tables.append(pairs)
        left_out += [*lost, *short]
    if LANGUAGE in modalities:
        scenes = list_scenes(options)
        tables.append(_with_orders(scenes, options))
        left_out += lacking(options, scenes)
    tables = [table for table in tables if table.height]
    if not tables:
        raise DataError("The manifest lists scenes and no faces: ask about them with --modality language.")
    table = pl.concat(tables, how="diagonal")
    if options["real_world"]:  # not after all has been asked
        columns = (table[name].drop_nulls() for name in ("group_1", "group_2") if name in table.columns)
        read_real(str(options["real_world"]), sorted({*GENDERS, *RACES}.union(*columns)))
    return table, tuple(left_out)


def _paper_pairs(options: Options) -> pl.DataFrame:
    """The paper's pairs, of which nothing but their number is known."""
    rows = [
        (f"{attribute} pair {number}", attribute)
        for attribute in parts_asked(options, ATTRIBUTE, ATTRIBUTES)
        for number in range(PAPER_PAIRS[attribute])
    ]
    units = (pl.col("image").alias(name) for name in ("identity", *UNIT_COLUMNS))
    table = pl.DataFrame(rows, ["image", ATTRIBUTE], orient="row")
    return table.with_columns(*units, pl.lit(None, pl.String).alias("path"))


def _with_orders(scenes: pl.DataFrame, options: Options) -> pl.DataFrame:
    """Scenes as units of their own, with an order of terms each where it is drawn by seed."""
    unit, *people = UNIT_COLUMNS
    columns = [pl.col("image").alias(unit), *(pl.col("identity").alias(name) for name in people)]
    for at, (attribute, groups) in enumerate(GROUPS.items()):
        if not is_balanced(options) and attribute in parts_asked(options, ATTRIBUTE, ATTRIBUTES):
            rng = np.random.default_rng([whole(options, "scene_seed", 0), at])
            orders = (",".join(rng.permutation(np.array(groups, dtype=object))) for _ in range(scenes.height))
            columns.append(pl.lit(pl.Series(f"order_{attribute}", list(orders), pl.String)))
    return scenes.with_columns(columns)


def _files_joined(usual: Kind) -> Shows:
    return lambda pairs, options: _pair_source(
        FileIndividuals(_faces_of(pairs), root_of(options), kind_of(options, usual), None)
    )


def _pair_source(faces: Individuals) -> Source:
    return PairSource(faces, lambda levels: (str(levels["face_1"]), str(levels["face_2"])), None, composition=JOINED)


def _own_faces(options: Options) -> Listing:
    frame, scenes = split_scenes(own_manifest(options, COLUMNS))
    if scenes.height and not frame.height:
        return Listing(frame, (("pairs of faces", "The manifest lists scenes alone."),))
    frame = frame.drop(PERSONA, strict=False)
    traits = [column.name for column in COLUMNS if column.name != PERSONA]
    bare = frame.select(pl.any_horizontal(pl.col(traits).is_null())).to_series()
    if bare.all():
        empty = [name for name in traits if frame[name].null_count()]
        raise DataError(
            f"No face has an age, a gender and a race, so that no pair can be made: fill in {', '.join(empty)}."
        )
    short = ((f"{int(bare.sum()):,} of the faces", "Without an age, a gender or a race."),) if bare.any() else ()
    return Listing(
        frame.filter(~bare).with_columns(_respell_levels(column) for column in COLUMNS if column.levels()), short
    )


def _respell_levels(column: Column) -> pl.Expr:
    """Levels of a column in the study's own spelling, such as "male" for "Man"; others stay as they are."""
    spellings = {spelling.lower(): level for level, others in column.levels().items() for spelling in (level, *others)}
    return pl.col(column.name).str.to_lowercase().replace_strict(spellings, default=pl.col(column.name))


def _draw_listing(options: Options) -> Listing:
    count = whole(options, "faces", 1)
    rows = [
        (f"{age}/{gender}/{tone}/{number}", None, f"{age}/{gender}/{tone}/{number}", age, gender, tone)
        for age, gender, tone, number in product(AGES, GENDERS, TONES, range(1, count + 1))
    ]
    names = ("image", "path", "identity", "age", "gender", TONE)
    frame = pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String()), orient="row")
    return Listing(frame.with_columns(set=pl.lit(None, pl.String)))


def _portraits(pairs: pl.DataFrame, _: Options) -> Source:
    names = pl.col("image").str.split("/")
    traits = ("age", "gender", TONE)
    faces = _faces_of(pairs).select("image", *(names.list.get(at).alias(name) for at, name in enumerate(traits)))
    drawings = TableDrawings(faces, ("image", *traits), _portrait)
    return _pair_source(SourceIndividuals(DrawnImages(drawings), faces, None))


def _portrait(image: str, age: str, gender: str, tone: str) -> str:
    seed = int.from_bytes(blake2b(image.encode(), digest_size=6).digest(), "little")
    from facevalue.stimuli.portraits.composition import svg  # noqa: PLC0415 - a study that is read draws nothing

    return svg(Identity(image, seed, gender, age, tone, "normal"))


FACES = (
    PictureSource("composed", lambda options: read_utkface_pairs(root_of(options)), files(Kind.PHOTOGRAPHS)),
    PictureSource("utkface", lambda options: read_utkface(root_of(options)), _files_joined(Kind.PHOTOGRAPHS)),
    PictureSource(
        "fairface",
        lambda options: Listing(read_fairface(Path(str(options["fairface"])))),
        _files_joined(Kind.PHOTOGRAPHS),
    ),
    PictureSource("manifest", _own_faces, _files_joined(Kind.UNSTATED)),
    PictureSource("", _draw_listing, _portraits),
)
"""Pairs that the authors composed, faces of two data sets, the user's own, or drawn ones."""


def _pairs(faces: pl.DataFrame, options: Options) -> tuple[pl.DataFrame, tuple[LeftOut, ...]]:
    """Pairs of each attribute that is asked about, a row for each side; and what is short of them."""
    race = TONE if TONE in faces.columns else "race"
    attributes = parts_asked(options, ATTRIBUTE, ATTRIBUTES)
    out: list[pl.DataFrame] = []
    short: list[LeftOut] = []
    for attribute in attributes:
        name = race if attribute == "race" else attribute
        same = ("age", "gender") if attribute == "race" else ("age", race)
        if options["composed"]:
            pair_table = _composed_pairs(faces, attribute)
        else:
            limit = whole(options, "pairs", 1)
            pair_table, too_few = face_pairs(
                faces, name, same, groups_of(faces, name),
                min(limit, whole(options, "faces", 1)) if race == TONE else limit, whole(options, "pair_seed", 0),
                both_sides=options["sides"] == BOTH,
            )  # fmt: skip
            short += too_few
        if pair_table.height:
            out.append(pair_table.with_columns(pl.lit(name.replace("_", " ")).alias(ATTRIBUTE)))
        else:
            short.append(LeftOut(f"all {attribute} pairs", "No two faces differ in it alone."))
    if not out:
        raise DataError(f"No pair can be made: no two faces differ in {' or '.join(attributes)} alone.")
    return pl.concat(out, how="diagonal"), tuple(short)


def _composed_pairs(listed: pl.DataFrame, attribute: str) -> pl.DataFrame:
    constant = "race" if attribute == "gender" else "gender"
    cell = pl.concat_str("age", f"{constant}_1", separator=" ")
    # Who is on two composed pictures is not known: a face stands in several pairs of races of its age and gender.
    unit = cell if attribute == "race" else pl.col("image")
    return listed.filter(pl.col(ATTRIBUTE) == attribute).select(
        "image", "path", pl.lit(None, pl.String).alias(OTHER_PATH), "age", cell.alias("cell"),
        *(pl.col("image").alias(name) for name in ("identity", UNIT_COLUMNS[0])),
        *(unit.alias(name) for name in UNIT_COLUMNS[1:]),
        *(pl.col(f"{attribute}_{side}").alias(f"group_{side}") for side in (1, 2)),
    )  # fmt: skip


def groups_of(faces: pl.DataFrame, attribute: str) -> tuple[str, ...]:
    """Groups that the pictures show, those of the paper first and in its order."""
    levels = faces[attribute].drop_nulls().unique(maintain_order=True).sort().to_list()
    names = [name for name in (*GENDERS, *RACES) if name in levels]
    return (*names, *(name for name in levels if name not in names))


PAIR = ("image", "path", OTHER_PATH, "identity", *UNIT_COLUMNS, "face_1", "face_2", "group_1", "group_2", "cell")
"""Columns of pairs: `face_1`, `group_1`, `person_1` and `path` are of the face on the left."""


def face_pairs(
    faces: pl.DataFrame,
    attribute: str,
    same: Sequence[str],
    groups: Sequence[str],
    most_pairs: int,
    seed: int,
    *,
    both_sides: bool = False,
) -> tuple[pl.DataFrame, tuple[LeftOut, ...]]:
    """Pair faces that differ in an attribute and agree in the others.

    A cell is a level of each of the others and two groups. A face may stand in cells of other pairs of groups.

    `faces`: `image`, `path`, `identity`, the attribute, and what is kept the same. `attribute`, `same`: columns.
    `groups`: levels of the attribute, in order. `most_pairs`: pairs of a cell at most. `seed`: which faces, who stands
    beside whom, and who is on the left. `both_sides`: either face is on the left once, and the pictures of one person
    stand beside those of one other, so that pairs share few people; else sides follow from the pair's number and the
    seed, and pictures are drawn as if each were somebody else's, as the paper does.

    Returns a row per pair and side (`PAIR` and the columns of `same`), and the cells that are short of pairs, by name.

    Examples
    --------
    >>> faces = pl.DataFrame({"image": ["a", "b", "c"], "age": ["18"] * 3, "gender": ["male", "female", "male"]})
    >>> faces = faces.with_columns(identity="image", path="image")
    >>> pairs, short = face_pairs(faces, "gender", ("age",), ("male", "female"), 20, seed=1)
    >>> sorted([*pairs["face_1"], *pairs["face_2"]]), [one.what for one in short]
    (['a', 'b'], ['gender pairs of 18'])
    """
    rows: list[tuple[str, ...]] = []
    short: list[LeftOut] = []
    faces_known = faces.drop_nulls([attribute, *same]).sort(*same, "image")
    for key, cell in faces_known.group_by(same, maintain_order=True):
        levels = tuple(map(str, key))
        listed = {name: of_level for (name,), of_level in cell.group_by(attribute, maintain_order=True)}
        images = {name: of_level["image"].to_list() for name, of_level in listed.items()}
        for first, second in combinations(groups, 2):
            levels_named = " ".join([*levels, *([first, second] if len(groups) > 2 else [])])
            sizes = len(images.get(first, ())), len(images.get(second, ()))
            count = min(most_pairs, *sizes)
            if count < most_pairs and any(sizes):
                reason = f"{count} of {most_pairs}: the pictures have {sizes[0]} {first}, {sizes[1]} {second}."
                short.append(LeftOut(f"{attribute.replace('_', ' ')} pairs of {levels_named}", reason))
            rng = np.random.default_rng(_draw_seed(seed, attribute, levels_named))
            if both_sides and count:
                couples = _couples(listed[first], listed[second], most_pairs, rng)
            else:
                places = [rng.permutation(size)[:count].tolist() for size in sizes]
                couples = [(images[first][i], images[second][j]) for i, j in zip(*places, strict=True)]
            rows += [(*pair, first, second, *levels) for pair in couples]
    schema = dict.fromkeys(("face_1", "face_2", "group_1", "group_2", *same), pl.String())
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    return _with_sides(frame, faces, same, seed, both_sides=both_sides), tuple(short)


def _couples(
    first: pl.DataFrame, second: pl.DataFrame, most_pairs: int, rng: np.random.Generator
) -> list[tuple[str, str]]:
    """Pairs of pictures of people who are paired at random: a picture of each couple, then a second one of each, ..."""
    people = []
    for side in (first, second):
        by_person = side.group_by("identity", maintain_order=True).agg("image")["image"].to_list()
        people.append([by_person[at] for at in rng.permutation(len(by_person))])
    couples = [[[images[at] for at in rng.permutation(len(images))] for images in pair] for pair in zip(*people)]  # noqa: B905
    rounds = max(len(first) for first, _ in couples)
    pairs = [(a[at], b[at]) for at in range(rounds) for a, b in couples if at < min(len(a), len(b))]
    return pairs[:most_pairs]


def _with_sides(
    frame: pl.DataFrame, faces: pl.DataFrame, same: Sequence[str], seed: int, *, both_sides: bool
) -> pl.DataFrame:
    """Pairs with their people and files, the first of each on the left, or drawn by seed, or once on either side."""
    unit, *people = UNIT_COLUMNS
    cell = pl.concat_str(same, separator=" ") if frame.height else pl.lit(None, pl.String)
    of_faces = {
        column: pl.col(f"face_{side}").replace_strict(
            dict(faces.select("image", name).iter_rows()), return_dtype=pl.String
        )
        for name, columns in (("identity", people), ("path", ("path", OTHER_PATH)))
        for side, column in enumerate(columns, 1)
    }
    pairs = frame.with_columns(pl.concat_str("face_1", "face_2", separator=" + ").alias(unit), cell.alias("cell"))
    pairs = pairs.with_row_index("row")
    turned = pairs.with_columns(
        pl.col(f"{name}_{3 - side}").alias(f"{name}_{side}") for name in ("face", "group") for side in (1, 2)
    )
    if not both_sides:
        is_first_left = left_first(np.arange(frame.height), seed)
        pairs, turned = pairs.filter(is_first_left), turned.filter(~is_first_left)
    sides = pl.concat([pairs, turned]).sort("row", maintain_order=True).with_columns(
        pl.concat_str("face_1", "face_2", separator=" + ").alias("image"), pl.col(unit).alias("identity"), **of_faces
    )  # fmt: skip
    return sides.select(*PAIR, *same)


def _draw_seed(seed: int, *names: str) -> list[int]:
    """Seed of one cell's draw: other cells don't change it."""
    text = "\x1f".join(names).encode()
    return [seed, int.from_bytes(blake2b(text, digest_size=8).digest(), "little")]


class Shown:
    """Shows pairs of faces side by side, pairs that are composed already, and scenes.

    Factors of a pair name its two groups as simulators know two people: `identity_1`, `identity_2` and `dimension`.

    `pairs`, `scenes`: what shows them; None where there are none. `table`: all of them, a row each.
    """

    def __init__(self, pairs: Source | None, scenes: Source | None, table: pl.DataFrame) -> None:
        self._pairs, self._scenes = pairs, scenes
        of_pairs, of_scenes = split_scenes(table)
        self._of_scenes = frozenset(of_scenes["image"])
        self._faces: dict[str, list[str]] = {}
        """Faces of pairs that are not composed already, by image."""
        if "face_1" in of_pairs.columns:
            rows = of_pairs.drop_nulls("face_1").select("image", "face_1", "face_2").iter_rows()
            self._faces = {image: faces for image, *faces in rows}

    @property
    def kind(self) -> Kind:
        """Kind of these pictures: that of the pairs, where there are some."""
        source = self._pairs or self._scenes
        return Kind.UNSTATED if source is None else source.kind

    def stimulus(self, number: int, levels: Mapping[str, str | None]) -> Stimulus:
        """Return what is shown at these levels; nothing is decoded or drawn before it is looked at."""
        image = str(levels["image"])
        if image in self._of_scenes:
            stimulus = self._source_of(image).stimulus(number, {"image": image})
            return replace(stimulus, factors={"image": image, "identity": image, PERSONA: levels[PERSONA]})
        factors = {
            "image": levels["set"], "identity_1": levels["group_1"], "identity_2": levels["group_2"],
            "dimension": levels[ATTRIBUTE], "cell": levels["cell"],
        }  # fmt: skip
        return replace(self._source_of(image).stimulus(number, levels), factors=factors)

    def check(self, levels: Mapping[str, list[str | None]]) -> None:
        """Look at every picture that is shown, each once; those of the paper, which nobody has, are not."""
        if self._pairs or self._scenes:
            names = [self._faces.get(str(image), [str(image)]) for image in levels["image"]]
            check_images(self._source_of, {"image": [name for of_image in names for name in of_image]})

    def _source_of(self, image: str) -> Source:
        source = self._scenes if image in self._of_scenes else self._pairs
        assert source is not None
        return source


def _faces_of(pairs: pl.DataFrame) -> pl.DataFrame:
    """Faces of pairs: `image` and `path`."""
    sides = [pairs.select(image="face_1", path="path"), pairs.select(image="face_2", path=OTHER_PATH)]
    return pl.concat(sides).unique("image", maintain_order=True)


def split_scenes(manifest: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Faces, or composed pairs of them; and scenes."""
    persona = pl.col(PERSONA).is_not_null() if PERSONA in manifest.columns else pl.lit(value=False)
    return manifest.filter(~persona), manifest.filter(persona)


def scene_source(options: Options, scenes: pl.DataFrame) -> Source:
    """Source that shows scenes."""
    if scenes["path"].null_count() < scenes.height:
        kind = Kind.SYNTHETIC if options["scenes"] else kind_of(options, Kind.SYNTHETIC)
        return FileSource(scenes, _place(options), kind)
    return drawn_scenes(scenes)


def drawn_scenes(scenes: pl.DataFrame) -> DrawnImages:
    """FaceValue's drawings of scenes; the number at the end of an image's name is the seed."""
    return DrawnImages(TableDrawings(scenes, ("image", PERSONA), _svg))


def _svg(image: str, persona: str) -> str:
    return persona_svg(persona, int(image.rpartition("/")[2]))


def list_scenes(options: Options) -> pl.DataFrame:
    """The scenes that the settings name, so many of each persona.

    Raises
    ------
    DataError
        No scene is left, or they cannot be read.
    """
    personas = [persona["name"] for persona in personas_asked(options)]
    listed = _listed_scenes(options, personas)
    if listed is None:
        return _drawn_scenes(personas, options)
    limit, sampled = _most_scenes(options, listed), []
    for at, name in enumerate(personas):
        scenes = listed.filter(pl.col(PERSONA) == name)
        rng = np.random.default_rng([whole(options, "scene_seed", 0), at])
        sampled.append(scenes[np.sort(rng.permutation(scenes.height)[:limit])])
    return pl.concat(sampled)


def _most_scenes(options: Options, scenes: pl.DataFrame | None = None) -> int:
    """Scenes of a persona at most: as many as were asked for; else the paper's of the user's own, or 20 drawn ones."""
    has_files = scenes is not None and scenes.height and scenes["path"].null_count() < scenes.height
    return whole(options, "per_persona", 0) or (SCENES if has_files or options["scenes"] or options["paper"] else 20)


def _place(options: Options) -> Path:
    """The folder that paths of the user's own scenes are relative to."""
    return Path(str(options["scenes"])) if options["scenes"] else root_of(options)


def _drawn_scenes(personas: Sequence[str], options: Options) -> pl.DataFrame:
    first = whole(options, "scene_seed", 0) * 1_000_000
    names = [(f"{name}/{seed}", name) for name in personas for seed in range(first, first + _most_scenes(options))]
    rows = [(name, None, persona, name) for name, persona in names]
    return pl.DataFrame(rows, schema=dict.fromkeys(_SCENE, pl.String()), orient="row")


def _listed_scenes(options: Options, personas: Sequence[str]) -> pl.DataFrame | None:
    """The user's own scenes of these personas; None where the user has none."""
    listed = split_scenes(own_manifest(options, COLUMNS))[1] if options["manifest"] else pl.DataFrame()
    if options["scenes"]:
        if listed.height:
            raise DataError("The manifest lists scenes: leave out --scenes, or list faces alone.")
        levels = {PERSONA: Levels({persona["name"]: () for persona in instances(PERSONA)})}
        listed = read_folder(_place(options), [f"{{{PERSONA}}}/{{n}}"], levels)
    elif listed.height:
        listed = listed.with_columns(_persona_names(listed[PERSONA]))
    elif options["manifest"] and VISION not in parts_asked(options, "modality", MODALITIES):
        raise SettingError(
            f"--manifest has no effect: the manifest lists no scenes, which have a {PERSONA!r}, such as geek."
        )
    else:
        return None
    frame = listed.filter(pl.col(PERSONA).is_in(personas)).select(_SCENE)
    if frame.is_empty():
        raise DataError(f"{options['scenes'] or options['manifest']}: has no scene of {', '.join(personas)}.")
    return frame


def _persona_names(spellings: pl.Series) -> pl.Series:
    """Personas in the names of Table 2, however they are spelled."""
    personas = [instance["name"] for instance in instances(PERSONA)]
    meant = {name: matching("persona trait", [name], personas)[0] for name in spellings.unique()}
    return spellings.replace_strict(meant, return_dtype=pl.String)


def lacking(options: Options, scenes: pl.DataFrame) -> tuple[LeftOut, ...]:
    """Personas of which there are fewer scenes than were asked for."""
    counts, limit = Counter(scenes[PERSONA]), _most_scenes(options, scenes)
    names = (persona["name"] for persona in personas_asked(options))
    return tuple(LeftOut(f"scenes of {name}", f"{counts[name]} of {limit}.") for name in names if counts[name] < limit)
