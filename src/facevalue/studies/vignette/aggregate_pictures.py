"""From sums per picture pair and question to the sums per picture that the measures are about."""

from collections.abc import Sequence

import polars as pl

from facevalue.measures import selection
from facevalue.measures.selection import MOMENTS, SUMS

BLOCK = ("gender", "dimension", "contrast")
STIMULUS = (
    *BLOCK,
    "identity",
    "identity_1",
    "identity_2",
    "activity",
    "activity_1",
    "activity_2",
    "pair_of_pictures",
    "image_1",
    "image_2",
    "person",
)
"""Columns that tell picture pairs apart."""
ASKED = ("paradigm", "question")
SUMMED = ("decision", "factuality")
"""Paradigms whose questions are taken together, too: they all ask for the same thing."""
CONTROL = "irrelevant"
"""How questions begin that are a control and stay apart."""
OUTCOMES = ("swapped", "both", "none")
"""Wrong answers to "Who is doing ...?"; the last two may be given to other questions, too."""
NUMBERS = ("n", "s", "t", "both", "asked")
"""Sums over a pair's answers: how many are valid, and how many of these chose option 1, option 2, and both."""
SIDED = ("n", "s", "t", "asked")
"""Sums over a picture's answers: t is what chose the other one."""
_MARGIN = (*BLOCK, *ASKED)
KEYS: dict[str, tuple[str, ...]] = {
    "selected": (*_MARGIN, "identity", "activity", "unit"),
    "own": (*_MARGIN, "identity", "unit"),
    "pairs": (*_MARGIN, "identity", "other_identity", "crossed"),
    "preferred_pairs": (*_MARGIN, "identity", "other_identity", "crossed"),
    "neither": (*_MARGIN, "outcome", "unit"),
    "neither_pairs": (*_MARGIN, "outcome", "pair"),
    "wrong": (*_MARGIN, "outcome", "identity", "activity", "unit"),
    "missing": (*BLOCK, "paradigm", "identity", "unit"),
}
"""What names a row of each table."""
ADDED: dict[str, tuple[str, ...]] = {
    **{name: MOMENTS if name.endswith("pairs") else SUMS for name in KEYS},
    **dict.fromkeys(("selected", "own"), SIDED),
}
"""What each table adds up."""
_FLAGS = ("crossed", "pair")
Parts = list[tuple[str, pl.DataFrame]]


def own_activity(side: int) -> pl.Expr:
    """What the person on one side does; null in portraits."""
    return pl.coalesce(pl.col("activity").cast(pl.String), pl.col(f"activity_{side}").cast(pl.String))


def unit(side: int) -> pl.Expr:
    """What was sampled on one side of a pair, within gender and identity: the person, else the picture.

    A person who stands in several pictures (of several activities, as several identities) is one. Where pictures have
    no names there is one of each identity and activity.
    """
    named = (pl.col("person"), pl.col(f"image_{side}"))
    return pl.coalesce(*(name.cast(pl.String) for name in named), own_activity(side), pl.lit("portrait")).alias("unit")


def crossed() -> pl.Expr:
    """Whether a picture may stand beside several pictures of one other identity.

    Not where each activity has one picture of everybody and pairs are made within it; nor where they are of one person.
    """
    several = pl.col("image_1").is_not_null() | (pl.col("contrast").cast(pl.String) == "identity-activity")
    return (pl.col("person").is_null() & several).alias("crossed")


def balanced(rows: pl.DataFrame) -> pl.DataFrame:
    """The same answers, "both" and "none" counting half for each of the two: s + t = n, and s - t is what it was."""
    n, s, t = pl.col("n"), pl.col("s"), pl.col("t")
    return rows.with_columns(s=(n + s - t) / 2, t=(n - s + t) / 2)


