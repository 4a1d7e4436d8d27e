"""Pictures of ModSCAN: faces, of which pairs are made, and scenes without people; from files, or drawn."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import combinations, product
from pathlib import Path

import numpy as np
import polars as pl

from facevalue.errors import DataError, SettingError
from facevalue.protocol.settings import Options, whole
from facevalue.protocol.settings import chosen as matching
from facevalue.protocol.sources import PictureSource, Shows, files, kind_of, list_pictures, own_manifest, root_of
from facevalue.protocol.study import LeftOut
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
from facevalue.studies.modscan.settings import GENDERS, LANGUAGE, RACES, SCENES, VISION, Selection, instances
from facevalue.types import OptionValue, Stimulus

PERSONA = "persona"
_SCENE = ("image", "path", PERSONA, "identity", "set")


TONE = "skin_tone"
TONES = ("monk-02", "monk-05", "monk-07", "monk-09")
"""Skin tones that are drawn, in place of race."""
_SCENES = (PERSONA,)
COLUMNS = (
    Column("age", "of the person; pairs are of one age", needed=True, instead=_SCENES),
    Column(
        "gender",
        "as perceived",
        needed=True,
        instead=_SCENES,
        levels=lambda: {"male": ("man",), "female": ("woman",)},
    ),
    Column("race", "as perceived", needed=True, instead=_SCENES, levels=lambda: dict.fromkeys(RACES, ())),
    Column(PERSONA, "the trait of a scene without people, such as geek; empty for faces"),
)
"""Columns of a manifest of the user's own faces, scenes, or both."""
_NOTHING = pl.DataFrame()


@dataclass(frozen=True)
class PairPictures:
    """All pictures; faces or composed pairs, and scenes, of them; pairs by attribute; and what is short or left out."""

    frame: pl.DataFrame
    faces: pl.DataFrame
    pairs: Mapping[str, pl.DataFrame]
    scenes: pl.DataFrame
    left_out: tuple[LeftOut, ...]


def read_pictures(
    options: Mapping[str, OptionValue], chosen: Selection, manifest: pl.DataFrame | None = None
) -> PairPictures:
    """Read the pictures that were chosen, or list those that are drawn; a stored manifest is used as it is."""
    lost: tuple[LeftOut, ...] = ()
    if manifest is None:
        faces, lost = list_pictures(FACES, options) if VISION in chosen.modalities else (_NOTHING, ())
        scenes = list_scenes(options, chosen, COLUMNS) if LANGUAGE in chosen.modalities else _NOTHING
        tables = [table for table in (faces, scenes) if table.height]
        if not tables:
            raise DataError("The manifest lists scenes and no faces: ask about them with --modality language.")
        manifest = pl.concat(tables, how="diagonal")
    faces, scenes = split_scenes(manifest)
    pairs, short = _pairs(faces, chosen, composed=bool(options["composed"])) if faces.height else ({}, ())
    few = lacking(options, chosen, scenes) if LANGUAGE in chosen.modalities else ()
    return PairPictures(manifest, faces, pairs, scenes, (*lost, *short, *few))


def _pair_source(individuals: Individuals) -> Source:
    return PairSource(individuals, _sides, None, composition=JOINED)


def _sides(levels: Mapping[str, str | None]) -> tuple[str, str]:
    """Pictures on the left and on the right."""
    first, second = str(levels["image_1"]), str(levels["image_2"])
    return (second, first) if levels["left"] == "2" else (first, second)


def _files_joined(usual: Kind) -> Shows:
    return lambda faces, options: _pair_source(FileIndividuals(faces, root_of(options), kind_of(options, usual), None))


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


def _portraits(faces: pl.DataFrame, _: Options) -> Source:
    drawings = TableDrawings(faces, ("image", "gender", "age", TONE), _portrait)
    return _pair_source(SourceIndividuals(DrawnImages(drawings), faces, None))


def _portrait(image: str, gender: str, age: str, tone: str) -> str:
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


