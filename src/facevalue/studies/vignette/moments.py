"""From sums per picture pair and question to the moments of the cells that the measures are about."""

from collections.abc import Mapping, Sequence

import polars as pl

from facevalue.measures import selection
from facevalue.measures.selection import MOMENTS

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
_MARGIN = (*BLOCK, *ASKED)
KEYS: dict[str, tuple[str, ...]] = {
    "selected": (*_MARGIN, "identity", "activity"),
    "pairs": (*_MARGIN, "identity", "other_identity"),
    "preferred": (*_MARGIN, "identity", "activity"),
    "preferred_pairs": (*_MARGIN, "identity", "other_identity"),
    "neither": (*_MARGIN, "outcome"),
    "facts": (*_MARGIN, "activity"),
    "facts_whole": _MARGIN,
    "wrong": (*_MARGIN, "outcome", "identity", "activity"),
    "wrong_whole": (*_MARGIN, "outcome"),
    "missing": (*BLOCK, "paradigm", "identity"),
}
"""What names a cell of each table."""
Parts = list[tuple[str, pl.DataFrame]]


def reduced(sums: pl.DataFrame, four: bool = False) -> Parts:
    """Moments of all tables that these pairs add to, by the table's name.

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
        names = {"activity": "activity_1"}, {"activity": "activity_2"}
        out.append(("selected", _sides(one_person, KEYS["selected"], *names)))
    if choices.height:
        out += _choices(_over_questions(choices), four)
    if facts.height:
        out += _facts(facts)
    return out


def together(parts: Sequence[pl.DataFrame], name: str) -> pl.DataFrame:
    """One table from its parts; labels as text, since they come from columns with other levels."""
    keys = KEYS[name]
    if not parts:
        return pl.DataFrame(schema={**dict.fromkeys(keys, pl.String()), **dict.fromkeys(MOMENTS, pl.Float64())})
    labelled = [part.select(pl.col(keys).cast(pl.String), pl.col(MOMENTS).cast(pl.Float64)) for part in parts]
    return selection.add(pl.concat(labelled), keys)


def _over_questions(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows and, with question null, their sums over the questions of a paradigm whose questions go together."""
    paradigm, question = (pl.col(name).cast(pl.String) for name in ASKED)
    alike = rows.filter(paradigm.is_in(SUMMED) & ~question.str.starts_with(CONTROL))
    summed = _added(alike, *STIMULUS, "paradigm", "about")
    summed = summed.with_columns(pl.lit(None, rows["question"].dtype).alias("question"))
    names = (*STIMULUS, *ASKED, "about", *NUMBERS)
    return pl.concat([rows.select(names), summed.select(names)])


def _of(name: str) -> pl.Expr:
    """The identity or activity of the person that was asked about."""
    return pl.when(pl.col("about").cast(pl.String) == "2").then(pl.col(f"{name}_2")).otherwise(pl.col(f"{name}_1"))


def _asked_activity() -> pl.Expr:
    return pl.coalesce(pl.col("activity"), _of("activity")).alias("activity")


def _added(rows: pl.DataFrame, *names: str) -> pl.DataFrame:
    return rows.group_by(names, maintain_order=True).agg(pl.col(NUMBERS).sum())


def balanced(rows: pl.DataFrame) -> pl.DataFrame:
    """The same answers, "both" and "none" counting half for each of the two: s + t = n, and s - t is what it was."""
    n, s, t = pl.col("n"), pl.col("s"), pl.col("t")
    return rows.with_columns(s=(n + s - t) / 2, t=(n - s + t) / 2)


def _sides(
    rows: pl.DataFrame, keys: Sequence[str], first: Mapping[str, str], second: Mapping[str, str]
) -> pl.DataFrame:
    """Moments of option 1 and of option 2; both maps say which column each label is taken from."""
    out = []
    for names, chosen in ((first, "s"), (second, "t")):
        columns = [names.get(key, key) for key in keys]
        part = selection.moments(rows.with_columns(pl.col(chosen).alias("s")), columns)
        out.append(part.rename({names[key]: key for key in names}).select(*keys, *MOMENTS))
    return pl.concat(out)


def _choices(rows: pl.DataFrame, four: bool) -> Parts:
    one = {"identity": "identity_1", "other_identity": "identity_2"}
    two = {"identity": "identity_2", "other_identity": "identity_1"}

    def sides(part: pl.DataFrame, names: tuple[str, str]) -> Parts:
        asked = part.with_columns(_asked_activity())
        of_each = _sides(asked, KEYS[names[0]], {"identity": "identity_1"}, {"identity": "identity_2"})
        return [(names[0], of_each), (names[1], _sides(_whole(part), KEYS[names[1]], one, two))]

    out = sides(rows, ("selected", "pairs"))
    if not four:  # the same numbers
        return [*out, ("preferred", out[0][1]), ("preferred_pairs", out[1][1])]
    out += sides(balanced(rows), ("preferred", "preferred_pairs"))
    none = pl.col("n") - pl.col("s") - pl.col("t") - pl.col("both")
    for outcome, count in (("both", pl.col("both")), ("none", none.clip(lower_bound=0))):
        named = _whole(rows).with_columns(count.alias("s"), pl.lit(outcome).alias("outcome"))
        out.append(("neither", selection.moments(named, KEYS["neither"])))
    return out


def _whole(rows: pl.DataFrame) -> pl.DataFrame:
    """One row per pair and question, whichever person it asked about."""
    return _added(rows, *STIMULUS, *ASKED) if rows["about"].drop_nulls().len() else rows


def _missing(rows: pl.DataFrame) -> Parts:
    """Replies without an answer as a share of all: `n` is what was asked, `s` what is missing."""
    pair = (*STIMULUS, "paradigm")
    replies = _added(rows, *pair).with_columns(n=pl.col("asked"), s=pl.col("asked") - pl.col("n"))
    shown = [replies.with_columns(pl.lit(None, replies["identity"].dtype).alias("identity"))]
    for name in ("identity", "identity_1", "identity_2"):
        shown.append(replies.filter(pl.col(name).is_not_null()).with_columns(pl.col(name).alias("identity")))
    return [("missing", selection.moments(part, KEYS["missing"])) for part in shown if part.height]


def _facts(rows: pl.DataFrame) -> Parts:
    every = _over_questions(rows)
    named = every.with_columns(_of("identity").alias("identity"), _asked_activity())
    shown = every.with_columns(_asked_activity().alias("_activity"))
    by_activity = _added(shown, *STIMULUS, *ASKED, "_activity").drop("activity").rename({"_activity": "activity"})
    out = [
        ("selected", selection.moments(named, KEYS["selected"])),
        ("facts", selection.moments(by_activity, KEYS["facts"])),
        ("facts_whole", selection.moments(_added(every, *STIMULUS, *ASKED), KEYS["facts_whole"])),
    ]
    who = rows.filter(pl.col("question").cast(pl.String) == "who")
    for outcome in OUTCOMES if who.height else ():
        wrong = who.with_columns(pl.col(outcome).alias("s"), pl.lit(outcome).alias("outcome"))
        named = wrong.with_columns(_of("identity").alias("identity"), _asked_activity())
        out.append(("wrong", selection.moments(named, KEYS["wrong"])))
        whole = _added(wrong, *STIMULUS, *ASKED, "outcome")
        out.append(("wrong_whole", selection.moments(whole, KEYS["wrong_whole"])))
    return out
