"""Declaration of StylisticBias: faces, variations, questions."""

from collections.abc import Callable, Iterator, Mapping

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.answers import parse_column
from facevalue.answers.columns import exact_or_drawn
from facevalue.design import Block, Design, Factor
from facevalue.measures.cells import Grouped, MissingBy
from facevalue.measures.estimators import number_levels
from facevalue.prompts import ORDERINGS, phrase
from facevalue.protocol import settings
from facevalue.protocol.offers import Later
from facevalue.protocol.sampling import WholeUnits
from facevalue.protocol.sources import show_pictures
from facevalue.protocol.study import About, Draws, Estimated, Planned, Study, Watched
from facevalue.statistics.precision import Precision, Respondents, UnitSpread, units_asked, variation_spread
from facevalue.stimuli.drawn_portraits import CONTROL
from facevalue.studies.stylisticbias import tables
from facevalue.studies.stylisticbias.aggregate import ORDERS, Faces, collect
from facevalue.studies.stylisticbias.measures import LABELS, MEASURES
from facevalue.studies.stylisticbias.pictures import SOURCES, pictures
from facevalue.studies.stylisticbias.settings import CITATION, NAME, TITLE
from facevalue.types import Option, OptionValue, Question, Sampling

NOTE = (
    "This study asks a model to judge people by their looks, and shows stereotyped judgments. Nothing in it is true of "
    "the people shown or of anyone."
)
TITLES = {
    "attribute": tables.attribute_titles(),
    "variation": {f"{v.attribute}/{v.name}": v.title for v in tables.grid()},
    "category": tables.categories(),
}
LEVELS = ("favourable", "unfavourable")
TOGETHER = ("identity",)
"""A base and its variations are compared, so that all pictures of a face are asked together."""
WHOLE = "one face in one scenario, with all its variations"

GROWTH = 0.265
"""SD of a shift between faces, as a share of the shift, where a pilot gives their SD in small ones.

A shift of .3 is not the same for all faces: those that a model likes anyway have less room to rise. With an SD between
faces of 1 on the logit scale, common to all scenarios, the shifts' own SD is .10, .21, .23, .26 of a shift of .05, .1,
.2, .3; with one drawn anew for each scenario it hardly grows. The larger is assumed, so that a plan asks for enough
faces.
"""


def build(options: Mapping[str, OptionValue], manifest: pl.DataFrame | None = None) -> Study:
    """Build the study."""
    options = settings.located(options, ("folders",), ("manifest",))
    frame, left_out = pictures(options) if manifest is None else (manifest, ())
    by_name = {scenario.name: scenario for scenario in tables.scenarios()}
    names = list(settings.chosen("scenario", settings.names(options, "scenarios"), list(by_name)) or by_name)
    scenarios = [by_name[name] for name in names]
    seeds = settings.seeds(options)
    design = make_design(frame, names)
    faces = Faces(frame)
    questions = _questions(scenarios, str(options["prompts"]))

    def analyse(answers: Mapping[str, Iterator[pl.DataFrame]]) -> pl.DataFrame:
        scores = {model: collect(chunks, faces, names, len(seeds)) for model, chunks in answers.items()}
        return Later(__package__, "estimands").analyse(scores, faces, names)

    return Study(
        name=NAME,
        version=1,
        about=About(title=TITLE, citation=CITATION, content_note=NOTE, titles=TITLES),
        options=options,
        manifest=frame,
        design=design,
        draws=Draws(
            seeds=seeds,
            sampling=Sampling(temperature=settings.temperature(options), top_p=1.0, max_tokens=16),
            reasks=2 if options["prompts"] == "released" else 0,
        ),
        source=show_pictures(SOURCES, options, frame),
        ask=lambda frame: [questions[code] for code in _codes(frame, names).tolist()],
        sample=WholeUnits(
            design, faces, {"": (len(names), len(ORDERS))}, WHOLE, "Choose fewer variations, or fewer seeds."
        ),
        answer=_answer(questions, names),
        analyse=analyse,
        estimates=Estimated(measures=MEASURES, labels=LABELS, lead=("variations",)),
        planned=Planned(precision=_precision(design, faces, names, len(seeds)), left_out=left_out),
        asked_together=TOGETHER,
        watched=Watched(
            missing_by=MissingBy(
                tuple(Grouped.of(name, "identity") for name in (*faces.dimensions, "variation")), ("scenario",)
            )
        ),
    )