def _pairs(
    faces: pl.DataFrame, chosen: Selection, *, composed: bool
) -> tuple[dict[str, pl.DataFrame], tuple[LeftOut, ...]]:
    race = TONE if TONE in faces.columns else "race"
    out: dict[str, pl.DataFrame] = {}
    short: list[LeftOut] = []
    for attribute in chosen.attributes:
        name = race if attribute == "race" else attribute
        same = ("age", "gender") if attribute == "race" else ("age", race)
        if composed:
            pair_table = _as_pairs(faces, attribute)
        else:
            groups = groups_of(faces, name)
            most_pairs = min(chosen.pairs, chosen.faces) if race == TONE else chosen.pairs
            pair_table, too_few = face_pairs(
                faces, name, same, groups, most_pairs, chosen.pair_seed, by_person=chosen.both_sides
            )
            short += too_few
        if pair_table.height:
            out[name] = pair_table
        else:
            short.append(LeftOut(f"all {attribute} pairs", "No two faces differ in it alone."))
    if not out:
        raise DataError(f"No pair can be made: no two faces differ in {' or '.join(chosen.attributes)} alone.")
    return out, tuple(short)


def _as_pairs(files: pl.DataFrame, attribute: str) -> pl.DataFrame:
    constant = "race" if attribute == "gender" else "gender"
    of_attribute = files.filter(pl.col("attribute") == attribute)
    unit = pl.concat_str("age", f"{constant}_1", separator=" ") if attribute == "race" else pl.col("image")
    return of_attribute.select(
        pl.col("image").alias("pair"),
        pl.col("image").alias("image_1"),
        pl.lit(None, pl.String).alias("image_2"),
        pl.col(f"{attribute}_1").alias("group_1"),
        pl.col(f"{attribute}_2").alias("group_2"),
        pl.concat_str("age", f"{constant}_1", separator=" ").alias("cell"),
        pl.lit("1").alias("left"),
        # Who is on two composed pictures is not known: a face stands in several pairs of races of its age and gender.
        *(unit.alias(name) for name in PEOPLE),
        "age",
    )


def groups_of(faces: pl.DataFrame, attribute: str) -> tuple[str, ...]:
    """Groups that the pictures show, those of the paper first and in its order."""
    levels = faces[attribute].drop_nulls().unique(maintain_order=True).sort().to_list()
    names = [name for name in (*GENDERS, *RACES) if name in levels]
    return (*names, *(name for name in levels if name not in names))


PEOPLE = ("person_1", "person_2")
PAIR = ("pair", "image_1", "image_2", "group_1", "group_2", "cell", "left", *PEOPLE)
"""Columns of a list of pairs. `group_1` and `person_1` are those of `image_1`; `left` is the number of the one on the
left."""


