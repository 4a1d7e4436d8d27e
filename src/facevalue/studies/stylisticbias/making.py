"""Pictures that StylisticBias has made: 500 faces of Table 9, and edits of one thing each (B.2, B.3, Figures 9 to 11).

How many faces of each of the 90 configurations the paper has is not published, only how many of each gender, age,
ethnicity and build. Ours are drawn evenly by seed with these counts: a face's levels don't depend on one another.
"""

from collections.abc import Mapping
from functools import partial

import numpy as np
import polars as pl

from facevalue.errors import DataError
from facevalue.generators.base import NULL_EDIT
from facevalue.protocol.making import Making, PicturePlan, PictureQuestions
from facevalue.protocol.settings import Options, Setting, chosen, face_counts, names, whole
from facevalue.protocol.sources import EDIT, EXISTING, SEED, existing, in_form, null_edit, with_edits
from facevalue.stimuli.drawings.portraits import CONTROL, change_and_framing
from facevalue.stimuli.drawings.workers import DrawnImages, TableDrawings
from facevalue.stimuli.portraits import SKIN_TONES, Identity, svg
from facevalue.stimuli.portraits.levels import Stream
from facevalue.studies.stylisticbias import folders
from facevalue.studies.stylisticbias.pictures import COLUMNS
from facevalue.studies.stylisticbias.settings import SETTINGS as RUN
from facevalue.studies.stylisticbias.tables import GENDERS, Variation, attribute_titles, grid, read
from facevalue.types import OptionValue

_TABLES = read("image_prompts.toml")
BASE_FACE, FEATURE_VARIATION, CLOTHING_VARIATION = (str(_TABLES[name]) for name in ("base_face", "feature", "clothing"))
"""Figures 9, 10 and 11, verbatim: the prompts for a base face, for any variation, and for a fashion style."""
PEOPLE = ("age", "ethnicity", "build")
"""Factors of faces beside gender, by which they are drawn evenly one after the other."""
PLAIN = "plain"
"""Filling of Figure 11 for a full body in plain clothes: ours."""
_CUE = ("attribute", "variation")
_OF_RUNS = {setting.name: setting for setting in RUN}
SETTINGS = (
    Setting("faces", "Base faces: 274M,226F as in the paper, or a number to split evenly.", "274M,226F",
            excludes=("sources",)),
    Setting("faces_seed", "Which configurations of Table 9 have one face more.", 1, excludes=("sources",)),
    Setting("grid", "Variations: the 34 that the paper judges, all 55 it lists (Table 10), or none but base faces.",
            "kept", ("kept", "all", "none")),
    *(_OF_RUNS[name] for name in ("fashion_base", "attributes", "variations")),
    *EXISTING,
    SEED,
)  # fmt: skip


def plan(options: Mapping[str, OptionValue]) -> PicturePlan:
    """The faces, each followed by its variations."""
    bases = _sources(options) if options["sources"] else base_faces(options)
    edits = pl.concat([_edits(gender, options) for gender in (*GENDERS, None)])
    if options["null_edits"]:
        change = null_edit(_CUE)
        edits = pl.concat([*(change.with_columns(gender=pl.lit(g, pl.String)) for g in (*GENDERS, None)), edits],
                          how="diagonal")  # fmt: skip
    factors = [name for name in ("gender", *PEOPLE) if name in bases.columns]
    bare = bases.with_columns(gender=pl.lit(None, pl.String)) if "gender" not in bases.columns else bases
    table = with_edits(bare, edits, by=("gender",))
    if options["grid"] != "none" and table.height == bases.height:
        hint = " The paper's reduction drops some: --grid all has all 55." if options["grid"] == "kept" else ""
        raise DataError(f"No variation is left to make of these faces.{hint}")
    table = in_form(table, options, "identity", *_CUE, *factors)
    groups = tuple(name for name in factors if table[name].null_count() < table.height)
    return PicturePlan(table=table, groups=groups, drawn=None if options["sources"] else _draw_faces(table, options))


def base_faces(options: Options) -> pl.DataFrame:
    """Base faces by gender and number: `image`, `identity`, `gender`, `PEOPLE` and `prompt`, drawn as the module says.

    Examples
    --------
    >>> base_faces({"faces": "500", "faces_seed": 1})["ethnicity"].value_counts(sort=True).row(0)
    ('asian', 110)
    """
    counts, seed = face_counts(str(options["faces"])), whole(options, "faces_seed", 0)
    total = sum(counts.values())
    rng = np.random.default_rng([seed, total])
    faces = pl.DataFrame({"gender": np.repeat(list(counts), list(counts.values())), "number": np.arange(total)})
    for at, name in enumerate(PEOPLE):
        faces = faces.sort("gender", *PEOPLE[:at], maintain_order=True)
        faces = faces.with_columns(pl.Series(name, _evenly(_TABLES["margins"][name], total, rng)))
    faces = faces[rng.permutation(total)].sort("gender", descending=True, maintain_order=True)
    number = (pl.int_range(pl.len()).over("gender") + 1).cast(pl.String).str.zfill(4)
    faces = faces.with_columns(identity=pl.format("{}-{}", pl.col("gender").str.slice(0, 1), number))
    words = {name: _TABLES["words"].get(name, {}) for name in PEOPLE}
    prompts = [
        BASE_FACE.format(gender=gender, **{n: words[n].get(v, v) for n, v in zip(PEOPLE, levels, strict=True)})
        for gender, *levels in faces.select("gender", *PEOPLE).iter_rows()
    ]
    return faces.select("identity", "gender", *PEOPLE, image="identity", prompt=pl.Series(prompts, dtype=pl.String))


