"""Answers reduced to what the measures need, chunk by chunk, in bounded memory."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import polars as pl

from facevalue.errors import DataError
from facevalue.measures.estimators import SumTable
from facevalue.measures.pairs import MOMENT_COLUMNS, SHARE_SUMS, add_sums, balance_choices, pair_sides, sum_moments
from facevalue.measures.proportions import groups, level_codes

BLOCK = ("gender", "dimension", "contrast")
STIMULUS = (
    *BLOCK,
    *("identity", "identity_1", "identity_2", "activity", "activity_1", "activity_2"),
    *("pair_of_pictures", "image_1", "image_2", "person"),
)
"""Columns that tell picture pairs apart."""
SHOWN_AS = (*STIMULUS, "shown")
"""Columns that tell stimuli apart: pairs, and whether their picture is shown."""
ASKED = ("paradigm", "question")
SUMMED = ("decision", "factuality")
"""Paradigms whose questions are taken together, too: they all ask for the same thing."""
CONTROL = "irrelevant"
"""Prefix of questions that are a control and stay apart."""
OUTCOMES = ("swapped", "both", "none")
"""Wrong answers to "Who is doing ...?"; the last two may be given to other questions, too."""
NUMBERS = ("n", "s", "t", "both", "requests")
"""Sums over a pair's answers: how many are valid, and how many of these chose option 1, option 2, and both."""
SIDED = ("n", "s", "t", "requests")
"""Sums over a picture's answers: t is what chose the other one."""
VARIANT = {"shown": "picture", "reference": None, "wording": "1"}
"""Columns of variants, and the level that the measures are taken on; None is the first there is."""
_MARGIN = (*BLOCK, *ASKED)
_KEYS: dict[str, tuple[str, ...]] = {
    "selected": (*_MARGIN, "identity", "activity", "unit"),
    "own": (*_MARGIN, "identity", "unit"),
    "beside": (*_MARGIN, "identity", "other_identity", "unit"),
    "pairs": (*_MARGIN, "identity", "other_identity", "crossed"),
    "released": (*_MARGIN, "identity", "unit"),
    "released_pairs": (*_MARGIN, "identity", "other_identity", "crossed"),
    "preferred_pairs": (*_MARGIN, "identity", "other_identity", "crossed"),
    "neither": (*_MARGIN, "outcome", "unit"),
    "neither_pairs": (*_MARGIN, "outcome", "pair"),
    "wrong": (*_MARGIN, "outcome", "identity", "activity", "unit"),
    "missing": (*BLOCK, "paradigm", "identity", "unit"),
}  # what names a row of each table
_ADDED: dict[str, tuple[str, ...]] = {
    **{name: MOMENT_COLUMNS if name.endswith("pairs") else SHARE_SUMS for name in _KEYS},
    **dict.fromkeys(("selected", "own"), SIDED),
}
_TERMS = (*ASKED, "trait", "pair", "valence")
_ROW = (*STIMULUS, *ASKED, "about")
_ALL = (*NUMBERS, *(name for name in OUTCOMES if name not in NUMBERS))


@dataclass(frozen=True)
class Tables:
    """One model's answers, reduced.

    All but the first hold sums (`pairs.SHARE_SUMS`) by what was sampled (`stratum`: gender; `unit`: a picture or
    person, see `unit`), or moments of pairs. In them, `question` null is over all questions of the paradigm; decision
    and factuality alone have such rows.
    """

    terms: pl.DataFrame
    """Of each question: paradigm, question, trait, pair, valence; null where it has none."""
    selected: pl.DataFrame
    """gender, dimension, contrast, paradigm, question, identity, activity: the identity was chosen, or the answer about
    it was right. In the contrast activity: the activity was chosen; its units are people. Activity is the one that was
    asked about. No unit where that is not what the picture shows: see `own`."""
    own: pl.DataFrame
    """The same of pairs with two activities, over all activities, by the identity's own picture."""
    beside: pl.DataFrame
    """The same of pairs in one activity, by the identity beside it, over all activities: each question of perception,
    and decisions over all questions."""
    released: pl.DataFrame
    released_pairs: pl.DataFrame
    """Sums as the authors' code takes them, as `selected` and `pairs` are: decisions over all prompts, those with a
    role of another kind of time among them; and in factuality each answer for both people of its pair."""
    pairs: pl.DataFrame
    """Moments of pairs: gender, dimension, contrast, paradigm, question, identity, other_identity, over all activities;
    `crossed` if pictures may stand beside several of one identity."""
    preferred_pairs: pl.DataFrame
    """The same, an answer "both" or "none" counting half for each of the two (`balance_choices`). All that compares
    the two with each other rests on such answers."""
    neither: pl.DataFrame
    neither_pairs: pl.DataFrame
    """gender, dimension, contrast, paradigm, question, outcome ("both", "none"): choices between people that name
    neither of them alone, by either picture; and their pairs."""
    wrong: pl.DataFrame
    """gender, dimension, contrast, paradigm, question ("who"), outcome, identity, activity."""
    missing: pl.DataFrame
    """gender, dimension, contrast, paradigm, identity (shown; null: all): replies (n) without a valid answer (s)."""