def reduced(sums: pl.DataFrame, four: bool = False) -> Parts:
    """What these pairs add to all tables, by the table's name.

    Parameters
    ----------
    sums:
        A row per pair, question and person asked about: `STIMULUS`, `ASKED`, `about`, `NUMBERS` and, where "who" is
        asked, `OUTCOMES`. All rows of a pair must be there.
    four:
        Whether questions about two people offer both and none, too.
    """
    contrast, paradigm = pl.col("contrast").cast(pl.String), pl.col("paradigm").cast(pl.String)
    one_person, two = sums.filter(contrast == "activity"), sums.filter(contrast != "activity")
    choices, facts = two.filter(paradigm != "factuality"), two.filter(paradigm == "factuality")
    out: Parts = _missing(sums) if sums.height else []
    if one_person.height:
        sampled = pl.coalesce(pl.col("person").cast(pl.String), pl.col("identity").cast(pl.String)).alias("unit")
        sides = [one_person.with_columns(*_of(k, "activity"), sampled) for k in (1, 2)]
        out += [("selected", _summed(side, KEYS["selected"], SIDED)) for side in sides]
    if choices.height:
        out += _choices(_over_questions(choices), four)
    if facts.height:
        out += _facts(facts)
    return out


def together(parts: Sequence[pl.DataFrame], name: str) -> pl.DataFrame:
    """One table from its parts; labels as text, since they come from columns with other levels."""
    keys, numbers = KEYS[name], ADDED[name]
    types = {key: pl.Boolean() if key in _FLAGS else pl.String() for key in keys}
    if not parts:
        return pl.DataFrame(schema={**types, **dict.fromkeys(numbers, pl.Float64())})
    labelled = [
        part.select(*(pl.col(key).cast(dtype) for key, dtype in types.items()), pl.col(numbers).cast(pl.Float64))
        for part in parts
    ]
    return selection.add(pl.concat(labelled), keys, numbers)


