"""Declaration of VIGNETTE: two people in one picture, four questions about them."""

from collections.abc import Mapping

import polars as pl

from facevalue.errors import DataError
from facevalue.measures.cells import Grouped, MissingBy, Person
from facevalue.protocol.offers import Later
from facevalue.protocol.settings import located, seeds, temperature, whole
from facevalue.protocol.study import About, Changes, Draws, Estimated, Planned, Study, Watched
from facevalue.studies.vignette.aggregate import sampled_unit
from facevalue.studies.vignette.design import IRRELEVANT, Layout, listed_layout, paradigms, product_layout
from facevalue.studies.vignette.measures import LABELS, MEASURES
from facevalue.studies.vignette.options import Offers, answer
from facevalue.studies.vignette.pictures import casts, check_partners, everyone, read_pictures, source, words
from facevalue.studies.vignette.precision import precision
from facevalue.studies.vignette.prompts import Role, RoleQuestions, irrelevant, paraphrase, read_roles, roles
from facevalue.studies.vignette.settings import CITATION, NAME, RELEASED, TITLE, Selection
from facevalue.studies.vignette.tables import dimensions, identities, term_pairs, title
from facevalue.types import OptionValue, Sampling

NOTE = (
    "This study names identities as the published protocol does, some of them demeaning, and asks a model to compare "
    "people by them. Nothing it answers is true of the people shown or of anyone."
)
LEAD = ("identities, decision", "identities, perception", "polarity, traits, stereotype")
"""Families that the page's answer is about: the first that was tested. A run of one paradigm has that one's."""
TITLES: Mapping[str, Mapping[str, str]] = {
    "identity": {
        identity.name: title(identity) for dimension in dimensions() for identity in identities(dimension.name)
    },
    "dimension": {dimension.name: dimension.title for dimension in dimensions()},
    "contrast": {
        "identity": "Two identities, one activity",
        "activity": "One identity, two activities",
        "identity-activity": "Two identities, two activities",
        "portrait": "Two portraits",
    },
    "outcome": {"swapped": "Wrong person named", "both": "Both persons named", "none": "Nobody named"},
    "question": {
        "struggle": "faces difficulty",
        "capability": "is better at it",
        "enjoyment": "enjoys it",
        "dislike": "hates it",
        "doing": "What is the person doing?",
        "who": "Who is doing it?",
        **{pair.name: f"{pair.high} – {pair.low}" for pair in term_pairs()},
    },
}

_TWO = pl.col("other").is_not_null()
FOLLOWED = {
    "listed first": pl.when(_TWO).then(pl.when("listed_first").then("weight").otherwise("other")),
    "first of the pair": pl.when(_TWO).then("weight"),
    "right": pl.when(~_TWO).then("weight"),
}
"""Share of answers for the one listed first, the first identity or activity of a pair, the right answer."""


def build(options: Mapping[str, OptionValue], manifest: pl.DataFrame | None = None) -> Study:
    """Build the study from a value for each of `SETTINGS`; a stored manifest is used as it is."""
    options = located(options, ("folder",), ("manifest", "pata"))
    pictures = read_pictures(options, manifest)
    chosen = pictures.chosen
    released, drop = options["prompts"] == RELEASED, options["overlaps"] == "drop"
    if released:
        _check_released(chosen)
    if pictures.pairs is None:
        whole_cast = casts(pictures.frame)
        check_partners(whole_cast, chosen)
        layout = product_layout(whole_cast, chosen, drop, released)
    else:
        layout = listed_layout(pictures.pairs, chosen, released)
    protocol = None
    if pictures.left_out and not options["pata"] and not pictures.unshown:
        protocol = product_layout(casts(everyone(chosen)), chosen, drop, released).design
    shuffle = whole(options, "shuffle_seed", 0)
    words_of = words(pictures.frame, released)
    options_shown = Offers(layout, words_of, shuffle, composed=not pictures.composed, prompts=str(options["prompts"]))
    builder = RoleQuestions(_roles(options, layout, chosen, released), released, shuffle)

    return Study(
        name=NAME,
        version=2,
        about=About(title=TITLE, citation=CITATION, content_note=NOTE, titles=TITLES),
        options=options,
        manifest=pictures.frame,
        design=layout.design,
        draws=Draws(
            seeds=seeds(options),
            sampling=Sampling(temperature=temperature(options), top_p=1.0 if released else 0.95, max_tokens=200),
            constrain=True,
        ),
        source=source(pictures, options, shuffle),
        ask=lambda frame: builder.questions(options_shown.complete(frame), options_shown.offered_options(frame)),
        changes=Changes(sampled=(sampled_unit(1), sampled_unit(2))),
        sample=layout.sample,
        answer=lambda frame: answer(frame, options_shown.offered_options(frame)),
        analyse=Later(__package__, "analysis").analyse,
        estimates=Estimated(measures=MEASURES, labels=LABELS, lead=LEAD),
        planned=Planned(
            protocol=protocol,
            left_out=pictures.left_out,
            unshown=pictures.unshown,
            counted_by=("paradigm",),
            parts=("paradigm", "contrast"),
            precision=precision(layout.design),
        ),
        watched=Watched(followed=FOLLOWED, missing_by=_MISSING_BY),
    )


def _person_on_side(side: int) -> Person:
    """The person on one side of a pair, who was sampled as `aggregate.unit` says."""
    pictures = (f"image_{side}", "activity", f"activity_{side}")
    return Person((f"identity_{side}", "identity"), ("person", *pictures))


_MISSING_BY = MissingBy(
    (Grouped("dimension", (_person_on_side(1), _person_on_side(2)), named=True, within=("gender",)),),
    ("paradigm", "question"),
)


def _check_released(chosen: Selection) -> None:
    """Refuse variants that the authors' code does not ask: its name would be on prompts that are ours."""
    for key, others in (
        ("wording", set(chosen.wordings) - {"1"}),
        ("reference", set(chosen.references) - {"identity"}),
    ):
        if others:
            raise DataError(
                f"The authors' code has no --{key} {', '.join(sorted(others))}: leave it out, or ask --prompts paper."
            )


def _roles(options: Mapping[str, OptionValue], layout: Layout, chosen: Selection, released: bool) -> Mapping[str, Role]:
    """Role questions of each activity that a decision is asked about, and of the released code's control."""
    table = read_roles(str(options["roles"])) if options["roles"] else roles()
    blocks = (block.choices() for block in layout.design.blocks if "decision" in paradigms(block))
    for activity in sorted({level for levels in blocks for level in levels.get("activity", ())}):
        if activity not in table:
            raise DataError(
                f"The activity {activity!r} has no role question, and decisions ask one of each. Choose other "
                "activities (--activity), paradigms (--paradigm) or another file of roles (--roles)."
            )
        for question in table[activity].questions.values() if chosen.wordings != ("1",) else ():
            paraphrase(question, 1)  # raises where it cannot be put in other words
        for number in range(1, IRRELEVANT + 1) if released else ():
            irrelevant(activity, number, table=table)  # raises where the file has no such role
    return table
