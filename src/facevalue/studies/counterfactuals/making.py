"""Pictures made in the manner of SocialCounterfactuals: sets of one picture with other people edited into it.

Howard et al. generate all members of a set at once, from captions that differ in two words, and keep the sets that
pass their filters (13,824 of many more: Table 5). Editors change one picture: here a base, of a caption that says
nothing of who is shown, is edited once for each group, so that all members of a set have gone the same way.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import product

import polars as pl

from facevalue.prompts.phrases import with_article
from facevalue.protocol.making import Making, PicturePlan
from facevalue.protocol.settings import Options, Setting, chosen, names, whole
from facevalue.protocol.sources import (
    ATTEMPT,
    DRAWS,
    EDIT,
    EXISTING,
    MOST_DRAWS,
    SEED,
    candidates,
    existing,
    in_form,
    null_edit,
    with_edits,
)
from facevalue.stimuli.counterfactual_datasets import ATTRIBUTES, SOCIAL_SUBSETS
from facevalue.stimuli.drawings.workers import PHYSICAL, DrawnImages, TableDrawings
from facevalue.stimuli.manifest_rows import Column
from facevalue.stimuli.portraits import GENDERS, SKIN_TONES, Identity, svg
from facevalue.stimuli.portraits.levels import Stream
from facevalue.types import OptionValue
from facevalue.untrusted_files import shipped

CAPTION = "A photo of {a_person}."
"""Captions of the data set, of a base ("A photo of a nurse.") and of a group ("A photo of a Black female nurse.")."""
EDITED = "Change who is in the picture, and nothing else: {caption} Keep pose, clothes, place, light and framing."
"""Prompt for an editor; ours."""
PAPER = {"race-gender": 7_936, "physical-gender": 5_052, "physical-race": 836}
"""Sets of each subset (Table 5)."""
MOST_SETS = 20_000
_TITLES = {"physical": "physical characteristics", "race": "races", "gender": "genders"}


CHANGE = "change"
"""Column of who was edited in, such as "Black male"."""


def _printed_occupations() -> Mapping[str, Sequence[str]]:
    """Occupations of each subset that the paper names (section A.2)."""
    occupations: Mapping[str, Sequence[str]] = shipped(__package__, "tables", "published.toml")["gpt_4o"]
    return occupations


def _occupations() -> list[str]:
    """Occupations that the paper names."""
    return list(dict.fromkeys(name for occupations in _printed_occupations().values() for name in occupations))


SETTINGS = (
    Setting("subset", "Only these subsets (race-gender of 12, physical-gender of 10, physical-race of 30).", [],
            levels=tuple(SOCIAL_SUBSETS)),
    *(Setting(name, f"Only people of these {title}.", [], levels=ATTRIBUTES[name]) for name, title in _TITLES.items()),
    Setting("occupation", "Only these occupations, or others: sets are spread evenly over them. Those that the paper "
            "names for a subset by default.", [], levels=_occupations, excludes=("sources",)),
    Setting("sets", "Sets of each subset; 0 for as many as the data set has (7,936, 5,052 and 836).", 0,
            excludes=("sources",)),
    DRAWS,
    *EXISTING,
    SEED,
)  # fmt: skip


def plan(options: Mapping[str, OptionValue]) -> PicturePlan:
    """Sets by subset; each base, and after it the people who are edited in."""
    subsets = chosen("subset", names(options, "subset"), tuple(SOCIAL_SUBSETS)) or tuple(SOCIAL_SUBSETS)
    levels = {name: chosen(name, names(options, name), of_name) or of_name for name, of_name in ATTRIBUTES.items()}
    draws, existing_bases = whole(options, "draws", 1, MOST_DRAWS), _sources(options) if options["sources"] else None
    tables = []
    for subset in subsets:
        bases = _bases(subset, options) if existing_bases is None else _bases_of_subset(subset, existing_bases)
        edits = _edits(subset, bases["occupation"].unique(maintain_order=True), levels)
        if options["null_edits"]:
            unchanged = bases.select("occupation").unique(maintain_order=True).join(null_edit([CHANGE]), how="cross")
            edits = pl.concat([unchanged, edits], how="diagonal")
        tables.append(with_edits(candidates(bases, draws, "image", "set"), edits, by=("occupation",)))
    table = pl.concat(tables, how="diagonal")
    present = {name for name in table.columns if table[name].null_count() < table.height}
    attributes = [name for name in ("race", "gender", "physical") if name in present]
    facts = [name for name in ("occupation", ATTEMPT) if name in present]
    table = in_form(table, options, "set", "subset", *facts, *attributes, CHANGE)
    source = None if existing_bases is not None else _draw_portraits(table)
    return PicturePlan(table=table, unit="set", groups=tuple(attributes), drawn=source)


def _bases(subset: str, options: Options) -> pl.DataFrame:
    """Bases of a subset: occupations take turns."""
    occupations = names(options, "occupation") or _printed_occupations()[subset]
    count = whole(options, "sets", 0, MOST_SETS) or PAPER[subset]
    captions = {name: CAPTION.format(a_person=with_article(name)) for name in occupations}
    turn = pl.int_range(count, eager=True)
    table = pl.DataFrame({"occupation": pl.Series(occupations)[turn % len(occupations)]})
    slug = pl.col("occupation").str.replace_all(r"[\s/]+", "-")
    return table.with_columns(
        pl.format("{}/{}/{}", pl.lit(subset), slug, turn // len(occupations) + 1).alias("set"),
        pl.lit(subset).alias("subset"),
        pl.col("occupation").replace_strict(captions, return_dtype=pl.String).alias("prompt"),
    ).with_columns(image="set")


def _sources(options: Options) -> pl.DataFrame:
    """The user's pictures as bases; their occupation where the list says it."""
    table = existing(options, [Column("occupation", "what the person does")])
    if "occupation" not in table.columns:
        table = table.with_columns(occupation=pl.lit(None, pl.String))
    return table.select("image", "path", "prompt", "occupation")


