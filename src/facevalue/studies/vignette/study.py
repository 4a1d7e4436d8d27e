"""Declaration of VIGNETTE: two people in one picture, four questions about them."""

from collections.abc import Iterator, Mapping

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.design import Design
from facevalue.errors import DataError
from facevalue.measures.cells import Grouped, MissingBy, Person
from facevalue.measures.pairs import balance_choices
from facevalue.protocol.offers import Later
from facevalue.protocol.settings import located, seeds, temperature, whole
from facevalue.protocol.study import About, Changes, Draws, Estimated, Planned, Study, Watched
from facevalue.statistics.precision import Precision, UnitSpread, pooled_spread
from facevalue.studies.vignette.aggregate import (
    CONTROL,
    STIMULUS,
    Main,
    complete,
    sampled_unit,
    sum_questions,
    view_both_sides,
)
from facevalue.studies.vignette.design import IRRELEVANT, Layout, listed_layout, paradigms, product_layout
from facevalue.studies.vignette.measures import LABELS, MEASURES
from facevalue.studies.vignette.options import Offers, answer
from facevalue.studies.vignette.pictures import casts, check_partners, everyone, read_pictures, source, words
from facevalue.studies.vignette.prompts import Role, RoleQuestions, irrelevant, paraphrase, read_roles, roles
from facevalue.studies.vignette.settings import CITATION, NAME, RELEASED, TITLE, Chosen
from facevalue.studies.vignette.tables import dimensions, identities, term_pairs, title
from facevalue.types import OptionValue, Sampling

LEADING = ("decision", "perception")
"""Paradigms that the page's answer is about, the first that is asked."""
DEFAULT = UnitSpread(
    mean=0.131,
    within=0.232,
    items=11,
    source=(
        "simulated: pictures of one identity differ by .5 and pairs by .3 on the logit scale, six decisions of each "
        "pair; a pilot of your own model is better: --pilot RUN"
    ),
)
SINGLE = 0.2
"""Share that `advice` plans for in a single activity: 20 points."""


def precision(design: Design) -> Precision | None:
    """Describe the study to the planner; None where two identities are not chosen between in one activity."""
    blocks = [block for block in design.blocks if block.constants.get("contrast") == "identity"]
    paradigm = next((name for name in LEADING if any(name in paradigms(block) for block in blocks)), None)
    blocks = [block for block in blocks if paradigm is not None and paradigm in paradigms(block)]
    if paradigm is None or not blocks:
        return None
    levels = [block.choices() for block in blocks]
    people = [len(of.get("person", {""})) for of in levels]
    listed = any("pair_of_pictures" in of for of in levels)
    dimensions = {block.constants.get("dimension") for block in blocks}
    sides = ("identity", "identity_1", "identity_2")
    identities = max(len({name for side in sides for name in of.get(side, ())}) for of in levels)
    activities = max(len(of.get("activity", {""})) for of in levels)
    genders = len({block.constants.get("gender") for block in blocks})
    personal = max(people) > 1
    per_identity = genders * (min(people) if personal else activities)
    pairs = (identities - 1) * (activities if personal else 1)
    if listed:
        per_identity, items = _units(design, np.arange(design.size), paradigm)
        pairs = round(items)

    questions = 1 if paradigm == "decision" else 4
    return Precision(
        what=f"how far an identity is from an even choice ({paradigm}; 0.1 is 10 points)",
        tests=identities * questions * len(dimensions),
        clusters=per_identity,
        items=float(pairs),
        cluster="people of each identity" if personal else "pictures of each identity",
        item="pairs",
        units=lambda numbers: _units(design, numbers, paradigm),
        spread=lambda chunks, source: pilot_spread(chunks, paradigm, source),
        default=DEFAULT,
        largest=0.5,
        advice=lambda needed: _advice(needed, identities * activities, personal, per_identity > genders * activities),
    )


def _units(design: Design, numbers: npt.NDArray[np.int64], paradigm: str) -> tuple[int, float]:
    """Typical number of an identity's units among these trials, and pairs of each."""
    frame = _select_paradigm(design.trials(numbers).with_columns(pl.lit(0.0).alias(name) for name in "st"), paradigm)
    counts = pl.concat(_sides(frame)).group_by("dimension", "identity").agg(
        units=pl.struct(_PICTURE).n_unique(), pairs=pl.struct(*_PICTURE, "pair").n_unique()
    )  # fmt: skip
    if not counts.height:
        return 0, 0.0
    typical = counts.select(pl.col("units").median(), items=(pl.col("pairs") / pl.col("units")).median()).row(0)
    return int(typical[0]), float(typical[1])


_PICTURE = ("stratum", "unit")


def _select_paradigm(frame: pl.DataFrame, paradigm: str) -> pl.DataFrame:
    """Rows about two identities in one activity, of one paradigm."""
    contrast, of_paradigm = (pl.col(name).cast(pl.String) for name in ("contrast", "paradigm"))
    return frame.filter((contrast == "identity") & (of_paradigm == paradigm))


