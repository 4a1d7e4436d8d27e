"""Declaration of ModSCAN: who of two is meant, and who belongs to a scene."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.design import Block, Design, Factor
from facevalue.measures.cells import Grouped, MissingBy, Person
from facevalue.protocol.offers import Later
from facevalue.protocol.settings import EXCLUDE, located, sampling, seeds
from facevalue.protocol.sources import show_pictures
from facevalue.protocol.study import About, Changes, Draws, Estimated, Planned, Reading, Study, Watched
from facevalue.statistics.precision import Precision, UnitSpread
from facevalue.store.schema import PICTURE_SHARE
from facevalue.studies.modscan import parsing
from facevalue.studies.modscan.aggregate import read_real
from facevalue.studies.modscan.design import LEFT, ORDER, PAPER_PAIRS, layout, paper_layout
from facevalue.studies.modscan.measures import LABELS, MEASURES
from facevalue.studies.modscan.parsing import WEIGHTS, PromptBuilder, options, sides_shown
from facevalue.studies.modscan.pictures import FACES, PEOPLE, TONE, PairPictures, Shown, read_pictures, scene_source
from facevalue.studies.modscan.settings import CITATION, GENDERS, GROUPS, NAME, RACES, TITLE, VISION, selection
from facevalue.types import OptionValue

SD = {True: 0.4, False: 0.5}
"""SD between units of the share of one of two groups, shown in two orders or in one; of models that see a person as 1.5
logits apart from another, and like either place by .25."""
SD_OF_FOUR = {True: 0.29, False: 0.45}
"""The same between scenes about which one of four groups is named, in four orders or in one."""
OF_PERSON = 0.0355
"""Share of these models' variance between pairs that is of the person, whoever is beside."""
ASSUMED = "a model that sees people 1.5 logits apart; a pilot of your own model is better: --pilot RUN"
FAMILIES = ("modality", "attribute")


def precision(design: Design) -> Precision:
    """Describe the study to the planner by its first test of gender or, where there is none, of race or skin tone.

    The family is tested by BH beside those of the other modalities and attributes, so that a single gap is surely found
    at its part of the level. A share near even varies most, and its SD there is assumed: of men, at gaps of .1 and .2
    as many units as are said find it in .80 to .86 of simulated audits, at .3 in .87 to .93; of one of four races, at
    .1 and .2 in .82 to .90 (faces) and .82 to .87 (scenes). What is chosen less often than one in four varies less: a
    race that is named in 15% of scenes is found in .88 to .93.
    """
    first = next((block for block in design.blocks if block.constants["attribute"] == "gender"), design.blocks[0])
    families = {tuple(block.constants[name] for name in FAMILIES) for block in design.blocks}
    modality, attribute = (first.constants[name] for name in FAMILIES)
    blocks = [
        block for block in design.blocks if all(block.constants[name] == first.constants[name] for name in FAMILIES)
    ]
    names = sorted({name for block in blocks for name in block.choices()["instance"]})
    seen = modality == VISION
    number = len(first.stimulus[0]) // len(names)
    people, beside = _count_people(first) if seen else ((number,) * len(GROUPS[attribute]), 1.0)
    groups = people if len(people) > 2 else people[:1]  # of two groups, one says what the other does
    orders = any(axis.columns()[0].name in (LEFT, ORDER) for axis in (*first.stimulus[1:], *first.prompt))
    largest = max(groups)
    cells = sum(len(block.stimulus[0]) * (len(block.choices()["instance"]) if seen else 1) for block in blocks)

    def count_asked(numbers: npt.NDArray[np.int64]) -> tuple[int, float]:
        frame = design.trials(numbers).filter(_is_about(modality, attribute))
        return largest * frame.select("pair" if seen else "image", "instance").unique().height // cells, 1.0

    def spread(chunks: Iterator[pl.DataFrame], source: str) -> UnitSpread:
        asked_chunks = (chunk.filter(_is_about(modality, attribute)) for chunk in chunks)
        chosen = pl.concat(_choice_rows(chunk, modality, attribute) for chunk in asked_chunks)
        spreads = (
            chosen.group_by("unit", "instance", "group").agg(pl.col("chosen", "mass").sum()).filter(pl.col("mass") > 0)
        )
        shares = spreads.with_columns(share=pl.col("chosen") / pl.col("mass"))
        squares = shares.group_by("instance", "group").agg(pl.col("share").var()).drop_nulls()["share"]
        return UnitSpread(float(np.sqrt(squares.mean())) if squares.len() else np.nan, np.nan, 1.0, source)  # type: ignore[arg-type]

    two = seen or len(people) == 2
    counted = f"people of each {attribute}" if len(people) > 2 else "pairs of a man and a woman"
    of = (
        "the share of men and one half" if attribute == "gender" else f"the share of one {attribute} and an even choice"
    )
    return Precision(
        what=f"a gap between {of}, about one question ({modality}, {attribute})",
        tests=len(names) * len(groups),
        clusters=largest,
        items=1.0,
        cluster=counted if seen else "scenes of each persona trait",
        item="question",
        units=count_asked,
        spread=spread,
        default=UnitSpread(_sd(SD[orders], beside) if two else SD_OF_FOUR[orders], np.nan, 1.0, ASSUMED),
        shares=tuple(size / largest for size in groups for _ in names),
        sure=1 / len(families),
        each=sum(block.size for block in blocks) / largest,
        largest=0.5 if two else 1 - 1 / len(people),
    )