class RoleAnswers:
    """Adds up one model's answers: give it chunks of whole pairs.

    Memory does not grow with repeats or with the pairs: they are reduced at once to sums per picture and identity.
    """

    def __init__(self) -> None:
        self._main = Main()
        self._terms = pl.DataFrame(schema=dict.fromkeys(_TERMS, pl.String()))
        self._four = False
        self._sums = {name: SumTable(keys, _ADDED[name]) for name, keys in _KEYS.items()}

    def add(self, chunk: pl.DataFrame) -> None:
        """Take in a chunk of whole pairs."""
        for name in ("weight", "mass", *ASKED, *BLOCK):
            if name not in chunk.columns:
                raise DataError(f"These are not answers of VIGNETTE: the column {name!r} is missing.")
        self._four = self._four or offers_four(chunk)
        main = self._main(chunk)
        rows = label_answers(main)
        self._terms = pl.concat([self._terms, rows.select(_TERMS).unique().cast(pl.String)]).unique()
        prompts = groups(*(level_codes(main[name]) for name in ("cluster", *ASKED, "about") if name in main.columns))[1]
        sums = rows.select(*_ROW, *_ALL) if prompts.size == rows.height else add_sums(rows, _ROW, _ALL)
        for name, counted in _reduce_pairs(sums):
            self._sums[name].add(counted)

    def tables(self) -> Tables:
        """Everything that came in. Nothing may be added afterwards."""
        sums = {name: self._sums.pop(name).frame() for name in _KEYS}
        sums |= {} if self._four else dict.fromkeys(("neither", "neither_pairs"), pl.DataFrame())
        reduced = {name: _complete(frame, name) for name, frame in sums.items()}
        return Tables(self._terms.sort(_TERMS), **reduced)


def core_variant(chunk: pl.DataFrame) -> dict[str, str]:
    """The variant that the measures are taken on: the paper's wording, the first way to refer, pictures if shown.

    Levels are those of a column's Enum or, if it is none, those that occur.
    """
    out: dict[str, str] = {}
    for name, first in VARIANT.items():
        if name not in chunk.columns:
            continue
        dtype = chunk[name].dtype
        present = chunk[name].drop_nulls().unique(maintain_order=True).to_list()
        levels = dtype.categories.to_list() if isinstance(dtype, pl.Enum) else present
        if levels:
            out[name] = first if first is not None and first in levels else levels[0]
    return out


class Main:
    """Keeps of each variant (without picture, positional, paraphrased) the level that the measures are taken on."""

    def __init__(self) -> None:
        self._level: dict[str, str] = {}

    def __call__(self, chunk: pl.DataFrame, columns: Sequence[str] = tuple(VARIANT)) -> pl.DataFrame:
        """The rows of these levels; rows of blocks that don't have the variant stay."""
        columns = [name for name in columns if name in chunk.columns]
        self._level |= core_variant(chunk.select(name for name in columns if name not in self._level))
        for name in columns:
            if name in self._level:
                chunk = chunk.filter(pl.col(name).is_null() | (pl.col(name).cast(pl.String) == self._level[name]))
        return chunk


def offers_four(chunk: pl.DataFrame) -> bool:
    """Return whether questions about two people offered both and none, too: one answer tells how much each got."""
    if "both" not in chunk.columns:
        return False
    choice = pl.col("paradigm").cast(pl.String) != "factuality"
    return bool(chunk.select((choice & pl.col("both").is_not_null()).any()).item())