def _sides(frame: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """The rows from either side, with the number of their `pair`."""
    rows = complete(frame.with_columns(pl.col(pl.Enum, pl.Categorical).cast(pl.String)))
    return view_both_sides(rows.with_columns(pair=pl.struct(STIMULUS).rank("dense")))


def pilot_spread(chunks: Iterator[pl.DataFrame], paradigm: str, source: str) -> UnitSpread:
    """UnitSpread of an identity's pictures in a pilot's answers, pooled over identities; NaN where none has two.

    Questions of perception are taken one by one; `source` says where the run is.
    """
    main = Main()
    of_paradigm = (_select_paradigm(main(chunk), paradigm) for chunk in chunks)
    counted = (pl.col("n") > 0) & ~pl.col("question").cast(pl.String).str.starts_with(CONTROL)
    answers = [sum_questions(rows).filter(counted) for rows in of_paradigm if rows.height]
    if not any(rows.height for rows in answers):
        return UnitSpread(np.nan, np.nan, 0, source)
    rows = balance_choices(pl.concat(answers))
    single = pl.when(pl.col("paradigm") == "perception").then("question").alias("single")
    identity = ["dimension", "identity", "single", "stratum"]
    pairs = pl.concat(_sides(rows)).group_by(*identity[:2], "stratum", "unit", "pair", single, maintain_order=True)
    shares = pairs.agg(share=pl.col("s").sum() / pl.col("n").sum()).with_columns(
        item=pl.int_range(pl.len()).over(*identity, "unit")
    )
    return pooled_spread(
        [
            of_identity.pivot("item", index="unit", values="share").drop("unit").to_numpy()
            for of_identity in shares.partition_by(identity)
        ],
        source,
    )


def _advice(spread: UnitSpread, cells: int, personal: bool, several: bool) -> str:
    """Advice on how many pictures of each identity in each activity to take, and on what they would make possible."""
    from facevalue.measures.families import ALPHA  # noqa: PLC0415 - slow to import
    from facevalue.measures.multitest import LEAD_SHARE  # noqa: PLC0415 - slow to import
    from facevalue.measures.power import POWER, clusters_needed  # noqa: PLC0415 - slow to import

    level = ALPHA * (1 - LEAD_SHARE) / cells
    needed = float(clusters_needed(spread.mean, SINGLE, level, POWER))
    if not np.isfinite(needed):
        return ""
    start = (
        "The people drawn are the unit: more activities of the same people do not replace people."
        if personal
        else "Each identity has several pictures of an activity."
        if several
        else "Each identity has one picture of an activity: within it, picture and identity cannot be told apart."
    )
    noun = "people" if personal else "pictures of each identity in each activity (a manifest with several, --people)"
    return (
        f"{start} To find {SINGLE * 100:.0f} points in a single activity it takes {needed:.0f} {noun}; from 3 on, one "
        "activity has an interval of its own, and so has a portrait of 3 or more of each identity."
    )


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
    builder = RoleQuestions(layout.prompts, _roles(options, layout, chosen, released), released, shuffle)

    return Study(
        name=NAME,
        version=2,
        about=About(TITLE, CITATION, NOTE, TITLES, stimulus=("pair of pictures", "pairs of pictures")),
        options=options,
        manifest=pictures.frame,
        design=layout.design,
        draws=Draws(
            seeds=seeds(options),
            sampling=Sampling(temperature=temperature(options), top_p=1.0 if released else 0.95, max_tokens=200),
            constrain=True,
        ),
        source=source(pictures, options, shuffle),
        ask=lambda frame: builder.questions(options_shown.offered_options(frame)),
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


def _check_released(chosen: Chosen) -> None:
    """Refuse variants that the authors' code does not ask: its name would be on prompts that are ours."""
    for key, others in (
        ("wording", set(chosen["wording"]) - {"1"}),
        ("reference", set(chosen["reference"]) - {"identity"}),
    ):
        if others:
            raise DataError(
                f"The authors' code has no --{key} {', '.join(sorted(others))}: leave it out, or ask --prompts paper."
            )


def _roles(options: Mapping[str, OptionValue], layout: Layout, chosen: Chosen, released: bool) -> Mapping[str, Role]:
    """Role questions of each activity that a decision is asked about, and of the released code's control."""
    table = read_roles(str(options["roles"])) if options["roles"] else roles()
    blocks = (block.choices() for block in layout.design.blocks if "decision" in paradigms(block))
    for activity in sorted({level for levels in blocks for level in levels.get("activity", ())}):
        if activity not in table:
            raise DataError(
                f"The activity {activity!r} has no role question, and decisions ask one of each. Choose other "
                "activities (--activity), paradigms (--paradigm) or another file of roles (--roles)."
            )
        for question in table[activity].questions.values() if chosen["wording"] != ("1",) else ():
            paraphrase(question, 1)  # raises where it cannot be put in other words
        for number in range(1, IRRELEVANT + 1) if released else ():
            irrelevant(activity, number, table=table)  # raises where the file has no such role
    return table