def _sd(of_pair: float, partners: float) -> float:
    """SD between people of the mean over so many pairs, in each of which somebody else is beside them."""
    return float(np.sqrt(OF_PERSON + (of_pair**2 - OF_PERSON) / partners)) if partners > 1 else of_pair


def _count_people(block: Block) -> tuple[Sequence[int], float]:
    """People of each group on the pairs of a block, and how many of other groups stand beside one of them.

    In the paper every race stands beside every other.
    """
    axis, attribute = block.stimulus[0], block.constants["attribute"]
    assert isinstance(axis, Factor)
    if PEOPLE[0] not in axis.attributes:
        groups = len(GROUPS[attribute])
        return (round(2 * PAPER_PAIRS[attribute] / groups / (groups - 1)),) * groups, groups - 1.0
    sides = [{"group": axis.attributes[f"group_{n}"], "person": axis.attributes[PEOPLE[n - 1]],
              "other": axis.attributes[PEOPLE[2 - n]]} for n in (1, 2)]  # fmt: skip
    pairs = pl.concat(pl.DataFrame(side) for side in sides).unique()
    counts = pairs.group_by("group").agg(pl.col("person").n_unique(), pairs=pl.len()).sort("group")
    return counts["person"].to_list(), float((counts["pairs"] / counts["person"]).min())  # type: ignore[arg-type]


def _is_about(modality: str, attribute: str) -> pl.Expr:
    """Rows about an attribute in one modality."""
    return (pl.col("modality").cast(pl.String) == modality) & (pl.col("attribute").cast(pl.String) == attribute)


def _choice_rows(rows: pl.DataFrame, modality: str, attribute: str) -> pl.DataFrame:
    """Weight of each valid answer on each of the groups that it could choose, by person or scene."""
    mass = pl.when(pl.col("weight").is_null()).then(0.0).otherwise(pl.col("mass").fill_null(0.0))
    groups = options(rows, modality, attribute)
    units = sides_shown("person") if modality == VISION else (pl.col("image").cast(pl.String),) * len(groups)
    tables = [
        rows.select(
            unit.alias("unit"), pl.col("instance").cast(pl.String), group.alias("group"),
            chosen=pl.col(weight).cast(pl.Float64).fill_null(0.0) * mass, mass=mass,
        )
        for group, unit, weight in zip(groups, units, WEIGHTS, strict=False)
    ]  # fmt: skip
    return pl.concat(tables).drop_nulls("group")


NOTE = (
    "This study asks a model to point out a thief, a terrorist or an “illegal person” among two faces, and to guess "
    "who lives in a messy room, as the published protocol does. Nothing it answers is true of anyone."
)
LEAD = ("gaps from chance",)
"""Families that the page's answer is about: by modality and attribute, in brackets."""
_ANALYSIS = Later(__package__, "analysis")
_PATHS = ("scenes", "real_world")
_UNSHOWN = (
    "These are the paper's pictures, of which only the number is known: leave out --paper to run what is at hand."
)


def _person_shown(side: int) -> Person:
    return Person((f"group_{side}",), (f"person_{side}",))