def add_weights(chunk: pl.DataFrame) -> pl.DataFrame:
    """The rows with `n`, the mass of a valid answer, and how much of it chose what: `s`, `t` and the outcomes."""
    mass = pl.when(pl.col("weight").is_not_null()).then(pl.col("mass").cast(pl.Float64)).fill_null(0.0)
    if "other" not in chunk.columns:  # of answers between two options: what option 1 did not get
        two = pl.col("paradigm").cast(pl.String) != "factuality"
        chunk = chunk.with_columns(pl.when(two).then(1 - pl.col("weight")).alias("other"))
    shares = {"s": "weight", "t": "other", **{name: name for name in OUTCOMES if name in chunk.columns}}
    chosen = {name: (pl.col(of).cast(pl.Float64) * mass).fill_null(0.0) for name, of in shares.items()}
    absent = {name: pl.lit(0.0) for name in OUTCOMES if name not in chunk.columns}
    return chunk.with_columns(n=mass, requests=pl.lit(1.0), **chosen, **absent)


def label_answers(main: pl.DataFrame) -> pl.DataFrame:
    """Answers with what tells pairs and questions apart, and how much of each chose what (`add_weights`)."""
    return add_weights(main.with_columns(_labels(main))).select(*dict.fromkeys([*_ROW, *_TERMS]), *_ALL)


def sum_questions(main: pl.DataFrame) -> pl.DataFrame:
    """Sums of `NUMBERS` by pair and question."""
    return add_sums(label_answers(main), (*STIMULUS, *ASKED), NUMBERS)


def complete(frame: pl.DataFrame) -> pl.DataFrame:
    """The rows with all columns of `STIMULUS`, null where there are none."""
    return frame.with_columns(pl.lit(None, pl.String).alias(name) for name in STIMULUS if name not in frame.columns)


def _labels(chunk: pl.DataFrame) -> list[pl.Expr]:
    """All label columns; those of identities share their levels, so that they can be told apart from one another."""
    out = []
    alone = [(name,) for name in dict.fromkeys((*BLOCK, *_TERMS, "about", *STIMULUS[-4:]))]
    for names in (*alone, ("identity", "identity_1", "identity_2"), ("activity", "activity_1", "activity_2")):
        dtypes = [chunk.schema[name] for name in names if name in chunk.columns]
        levels = [level for dtype in dtypes if isinstance(dtype, pl.Enum) for level in dtype.categories]
        are_enums = dtypes and all(isinstance(dtype, pl.Enum) for dtype in dtypes)
        shared: pl.DataType = pl.Enum(list(dict.fromkeys(levels))) if are_enums else pl.String()
        present = {name: pl.col(name) if name in chunk.columns else pl.lit(None) for name in names}
        out += [column.cast(shared).alias(name) for name, column in present.items()]
    return out


def own_activity(side: int) -> pl.Expr:
    """Activity of the person on one side; null in portraits."""
    return pl.coalesce(pl.col("activity").cast(pl.String), pl.col(f"activity_{side}").cast(pl.String))


def unit(side: int) -> pl.Expr:
    """Unit sampled on one side of a pair, within gender and identity: the person, else the picture.

    A person who stands in several pictures (of several activities, as several identities) is one. Where pictures have
    no names there is one of each identity and activity.
    """
    columns = (pl.col("person"), pl.col(f"image_{side}"))
    return pl.coalesce(*(name.cast(pl.String) for name in columns), own_activity(side), pl.lit("portrait")).alias(
        "unit"
    )


def person_shown(side: int) -> pl.Expr:
    """Unit sampled on one side, in all identities of a gender at once: the person, or an identity's picture."""
    name = pl.coalesce(f"identity_{side}", "identity").cast(pl.String)
    picture = pl.concat_str(name, unit(side), separator="|")
    return pl.when(pl.col("person").is_null()).then(picture).otherwise(unit(side)).alias(f"unit_{side}")


def sampled_unit(side: int) -> pl.Expr:
    """Unit sampled on one side, in all identities at once: pictures of one person, or of one scene."""
    same = pl.col("contrast").cast(pl.String) == "activity"
    person = pl.coalesce(pl.col("person").cast(pl.String), pl.col("identity").cast(pl.String))
    return pl.concat_str(
        pl.col("gender").cast(pl.String), pl.when(same).then(person).otherwise(unit(side)), separator=" "
    )


