"""Declaration of ModSCAN: who of two is meant, and who belongs to a scene."""

from collections.abc import Mapping
from functools import cache, partial

import polars as pl

from facevalue.design import Design
from facevalue.measures.cells import Grouped, MissingBy, Person
from facevalue.protocol.offers import Later
from facevalue.protocol.settings import located, sampling, seeds
from facevalue.protocol.sources import show_pictures
from facevalue.protocol.study import About, Changes, Draws, Estimated, Planned, Reading, Study, Watched
from facevalue.store.schema import PICTURE_SHARE
from facevalue.studies.modscan import parsing
from facevalue.studies.modscan.aggregate import read_real
from facevalue.studies.modscan.design import layout, paper_layout
from facevalue.studies.modscan.measures import LABELS, MEASURES
from facevalue.studies.modscan.parsing import PromptBuilder
from facevalue.studies.modscan.pictures import FACES, PEOPLE, TONE, PairPictures, Shown, read_pictures, scene_source
from facevalue.studies.modscan.precision import precision
from facevalue.studies.modscan.settings import CITATION, GENDERS, NAME, RACES, TITLE, selection
from facevalue.types import OptionValue

NOTE = (
    "This study asks a model to point out a thief, a terrorist or an “illegal person” among two faces, and to guess "
    "who lives in a messy room, as the published protocol does. Nothing it answers is true of anyone."
)
LEAD = ("gaps from chance",)
"""Families that the page's answer is about: by modality and attribute, in brackets."""
_ANALYSIS = Later(__package__, "analysis")
_PATHS = ("scenes", "people_check", "real_world")
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

    # Once, as a jackknife takes all measures again many times.
    blocks = cache(partial(Later(__package__, "aggregate").asked_blocks, placed.design))

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
            alike=lambda *compared: _ANALYSIS.answer_similarity(*compared, blocks()),
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
        analyse=lambda answers: _ANALYSIS.estimates(answers, blocks(), str(options["real_world"])),
        page=partial(Later(__package__, "page").page_about, pictures.scenes),
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