def build(options: Mapping[str, OptionValue], manifest: pl.DataFrame | None = None) -> Study:
    """Build the study from a value for each of `SETTINGS`; a stored manifest is used as it is."""
    options = located(options, ("utkface", "composed"), ("manifest", "fairface"), _PATHS)
    chosen = selection(options)
    if chosen.paper:
        nothing = pl.DataFrame(schema=dict.fromkeys(_FORM, pl.String()))
        pictures = PairPictures(nothing, nothing, {}, nothing, ())
        placed = paper_layout(chosen)
    else:
        pictures = read_pictures(options, chosen, manifest)
        placed = layout(pictures, chosen)
    if manifest is None and options["real_world"]:  # not after all has been asked
        faces = pictures.faces
        levels = (name for column in ("race", TONE) if column in faces.columns for name in faces[column].unique())
        read_real(str(options["real_world"]), sorted({*GENDERS, *RACES, *levels}))
    prompts = PromptBuilder(chosen)
    shown_pictures = Shown(
        show_pictures(FACES, options, pictures.faces) if pictures.pairs else None,
        scene_source(options, pictures.scenes) if pictures.scenes.height else None,
        pictures.scenes["image"] if pictures.scenes.height else (),
    )

    return Study(
        name=NAME,
        version=1,
        about=About(title=TITLE, citation=CITATION, content_note=NOTE, titles=_TITLES),
        options=options,
        manifest=pictures.frame,
        design=placed.design,
        draws=Draws(seeds=seeds(options), sampling=sampling(options)),
        source=shown_pictures,
        ask=prompts.questions,
        changes=Changes(
            led=prompts.lead_question,
            sampled=_sampled_units(placed.design),
            alike=_ANALYSIS.answer_similarity,
            intervened=_intervention_levels(chosen.paper),
        ),
        watched=Watched(
            missing_by=MissingBy(
                (Grouped("attribute", tuple(map(_person_shown, (1, 2))), named=True),),
                ("modality", "attribute", "instance"),
            ),
            followed={
                "left": pl.when(pl.col("modality") == "vision").then("weight"),
                "first term": pl.when(pl.col("modality") == "language").then("weight"),
            },
        ),
        sample=placed.sample,
        answer=partial(parsing.answer, style=chosen.style),
        analyse=partial(
            _ANALYSIS.estimates,
            real_world=str(options["real_world"]),
            declared={
                tuple(block.constants.values()): set(block.choices()["instance"]) for block in placed.design.blocks
            },
        ),
        page=partial(Later(__package__, "page").page_about, pictures.scenes, checked=bool(options.get(EXCLUDE))),
        reading=Reading(
            unread="" if chosen.style == "auto" else f"Does the model answer in the style {chosen.style}? See --style.",
            columns=(*Reading().columns, PICTURE_SHARE),
            read_by=("style",),
        ),
        estimates=Estimated(measures=MEASURES, labels=LABELS, lead=LEAD),
        planned=Planned(
            left_out=pictures.left_out, unshown=_UNSHOWN if chosen.paper else "", precision=precision(placed.design)
        ),
    )


def _sampled_units(design: Design) -> tuple[pl.Expr, ...]:
    """The person on either side of a pair, or the scene; empty where only the number of pictures is known."""
    names = {name for block in design.blocks for name in block.choices()}
    sides = [[pl.col(name).cast(pl.String) for name in (person, "identity") if name in names] for person in PEOPLE]
    return tuple(pl.coalesce(columns) for columns in sides if columns)


BLANK = "blank-image"


def _intervention_levels(paper: bool) -> dict[str, dict[str, tuple[str, ...]]]:
    """Levels that an intervention is limited to: roles to their attribute (appendix C), blank pictures to language."""
    return {
        BLANK: {"modality": ("language",), **({"attribute": ("gender",)} if paper else {})},
        "act-as-sexist": {"attribute": ("gender",)},
        "act-as-racist": {"attribute": ("race", TONE.replace("_", " "))},
    }


_FORM = ("image", "path", "identity", "set")
_TITLES = {
    "modality": {"vision": "Vision", "language": "Language"},
    "scenario_kind": {"occupation": "Occupations", "descriptor": "Descriptors", "persona": "Persona traits"},
    "attribute": {"gender": "Gender", "race": "Race", "skin tone": "Skin tone"},
}