def face_pairs(
    faces: pl.DataFrame,
    attribute: str,
    same: Sequence[str],
    groups: Sequence[str],
    most_pairs: int,
    seed: int,
    *,
    by_person: bool = False,
) -> tuple[pl.DataFrame, tuple[LeftOut, ...]]:
    """Pair faces that differ in an attribute and agree in the others.

    A cell is a level of each of the others and two groups. A face may stand in cells of other pairs of groups. Sides
    follow from the pair's number and the seed.

    `faces`: `image`, `identity`, the attribute, and what is kept the same. `attribute`, `same`: columns. `groups`:
    levels of the attribute, in order. `most`: pairs of a cell at most. `seed`: which faces, who stands beside whom, and
    who is on the left. `by_person`: the pictures of one person stand beside those of one other, so that pairs share few
    people; else pictures are drawn as if each were somebody else's, as the paper does.

    Returns a row per pair (`PAIR` and the columns of `same`), and the cells that are short of pairs, by name.

    Examples
    --------
    >>> faces = pl.DataFrame({"image": ["a", "b", "c"], "age": ["18"] * 3, "gender": ["male", "female", "male"]})
    >>> faces = faces.with_columns(identity="image")
    >>> pairs, short = face_pairs(faces, "gender", ("age",), ("male", "female"), 20, seed=1)
    >>> pairs["image_2"].to_list(), [one.what for one in short]
    (['b'], ['gender pairs of 18'])
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
            if by_person and count:
                couples = _couples(listed[first], listed[second], most_pairs, rng)
            else:
                places = [rng.permutation(size)[:count].tolist() for size in sizes]
                couples = [(images[first][i], images[second][j]) for i, j in zip(*places, strict=True)]
            rows += [(*pair, first, second, *levels) for pair in couples]
    schema = dict.fromkeys(("image_1", "image_2", "group_1", "group_2", *same), pl.String())
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    return _number_pairs(frame, faces, same, seed), tuple(short)


def _couples(
    first: pl.DataFrame, second: pl.DataFrame, most_pairs: int, rng: np.random.Generator
) -> list[tuple[str, str]]:
    """Pairs of pictures of people who are paired at random: a picture of each couple, then a second one of each, ..."""
    people = []
    for side in (first, second):
        by_person = [
            images.to_list() for images in side.group_by("identity", maintain_order=True).agg("image")["image"]
        ]
        people.append([by_person[at] for at in rng.permutation(len(by_person))])
    couples = [[[images[at] for at in rng.permutation(len(images))] for images in pair] for pair in zip(*people)]  # noqa: B905
    rounds = max(len(first) for first, _ in couples)
    pairs = [(a[at], b[at]) for at in range(rounds) for a, b in couples if at < min(len(a), len(b))]
    return pairs[:most_pairs]


def _number_pairs(frame: pl.DataFrame, faces: pl.DataFrame, same: Sequence[str], seed: int) -> pl.DataFrame:
    left = np.where(left_first(np.arange(frame.height), seed), "1", "2")
    person_of = dict(faces.select("image", "identity").iter_rows())
    return frame.with_columns(
        *(pl.col(f"image_{n}").replace(person_of).alias(name) for n, name in enumerate(PEOPLE, 1)),
        pl.concat_str("image_1", "image_2", separator=" + ").alias("pair"),
        pl.concat_str(same, separator=" ").alias("cell") if frame.height else pl.lit(None, pl.String).alias("cell"),
        pl.Series("left", left, dtype=pl.String),
    ).select(*PAIR, *same)


def _draw_seed(seed: int, *names: str) -> list[int]:
    """Seed of one cell's draw: other cells don't change it."""
    text = "\x1f".join(names).encode()
    return [seed, int.from_bytes(blake2b(text, digest_size=8).digest(), "little")]


class Shown:
    """Shows pairs of faces side by side, pairs that are composed already, and scenes.

    Factors of a pair name its two groups as simulators know two people: `identity_1`, `identity_2` and `dimension`.

    `pairs`, `scenes`: what shows them; None where there are none. `of_scenes`: images of scenes; all others are of
    faces.
    """

    def __init__(self, pairs: Source | None, scenes: Source | None, of_scenes: Collection[str]) -> None:
        self._pairs = pairs
        self._scenes = scenes
        self._of_scenes = frozenset(of_scenes)

    @property
    def kind(self) -> Kind:
        """Kind of these pictures: that of the pairs, where there are some."""
        source = self._pairs or self._scenes
        return Kind.UNSTATED if source is None else source.kind

    def stimulus(self, number: int, levels: Mapping[str, str | None]) -> Stimulus:
        """Return what is shown at these levels; nothing is decoded or drawn before it is looked at."""
        if levels.get("image_1") is None:
            image = levels["image"]
            stimulus = self._source_of(of_scene=True).stimulus(number, {"image": image})
            factors = {"image": image, "identity": image, "persona": levels["instance"]}
            return replace(stimulus, factors=factors)
        levels_of_pair = {**levels, "image": levels["image_1"]}
        factors = {
            "image": levels["pair"], "identity_1": levels["group_1"], "identity_2": levels["group_2"],
            "dimension": levels["attribute"], "cell": levels["cell"], "left": levels["left"],
        }  # fmt: skip
        return replace(self._source_of(of_scene=False).stimulus(number, levels_of_pair), factors=factors)

    def check(self, levels: Mapping[str, list[str | None]]) -> None:
        """Look at every picture that is shown, or named by `image`, each once."""
        check_images(lambda image: self._source_of(of_scene=image in self._of_scenes), levels)

    def _source_of(self, *, of_scene: bool) -> Source:
        source = self._scenes if of_scene else self._pairs
        assert source is not None
        return source


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


def _personas(chosen: Selection) -> list[str]:
    return [instance.name for instance in instances(PERSONA) if instance.name in chosen.instances]


def list_scenes(options: Options, chosen: Selection, columns: Sequence[Column]) -> pl.DataFrame:
    """The scenes that the settings name, so many of each persona; `columns`: what is read of a manifest.

    Raises
    ------
    DataError
        No scene is left, or they cannot be read.
    """
    personas = _personas(chosen)
    if not personas:
        raise DataError(
            "No scene is left: only persona traits have scenes, and none was chosen. Name some (--instances), or leave "
            "scenes out (--modality vision)."
        )
    listed = _listed_scenes(options, chosen, personas, columns)
    if listed is None:
        return _drawn_scenes(personas, chosen)
    most, sampled = _most_scenes(options, chosen, listed), []
    for at, name in enumerate(personas):
        scenes = listed.filter(pl.col(PERSONA) == name)
        rng = np.random.default_rng([chosen.scene_seed, at])
        sampled.append(scenes[np.sort(rng.permutation(scenes.height)[:most])])
    return pl.concat(sampled)


def _most_scenes(options: Options, chosen: Selection, scenes: pl.DataFrame) -> int:
    """Scenes of a persona at most: as many as were asked for; else the paper's of the user's own."""
    has_files = scenes.height and scenes["path"].null_count() < scenes.height
    return whole(options, "per_persona", 0) or (SCENES if has_files else chosen.scenes)


def _place(options: Options) -> Path:
    """The folder that paths of the user's own scenes are relative to."""
    return Path(str(options["scenes"])) if options["scenes"] else root_of(options)