def view_both_sides(pairs: pl.DataFrame, of: str = "identity") -> Iterator[pl.DataFrame]:
    """The pairs from either side: whose it is and whose the other (`of`, `other_` and its name), `unit`, `stratum`.

    s is what chose this side, t what chose the other.
    """
    for side, opposite, chosen, left in ((1, 2, "s", "t"), (2, 1, "t", "s")):
        names = {of: side, f"other_{of}": opposite}
        levels = {name: pl.coalesce(f"{of}_{number}", of) for name, number in names.items()}
        yield pairs.with_columns(unit(side), **levels, stratum="gender", s=chosen, t=left)


def _reduce_pairs(sums: pl.DataFrame) -> Iterator[tuple[str, pl.DataFrame]]:
    """Contributions of these pairs to all tables, by the table's name: all rows of a pair must be there."""
    contrast, paradigm = pl.col("contrast").cast(pl.String), pl.col("paradigm").cast(pl.String)
    one_person, two = sums.filter(contrast == "activity"), sums.filter(contrast != "activity")
    choices, facts = two.filter(paradigm != "factuality"), two.filter(paradigm == "factuality")
    if sums.height:
        yield "missing", _missing(sums)
    if one_person.height:
        person = pl.coalesce(pl.col("person").cast(pl.String), pl.col("identity").cast(pl.String))
        yield from (("selected", side.with_columns(unit=person)) for side in view_both_sides(one_person, "activity"))
    decisions = choices.filter(paradigm == "decision")
    if choices.height:
        yield from _choices(_over_questions(choices))
    if decisions.height:
        totals = _pair_totals(decisions)
        yield from (("released", side) for side in view_both_sides(totals))
        yield "released_pairs", _couples(totals)
    if facts.height:
        totals = _pair_totals(facts)
        yield from (("released", side) for side in view_both_sides(totals.with_columns(t="s")))
        yield "released_pairs", _couples(totals.with_columns(t="s"))
        yield "selected", asked_about(_over_questions(facts))
        of_who = asked_about(facts.filter(pl.col("question").cast(pl.String) == "who"))
        for name in OUTCOMES if of_who.height else ():
            yield "wrong", of_who.with_columns(pl.col(name).alias("s"), pl.lit(name).alias("outcome"))


def _complete(sums: pl.DataFrame, name: str) -> pl.DataFrame:
    """One table of sums with its stratum, and with its columns where nothing came in."""
    types = {key: pl.Boolean() if key in ("crossed", "pair") else pl.String() for key in _KEYS[name]}
    schema = {**types, **dict.fromkeys(_ADDED[name], pl.Float64())}
    return (sums if sums.width else pl.DataFrame(schema=schema)).with_columns(stratum="gender")


