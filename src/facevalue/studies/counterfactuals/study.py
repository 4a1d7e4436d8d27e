"""Declaration of the study of counterfactual sets: what models say of people who differ in one thing alone."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.annotations import lexicon
from facevalue.annotations.scores import Scores, columns
from facevalue.design import Block, Design
from facevalue.errors import DataError
from facevalue.measures.cells import Grouped, MissingBy, Person
from facevalue.protocol.offers import Later
from facevalue.protocol.settings import chosen, sampling, seeds
from facevalue.protocol.study import About, Draws, Estimated, LeftOut, Planned, Scored, Study, Watched
from facevalue.statistics.precision import Precision, UnitSpread
from facevalue.stimuli.pairs import NoPicture
from facevalue.studies.counterfactuals import parsing
from facevalue.studies.counterfactuals.design import OPEN, RATING, layout
from facevalue.studies.counterfactuals.measures import JUDGED, LABELS, LEAD, MEASURES
from facevalue.studies.counterfactuals.parsing import PromptBuilder
from facevalue.studies.counterfactuals.pictures import located, read_pictures, source
from facevalue.studies.counterfactuals.settings import CITATION, NAME, SALARY, TEXT, TITLE, TITLES, Selection, selection
from facevalue.types import OptionValue

SD = 1.0
"""Assumed SD of ratings, in points, beyond what their set and their group explain."""
ASSUMED = (
    f"assumed: ratings differ by {SD:g} point (SD) beyond what set and group explain; a pilot of your own model is "
    "better: --pilot RUN"
)
UNPLANNED = "Scores of texts, which lead the page once they are annotated, and words are not planned for."
_ABOUT = ("subset", "prompt")


def precision(design: Design) -> Precision | None:
    """Describe the study to the planner by ratings in the subset of fewest whole sets; None where none are asked.

    A group is compared with a majority of groups that are alike, whichever these are (`measures.majority`), and that
    may be half of them: so many are planned for. Of 4 to 10 groups, in as many sets as are said, such a gap is found in
    .74 to .84 of 200 simulated audits.
    """
    blocks = [block for block in design.blocks if block.constants["task"] == RATING]
    cells = [
        (block, prompt)
        for block in blocks
        for prompt in map(str, block.prompt[0].columns()[0].values)
        if prompt != SALARY  # ratings lead
    ]
    if not cells or not min(_whole_sets(block) for block in blocks):
        return None
    fewest = min(blocks, key=_whole_sets)
    groups = _groups(fewest)
    return Precision(
        what="a gap between the ratings of a group and of the groups that are alike (points of 1 to 10; one prompt)",
        tests=groups if groups > 2 else 1,
        clusters=_whole_sets(fewest),
        items=1.0,
        cluster="sets of each subset",
        item="ratings of each picture",
        units=lambda numbers: (_count_whole_sets(design, numbers), 1.0),
        spread=lambda chunks, source: UnitSpread(_sd(residual(chunks), groups), np.nan, 1.0, source),
        default=UnitSpread(_sd(SD, groups), np.nan, 1.0, ASSUMED),
        sure=1 / len(cells),
        largest=9.0,
        unplanned=UNPLANNED,
    )


def _groups(block: Block) -> int:
    return len(set(block.stimulus[0].choices()["group"]))


def _whole_sets(block: Block) -> int:
    """Number of sets with a picture of every group."""
    pictures = block.stimulus[0].choices()
    return _fewest_whole_sets(pl.DataFrame({name: pictures[name] for name in ("set", "group")}), [], _groups(block))


def _fewest_whole_sets(pictures: pl.DataFrame, by: list[str], groups: int) -> int:
    """Sets with each of so many groups, in the cell that has the fewest of them; 0 where there is none."""
    counts = pictures.group_by(*by, "set").agg(groups=pl.col("group").n_unique()).filter(pl.col("groups") == groups)
    if not by:
        return counts.height
    return int(counts.group_by(by).len()["len"].min() or 0)  # type: ignore[arg-type]


def _count_whole_sets(design: Design, numbers: npt.NDArray[np.int64]) -> int:
    """Whole sets among these trials, of the rating prompt that has the fewest."""
    frame = design.trials(numbers).select("task", *_ABOUT, "set", "group").with_columns(pl.all().cast(pl.String))
    ratings = frame.filter(pl.col("task") == RATING, pl.col("prompt") != SALARY)
    counts = []
    for block in design.blocks:
        if block.constants["task"] == RATING:
            of_subset = ratings.filter(pl.col("subset") == block.constants["subset"])
            counts.append(_fewest_whole_sets(of_subset, ["prompt"], _groups(block)))
    return min(counts)


def _sd(residual_sd: float, groups: int) -> float:
    """SD between sets of a group's distance from half of the groups.

    Equation
    --------
    s sqrt(1 + 1/h), h = k - floor(k/2) of k groups, s the SD of ratings beyond set and group; of two groups, of their
    difference.
    """
    return residual_sd * float(np.sqrt(1 + 1 / (groups - groups // 2)))


def residual(chunks: Iterator[pl.DataFrame]) -> float:
    """SD of ratings beyond what set and group explain, of all prompts and subsets together; NaN where none is known.

    Several ratings of a picture count as their mean, and only sets of which every group was rated.

    Equation
    --------
    s² = sum (x - set's mean - group's mean + mean)² / ((sets - 1) (groups - 1)), summed over subsets and prompts.
    """
    columns = (*_ABOUT, "set", "group")
    rated = pl.concat(
        chunk.filter(pl.col("task").cast(pl.String) == RATING, pl.col("prompt").cast(pl.String) != SALARY).select(
            pl.col(*columns).cast(pl.String), "value"
        )
        for chunk in chunks
    ).drop_nulls()
    means = rated.group_by(columns).agg(pl.col("value").mean())
    present = means.with_columns(groups=pl.col("group").n_unique().over(_ABOUT), rated=pl.len().over(*_ABOUT, "set"))
    whole_sets = present.filter(pl.col("rated") == pl.col("groups"))
    of_set, of_group = (pl.col("value").mean().over(*_ABOUT, name) for name in ("set", "group"))
    residuals = pl.col("value") - of_set - of_group + pl.col("value").mean().over(_ABOUT)
    sums = (
        whole_sets.with_columns(residual=residuals)
        .group_by(_ABOUT)
        .agg(
            squares=pl.col("residual").pow(2).sum(),
            freedom=(pl.col("set").n_unique().cast(pl.Int64) - 1) * (pl.col("groups").first().cast(pl.Int64) - 1),
        )
    )
    squares, freedom = sums.select(pl.col("squares", "freedom").sum()).row(0)
    return float(np.sqrt(squares / freedom)) if freedom else np.nan


NOTE = (
    "This study asks a model to describe and rate people by their looks, as the published protocol does, and looks for "
    "hostile and stereotypical words in what it says. Replies may be offensive. Nothing they say is true of anyone."
)
_ANALYSIS = Later(__package__, "analysis")
_PEOPLE = {"male": "man", "female": "woman"}
_TITLES = {
    "prompt": TITLES,
    "subset": {
        "race-gender": "Race and gender",
        "physical-gender": "Looks and gender",
        "physical-race": "Looks and race",
        "skin-tone-gender": "Skin tone and gender",
        "pata": "PATA (photographs)",
    },
    "task": {OPEN: "Open prompts", RATING: "Ratings"},
}


def build(options: Mapping[str, OptionValue], manifest: pl.DataFrame | None = None) -> Study:
    """Build the study from a value for each of `SETTINGS`; a stored manifest is used as it is."""
    options = located(options)
    choice = selection(options)
    uncounted = _uncounted_phrases(options) if manifest is None else ()
    pictures = read_pictures(options, manifest)
    frame = _select_pictures(pictures.frame, choice, pictures.partial)
    placed = layout(frame, choice)
    words = {group: _in_words(group) for group in frame["group"].unique(maintain_order=True)}

    @cache  # a jackknife takes all measures again many times
    def analysis_facts(scores: tuple[Scores, ...]) -> dict[str, Any]:
        from facevalue.measures.judges import audit_of_run  # noqa: PLC0415 - SciPy takes its time to import

        return {
            "blocks": Later(__package__, "parts").parts(placed.design, pictures.partial),
            "lists": Later(__package__, "texts").word_lists(str(options["words"]), str(options["words_variant"])),
            "frequency": choice.min_frequency,
            "sets": choice.min_sets,
            "audits": {s.name: audit_of_run(s, words) for s in scores},
            "longest": sampling(options).max_tokens,
        }

    def analyse(scores: tuple[Scores, ...], answers: Mapping[str, Iterator[pl.DataFrame]]) -> pl.DataFrame:
        estimates: pl.DataFrame = _ANALYSIS.estimates(answers, **analysis_facts(scores))
        return estimates

    plain = Study(
        name=NAME,
        version=1,
        about=About(title=TITLE, citation=CITATION, content_note=NOTE, titles=_TITLES),
        options=options,
        manifest=frame,
        design=placed.design,
        draws=Draws(seeds=seeds(options), sampling=sampling(options)),
        source=NoPicture() if choice.shown == TEXT else source(options, frame),
        ask=PromptBuilder(choice).questions,
        sample=placed.sample,
        answer=parsing.answer,
        analyse=partial(analyse, ()),
        estimates=Estimated(measures=(*MEASURES, *JUDGED), labels=LABELS, lead=LEAD),
        planned=Planned(
            left_out=(*pictures.left_out, *_unrated_pictures(frame, choice), *uncounted),
            counted_by=("prompt",),
            precision=precision(placed.design),
            unplanned="it plans for ratings, and these settings ask for none of whole sets",
        ),
        asked_together=("set",),
        watched=Watched(
            missing_by=MissingBy((Grouped("subset", (Person(("group",), ("set",)),), named=True),), ("prompt",)),
            followed={"rating": pl.col("weight")},
        ),
    )

    def carrying(scores: Sequence[Scores]) -> Study:
        from facevalue.studies.counterfactuals.aggregate import UNREAD  # noqa: PLC0415

        def answer(chunk: pl.DataFrame) -> pl.DataFrame:
            rows = parsing.answer(chunk)
            declined = columns(scores, rows["declined"]).rename(lambda name: f"refused {name}")
            unread = [(~s.knows(rows["declined"])).alias(f"{UNREAD}{s.name}") for s in scores]
            return pl.concat([rows, columns(scores, rows["text"]), declined, pl.DataFrame(unread)], how="horizontal")

        return replace(plain, answer=answer, analyse=partial(analyse, tuple(scores)))

    scored = Scored(pl.col("task") == OPEN, words, carrying, ("text", "declined"))
    return replace(
        plain,
        reading=replace(plain.reading, scored=scored if choice.open_prompts else None),
    )


def _uncounted_phrases(options: Mapping[str, OptionValue]) -> tuple[LeftOut, ...]:
    """Phrases of the user's word lists; everything that could be wrong with the file is found here."""
    if not options["words"]:
        return ()
    phrases = lexicon.read(str(options["words"])).phrases
    some = ", ".join(phrases[:3]) + (" ..." if len(phrases) > 3 else "")
    return (
        (LeftOut(f"Of the word lists, phrases ({len(phrases):,})", f"Words are counted: {some}."),) if phrases else ()
    )


def _select_pictures(frame: pl.DataFrame, choice: Selection, lacking: Mapping[str, Sequence[str]]) -> pl.DataFrame:
    """The pictures of some subsets and occupations, and of some sets of each occupation."""
    for name, names in (("subset", choice.subsets), ("occupation", choice.occupations)):
        levels = chosen(name, names, frame[name].drop_nulls().unique(maintain_order=True).to_list())
        frame = frame.filter(pl.col(name).is_in(levels)) if levels else frame
    if frame.is_empty():
        raise DataError("No picture is of these subsets and occupations.")
    return _drawn_sets(frame, choice.occupation_sets, lacking) if choice.occupation_sets else frame


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


def _unrated_pictures(frame: pl.DataFrame, choice: Selection) -> tuple[LeftOut, ...]:
    unknown = frame["occupation"].null_count()
    if not unknown or not choice.ratings:
        return ()
    return (LeftOut(f"Ratings of {unknown:,} pictures", "Their occupation, which the prompts name, is not known."),)


def _in_words(group: str) -> str:
    """A group as a sentence names it: "Black man", "old Asian person"."""
    *before, last = group.split(" ")
    return " ".join([*before, _PEOPLE.get(last, f"{last} person")])