def _over_questions(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows and, with question null, their sums over the questions of a paradigm whose questions go together."""
    paradigm, question = (pl.col(name).cast(pl.String) for name in ASKED)
    alike = rows.filter(paradigm.is_in(SUMMED) & ~question.str.starts_with(CONTROL))
    summed = _summed(alike, (*STIMULUS, "paradigm", "about"), NUMBERS)
    summed = summed.with_columns(pl.lit(None, rows["question"].dtype).alias("question"))
    names = (*STIMULUS, *ASKED, "about", *NUMBERS)
    return pl.concat([rows.select(names), summed.select(names)])


def _summed(rows: pl.DataFrame, names: Sequence[str], numbers: Sequence[str] = SUMS) -> pl.DataFrame:
    return selection.add(rows, names, numbers)


def _asked_about(one: pl.Expr, other: pl.Expr) -> pl.Expr:
    """What belongs to the person that was asked about."""
    return pl.when(pl.col("about").cast(pl.String) == "2").then(other).otherwise(one)


def _asked_activity() -> pl.Expr:
    asked = _asked_about(pl.col("activity_1"), pl.col("activity_2"))
    return pl.coalesce(pl.col("activity"), asked).alias("activity")


def _of(side: int, *names: str) -> list[pl.Expr]:
    """The labels of one side, and what chose it (s) or the other one (t)."""
    chosen, other = ("s", "t") if side == 1 else ("t", "s")
    return [
        pl.col(chosen).alias("s"),
        pl.col(other).alias("t"),
        *(pl.col(f"{name}_{side}").alias(name) for name in names),
    ]


def _choices(rows: pl.DataFrame, four: bool) -> Parts:
    out: Parts = []
    apart = pl.col("contrast").cast(pl.String) == "identity-activity"
    asked = rows.with_columns(_asked_activity(), unit(1).alias("unit_1"), unit(2).alias("unit_2"))
    for side in (1, 2):
        sided = asked.with_columns(*_of(side, "identity", "unit"))
        out.append(("own", _summed(sided.filter(apart), KEYS["own"], SIDED)))
        out.append(
            ("selected", _summed(sided.with_columns(unit=pl.when(~apart).then("unit")), KEYS["selected"], SIDED))
        )
    whole = _summed(rows, (*STIMULUS, *ASKED), NUMBERS) if rows["about"].drop_nulls().len() else rows
    out += _couples(whole, "pairs")
    out += _couples(balanced(whole), "preferred_pairs") if four else [("preferred_pairs", part) for _, part in out[-2:]]
    return [*out, *_neither(whole)] if four else out


def _couples(whole: pl.DataFrame, name: str) -> Parts:
    """Moments of pairs for either of the two identities."""
    keys = [key for key in KEYS[name] if key not in ("identity", "other_identity")]
    named = whole.drop("identity").with_columns(crossed())
    out: Parts = []
    for side, other, chosen in ((1, 2, "s"), (2, 1, "t")):
        moments = selection.moments(named.with_columns(s=chosen), [*keys, "identity_1", "identity_2"])
        moments = moments.rename({f"identity_{side}": "identity", f"identity_{other}": "other_identity"})
        out.append((name, moments.select(*KEYS[name], *MOMENTS)))
    return out


def _neither(whole: pl.DataFrame) -> Parts:
    """Answers that name both or none, with either picture, and with a person once."""
    out: Parts = []
    none = (pl.col("n") - pl.col("s") - pl.col("t") - pl.col("both")).clip(lower_bound=0)
    two = pl.col("person").is_null().alias("pair")
    for outcome, count in (("both", pl.col("both")), ("none", none)):
        named = whole.with_columns(count.alias("s"), pl.lit(outcome).alias("outcome"), two)
        for side in (1, 2):
            who = pl.col(f"identity_{side}").cast(pl.String)
            picture = pl.when("pair").then(pl.concat_str(who, unit(side), separator="|")).otherwise(unit(side))
            part = named if side == 1 else named.filter("pair")
            out.append(("neither", _summed(part.with_columns(picture.alias("unit")), KEYS["neither"])))
        out.append(("neither_pairs", selection.moments(named, KEYS["neither_pairs"])))
    return out


def _missing(rows: pl.DataFrame) -> Parts:
    """Replies without an answer as a share of all: `n` is what was asked, `s` what is missing.

    A reply stands with both pictures. Where both are of one identity, or all identities are taken together, it counts
    half with each.
    """
    pair = (*STIMULUS, "paradigm")
    replies = _summed(rows, pair).with_columns(n=pl.col("asked"), s=pl.col("asked") - pl.col("n"))
    twice = pl.col("contrast").cast(pl.String) == "activity"
    out: Parts = []
    for side in (1, 2):
        who = pl.coalesce(pl.col("identity").cast(pl.String), pl.col(f"identity_{side}").cast(pl.String))
        sided = replies.with_columns(unit(side), who.alias("identity"))
        half = [pl.col(name) / 2 for name in SUMS]
        shown = sided.with_columns(pl.when(twice).then(pl.col(x) / 2).otherwise(pl.col(x)).alias(x) for x in SUMS)
        everyone = sided.with_columns(*half, pl.lit(None, pl.String).alias("identity"))
        out += [("missing", _summed(part, KEYS["missing"])) for part in (shown, everyone)]
    return out


def _facts(rows: pl.DataFrame) -> Parts:
    out: Parts = [("selected", _summed(_named(_over_questions(rows)), KEYS["selected"], SIDED))]
    who = rows.filter(pl.col("question").cast(pl.String) == "who")
    for outcome in OUTCOMES if who.height else ():
        wrong = _named(who).with_columns(pl.col(outcome).alias("s"), pl.lit(outcome).alias("outcome"))
        out.append(("wrong", _summed(wrong, KEYS["wrong"])))
    return out


def _named(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows with identity, activity and picture of the person that was asked about."""
    sampled = _asked_about(unit(1), unit(2)).alias("unit")
    identity = _asked_about(pl.col("identity_1"), pl.col("identity_2")).alias("identity")
    return rows.with_columns(sampled, identity, _asked_activity())