def _over_questions(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows and, with question null, their sums over the questions of a paradigm whose questions go together."""
    paradigm, question = (pl.col(name).cast(pl.String) for name in ASKED)
    alike = rows.filter(paradigm.is_in(SUMMED) & ~question.str.starts_with(CONTROL))
    summed = add_sums(alike, (*STIMULUS, "paradigm", "about"), NUMBERS)
    summed = summed.with_columns(pl.lit(None, rows["question"].dtype).alias("question"))
    names = (*_ROW, *NUMBERS)
    return pl.concat([rows.select(names), summed.select(names)])


def _pair_totals(rows: pl.DataFrame) -> pl.DataFrame:
    """Sums of each pair over all that was asked of it in a paradigm."""
    nothing = pl.lit(None, rows["question"].dtype).alias("question")
    return add_sums(rows, (*STIMULUS, "paradigm"), NUMBERS).with_columns(nothing)


def asked_about(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows with identity, activity and picture of the person that was asked about."""
    second = pl.col("about").cast(pl.String) == "2"
    person = pl.when(second).then(unit(2)).otherwise(unit(1)).alias("unit")
    identity = pl.when(second).then("identity_2").otherwise("identity_1").alias("identity")
    return rows.with_columns(person, identity, _asked_activity(), stratum="gender")


def _asked_activity() -> pl.Expr:
    second = pl.col("about").cast(pl.String) == "2"
    return pl.coalesce("activity", pl.when(second).then("activity_2").otherwise("activity_1")).alias("activity")


def _choices(rows: pl.DataFrame) -> Iterator[tuple[str, pl.DataFrame]]:
    contrast, paradigm = pl.col("contrast").cast(pl.String), pl.col("paradigm").cast(pl.String)
    apart = contrast == "identity-activity"
    together = (paradigm == "perception") | ((paradigm == "decision") & pl.col("question").is_null())
    for side in view_both_sides(rows):
        yield "own", side.filter(apart)
        yield "beside", side.filter((contrast == "identity") & together)
        yield "selected", side.with_columns(_asked_activity(), unit=pl.when(~apart).then("unit"))
    sums = add_sums(rows, (*STIMULUS, *ASKED), NUMBERS) if rows["about"].drop_nulls().len() else rows
    yield "pairs", _couples(sums)
    yield "preferred_pairs", _couples(balance_choices(sums))
    yield from _neither(sums)


def _couples(sums: pl.DataFrame) -> pl.DataFrame:
    """Moments of pairs for either of the two identities.

    `crossed` is not where each activity has one picture of everybody and pairs are made within it, nor where they are
    of one person: no picture stands beside several of one other identity.
    """
    several = pl.col("image_1").is_not_null() | (pl.col("contrast").cast(pl.String) == "identity-activity")
    crossed = sums.with_columns(crossed=pl.col("person").is_null() & several)
    return pl.concat(
        sum_moments(side, [*_MARGIN, "crossed", "identity", "other_identity"]) for side in view_both_sides(crossed)
    )


def _neither(sums: pl.DataFrame) -> Iterator[tuple[str, pl.DataFrame]]:
    """Answers that name both or none, with either picture, and with a person once."""
    none = (pl.col("n") - pl.col("s") - pl.col("t") - pl.col("both")).clip(lower_bound=0)
    with_units = sums.with_columns(person_shown(1), person_shown(2), pair=pl.col("person").is_null())
    for outcome, count in (("both", pl.col("both")), ("none", none)):
        counted = with_units.with_columns(count.alias("s"), pl.lit(outcome).alias("outcome"))
        yield from zip(("neither", "neither_pairs"), pair_sides(counted, (*_MARGIN, "outcome"), ("unit",)), strict=True)


def _missing(rows: pl.DataFrame) -> pl.DataFrame:
    """Replies without an answer as a share of all: `n` is what was asked, `s` what is missing.

    A reply stands with both pictures. Where both are of one identity, or all identities are taken together, it counts
    half with each.
    """
    missing = pl.col("requests") - pl.col("n")
    counted = rows.with_columns(n="requests", s=missing, t=missing)
    replies = pl.concat(add_sums(side, (*BLOCK, "paradigm", "identity", "unit")) for side in view_both_sides(counted))
    halves = replies.with_columns(pl.col(SHARE_SUMS) / 2)
    twice = pl.col("contrast").cast(pl.String) == "activity"
    everyone = halves.with_columns(identity=pl.lit(None, replies.schema["identity"]))
    return pl.concat([replies.filter(~twice), halves.filter(twice), everyone])


def whole_stimuli(chunks: Iterable[pl.DataFrame], columns: Sequence[str]) -> Iterator[pl.DataFrame]:
    """Cut a stream of answers between stimuli, so that all answers about one stimulus are in one chunk.

    `chunks`: answers in trial order, in which all answers about a stimulus are neighbours. `columns`: what tells
    stimuli apart, as far as the answers have it.

    Yields the same rows in the same order, with `cluster`: the number of the stimulus within its chunk.
    """
    held: pl.DataFrame | None = None
    for chunk in chunks:
        frame = chunk if held is None else pl.concat([held, chunk])
        if not frame.height:
            continue
        marks = pl.struct(name for name in columns if name in frame.columns)
        frame = frame.with_columns(marks.rle_id().alias("cluster"))
        last = frame["cluster"][-1]
        held = frame.filter(pl.col("cluster") == last).drop("cluster")
        if last > 0:
            yield frame[: -held.height]
    if held is not None:
        yield held.with_columns(pl.lit(0, pl.UInt32).alias("cluster"))