def make_design(manifest: pl.DataFrame, names: list[str]) -> Design:
    """One block per attribute (and gender, where the manifest has it): the units in which the paper counts images."""
    prompt = (Factor("scenario", tuple(names)), Factor("ordering", tuple(ORDERS)))
    split = ["gender", "attribute"] if "gender" in manifest.columns else ["attribute"]
    carried = [c for c in manifest.columns if c not in ("image", "path", "seed", *split)]
    blocks = []
    ordered = manifest.sort(pl.col("attribute").is_not_null(), maintain_order=True)
    for key, rows in ordered.group_by(split, maintain_order=True):
        constants = {name: str(value) for name, value in zip(split, key, strict=True) if value is not None}
        baseline = "attribute" not in constants
        image = Factor("image", tuple(rows["image"]), {name: tuple(rows[name]) for name in carried})
        control = constants.get("attribute") == CONTROL[0]
        words = [v for k, v in constants.items() if not control or k != "attribute"]
        name = " ".join([*words, *(["full-body base"] if control else ["base"] if baseline else [])])
        blocks.append(Block(name, (image,), prompt, constants, baseline, control))
    return Design(tuple(blocks))


def _questions(scenarios: list[tables.Scenario], wording: str) -> list[Question]:
    """Every question, scenarios outermost."""
    out = []
    for scenario in scenarios:
        for ordering in ORDERINGS:
            options = ordering.options((scenario.favourable, scenario.unfavourable), LEVELS)
            prompt = tables.JUDGMENT.format(options=phrase(options, quote="'" if wording == "released" else ""))
            out.append(Question(prompt, options, None, {"scenario": scenario.name, "ordering": ordering.name}))
    return out


def _codes(frame: pl.DataFrame, names: list[str]) -> npt.NDArray[np.int64]:
    """Number of the question of each row."""
    return number_levels(frame["scenario"], names) * len(ORDERS) + number_levels(frame["ordering"], ORDERS)


def _answer(questions: list[Question], names: list[str]) -> Callable[[pl.DataFrame], pl.DataFrame]:
    """The favourable pole's weight, whatever its letter and place."""
    options: list[tuple[Option, ...]] = [question.options for question in questions]
    favourable = np.array([[option.level == LEVELS[0] for option in q.options].index(True) for q in questions])

    def answer(frame: pl.DataFrame) -> pl.DataFrame:
        codes = _codes(frame, names)
        coded = frame.with_columns(pl.Series("question", codes.astype(np.uint16)))
        place = pl.Series("place", favourable[codes])
        parsed = parse_column(coded, "text", "question", options)
        choice = parsed["choice"]
        sampled = pl.DataFrame(
            {
                "weight": (choice == place).cast(pl.Float64),
                "mass": choice.is_not_null().cast(pl.Float64),
                "na": parsed["na"],
            }
        )
        weights = exact_or_drawn(frame, sampled, {"weight": pl.col("weights").list.get(pl.lit(place))})
        return frame.drop("text", "probs").with_columns(weights)

    return answer


def _precision(design: Design, faces: Faces, names: list[str], repeats: int) -> Precision:
    """Say how precisely so many faces and scenarios measure the shift of one variation."""
    rows = faces.slicing(faces.variation_rows, "attribute", "variation")
    faces_of = [np.unique(faces.identity[faces.variation_rows][rows.codes == code]).size for code in range(len(rows))]

    def spread(chunks: Iterator[pl.DataFrame], source: str) -> UnitSpread:
        phi = collect(chunks, faces, names, repeats).phi
        return variation_spread(phi, faces, source, GROWTH)

    return Precision(
        what="the shift (SBS) of one variation",
        tests=len(rows) or len(tables.whitelist(None)),
        clusters=len(faces.identities),
        items=len(names),
        cluster="faces",
        item="scenarios",
        units=units_asked(design, ["identity", "scenario"]),
        spread=spread,
        default=Respondents(replies=len(ORDERS) * repeats),
        shares=tuple(_share(count, len(faces.identities)) for count in faces_of),
    )


def _share(count: int, faces: int) -> float:
    """Share of the faces that a variation is shown on; a half where an odd number is split as evenly as it can be."""
    return 0.5 if abs(2 * count - faces) == 1 else count / faces