def _bases_of_subset(subset: str, bases: pl.DataFrame) -> pl.DataFrame:
    """The user's pictures as bases of a subset."""
    image = pl.format("{}/{}", pl.lit(subset), "image")
    return bases.with_columns(subset=pl.lit(subset), set=image, image=image)


def _edits(subset: str, occupations: Iterable[str | None], levels: Mapping[str, Sequence[str]]) -> pl.DataFrame:
    """Groups that are edited into the bases, for each occupation."""
    first, second = SOCIAL_SUBSETS[subset]
    rows = []
    for occupation, group in product(occupations, product(levels[first], levels[second])):
        name = " ".join(group)
        caption = CAPTION.format(a_person=with_article(f"{name} {occupation or 'person'}"))
        rows.append((occupation, name.replace(" ", "-").lower(), *group, name, EDITED.format(caption=caption)))
    columns = ("occupation", EDIT, first, second, CHANGE, "prompt")
    return pl.DataFrame(rows, dict.fromkeys(columns, pl.String), orient="row")


def _draw_portraits(table: pl.DataFrame) -> DrawnImages:
    """FaceValue's portraits of these genders and looks; occupations are not drawn."""
    attributes = ("race", "gender", "physical")
    missing = [pl.lit(None, pl.String).alias(name) for name in attributes if name not in table.columns]
    return DrawnImages(TableDrawings(table.with_columns(missing), ("set", *attributes), _svg))


def _svg(name: str, race: str | None, gender: str | None, physical: str | None) -> str:
    """A member of a set; which skin tone stands for a race is drawn for each set anew, so that none is claimed."""
    stream = Stream(0, f"made:{name}")
    seed, usual, tones = stream.index(2**53), stream.choice(GENDERS), stream.shuffle(SKIN_TONES)
    tone = tones[-1] if race is None else tones[ATTRIBUTES["race"].index(race)]
    age, build, change = PHYSICAL[physical] if physical else ("middle-aged", "normal", None)
    return svg(Identity(name, seed, gender or usual, age, tone, build), change)


MAKING = Making(
    settings=SETTINGS,
    plan=plan,
    about=(
        "Counterfactual sets of one picture each, into which people of other groups are edited: 12 races and "
        "genders, 10 physical characteristics and genders, or 30 physical characteristics and races; as many sets "
        "as SocialCounterfactuals keeps (Table 5), spread evenly over the occupations that the paper names. "
        "--draws makes several of each, as the data set was over-generated and filtered."
    ),
)