def _drawn_scenes(personas: Sequence[str], chosen: Selection) -> pl.DataFrame:
    seeds = range(chosen.scene_seed * 1_000_000, chosen.scene_seed * 1_000_000 + chosen.scenes)
    rows = [(f"{name}/{seed}", None, name, f"{name}/{seed}", None) for name in personas for seed in seeds]
    return pl.DataFrame(rows, schema=dict.fromkeys(_SCENE, pl.String()), orient="row")


def _listed_scenes(
    options: Options, chosen: Selection, personas: Sequence[str], columns: Sequence[Column]
) -> pl.DataFrame | None:
    """The user's own scenes of these personas; None where the user has none."""
    listed = split_scenes(own_manifest(options, columns))[1] if options["manifest"] else pl.DataFrame()
    if options["scenes"]:
        if listed.height:
            raise DataError("The manifest lists scenes: leave out --scenes, or list faces alone.")
        levels = {PERSONA: Levels({persona.name: () for persona in instances(PERSONA)})}
        listed = read_folder(_place(options), [f"{{{PERSONA}}}/{{n}}"], levels)
    elif listed.height:
        listed = listed.with_columns(_persona_names(listed[PERSONA]))
    elif options["manifest"] and VISION not in chosen.modalities:
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
    personas = [instance.name for instance in instances(PERSONA)]
    meant = {name: matching("persona trait", [name], personas)[0] for name in spellings.unique()}
    return spellings.replace_strict(meant, return_dtype=pl.String)


def lacking(options: Options, chosen: Selection, scenes: pl.DataFrame) -> tuple[LeftOut, ...]:
    """Personas of which there are fewer scenes than were asked for."""
    counts, most = Counter(scenes[PERSONA]), _most_scenes(options, chosen, scenes)
    return tuple(
        LeftOut(f"scenes of {name}", f"{counts[name]} of {most}.") for name in _personas(chosen) if counts[name] < most
    )