def _evenly(margins: Mapping[str, int], total: int, rng: np.random.Generator) -> list[str]:
    """Levels for so many faces in a row, in the proportions of the paper's, each level at even distances."""
    levels, shares = list(margins), np.array(list(margins.values())) * total / sum(margins.values())
    counts = np.floor(shares).astype(int)
    counts[np.argsort(counts - shares, kind="stable")[: total - counts.sum()]] += 1
    places = np.concatenate([(np.arange(count) + rng.random()) / count for count in counts if count])
    order = np.argsort(places, kind="stable")
    return [levels[at] for at in np.repeat(np.arange(len(levels)), counts)[order]]


def _sources(options: Options) -> pl.DataFrame:
    """Faces of the user's; of pictures that are variations already none."""
    table = existing(options, [column for column in COLUMNS if column.name not in _CUE])
    if "attribute" in table.columns:
        table = table.filter(pl.col("attribute").is_null())
    if "gender" in table.columns:
        table = table.with_columns(pl.col("gender").map_elements(folders.known_gender, pl.String))
    if table["identity"].is_duplicated().any():
        twice = table.filter(pl.col("identity").is_duplicated())["identity"][0]
        raise DataError(f"The identity {twice!r} has several base pictures among the sources: keep one of each.")
    return table


def _edits(gender: str | None, options: Options) -> pl.DataFrame:
    """Edits of faces of a gender, or of one that is not known: `gender`, `edit`, cues and `prompt`."""
    fates = ("kept",) if options["grid"] == "kept" else ("kept", "plausibility", "curation")
    variations = [] if options["grid"] == "none" else [v for v in grid() if _fates(v, gender).intersection(fates)]
    for name, level in (("attribute", "attribute"), ("variation", "name")):
        levels = list(dict.fromkeys(getattr(variation, level) for variation in grid()))
        levels_chosen = chosen(name, names(options, f"{name}s"), levels)
        variations = [v for v in variations if not levels_chosen or getattr(v, level) in levels_chosen]
    rows = [(gender, f"{v.attribute}={v.name}", v.attribute, v.name, prompt_of(v, gender)) for v in variations]
    if options["fashion_base"] == "full-body" and any(v.attribute == "fashion_style" for v in variations):
        prompt = CLOTHING_VARIATION.format(gender=gender or "person", fashion_style=PLAIN)
        rows.append((gender, "=".join(CONTROL), *CONTROL, prompt))
    return pl.DataFrame(rows, dict.fromkeys(("gender", EDIT, *_CUE, "prompt"), pl.String), orient="row")


def _fates(variation: Variation, gender: str | None) -> set[str]:
    return set(variation.fate.values()) if gender is None else {variation.fate.get(gender, "")}


def prompt_of(variation: Variation, gender: str | None) -> str:
    """Prompt for an editor: Figure 11 for a fashion style, Figure 10 for anything else.

    Examples
    --------
    >>> cap = next(v for v in grid() if v.name == "cap")
    >>> prompt_of(cap, "female")[-77:]
    'Accessories: Cap. Keep the face identity consistent with the reference image.'
    """
    noun = gender or "person"
    if variation.attribute == "fashion_style":
        return CLOTHING_VARIATION.format(gender=noun, fashion_style=variation.title)
    key = attribute_titles()[variation.attribute]
    return FEATURE_VARIATION.format(gender=noun, feature_key=key, feature_value=variation.title)


def _draw_faces(table: pl.DataFrame, options: Options) -> DrawnImages:
    """FaceValue's faces of these genders, ages and builds; a skin tone is drawn by seed, whatever the ethnicity."""
    columns = ("identity", *_CUE, "gender", "age", "build")
    return DrawnImages(TableDrawings(table, columns, partial(_svg, whole(options, "faces_seed", 0))))


def _svg(seed: int, name: str, attribute: str | None, variation: str | None, gender: str, age: str, build: str) -> str:
    stream = Stream(seed, f"made:{name}")
    person = Identity(name, stream.index(2**53), gender, age, stream.choice(SKIN_TONES), build)
    change, framing = (None, None) if attribute == NULL_EDIT else change_and_framing(attribute, variation)
    return svg(person, change, framing)


MAKING = Making(
    settings=SETTINGS,
    plan=plan,
    about=(
        "500 faces of the 90 configurations of Table 9 (Figure 9) and 15,726 edits of them, each of one thing: of "
        "the face (Figure 10) or of clothes, full-body (Figure 11); ours beside them, unless --fashion-base is "
        "portrait: everyone full-body in plain clothes."
    ),
    questions=PictureQuestions.from_table(read("picture_questions.toml")),
)
