"""Analysis: every measure of VIGNETTE, in one pass over the answers of each model."""

from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from typing import Any

import numpy as np
import polars as pl
from scipy import special

from facevalue.measures.cluster_bootstrap import LEVEL, Array, values_only
from facevalue.measures.definitions import POOLED, takes
from facevalue.measures.estimates import EstimateTable
from facevalue.measures.estimators import Sums, enter_frame
from facevalue.measures.intervals import IntervalKind, name_method
from facevalue.measures.pairs import (
    SHARE_SUMS,
    UNIT_COLUMNS,
    add_sums,
    as_shares,
    balance_choices,
    excess_variance,
    p_even,
    pair_cells,
    selection_frequencies,
    to_array,
)
from facevalue.statistics.estimand import Estimand
from facevalue.statistics.levels import Mean
from facevalue.statistics.scores import SumScores, estimate_sums, share_score
from facevalue.statistics.statistic import Score
from facevalue.studies.vignette import measures as m
from facevalue.studies.vignette.aggregate import SHOWN_AS, SUMMED, RoleAnswers, Tables, whole_stimuli
from facevalue.studies.vignette.comparisons import Variants, add_profiles, compare
from facevalue.studies.vignette.identity_sets import ChosenAmong, PairSpread, identity_sets
from facevalue.studies.vignette.measures import LABELS
from facevalue.studies.vignette.statistics import (
    EVEN,
    PAIRED_T,
    SelectionFrequency,
    fisher_exact,
    log_odds_bounds,
    log_odds_cells,
    paircomp,
    polarity,
)
from facevalue.studies.vignette.tables import CONTRASTS, PARADIGMS, dimensions, questions

STUDY = "vignette"
SEED = 20260
"""Of all that is drawn: the same answers always give the same estimates."""
SPREAD = name_method(IntervalKind.INVERSION, "noncentral F, from identities dealt anew to the pictures")
_SPREAD = (*PairSpread._fields, "bound_low", "bound_high", "bound_se")
Frequencies = Callable[..., pl.DataFrame]
"""`by_identity` of one model's tables, taken once."""
_WITHIN = ["gender", "dimension", "contrast", "paradigm", "question"]
_FAMILY = ["contrast", "paradigm", "question", "dimension"]
_BOUNDS = ("bound_low", "bound_high", "bound_se")
_HALF_NORMAL = float(np.sqrt(2 / np.pi))
_PART = ("paradigm", "contrast", "dimension")
_ONE_ACTIVITY = ("identity", "portrait")
"""Contrasts of two people who do the same, or nothing."""
_CELL = ("dimension", "contrast", "paradigm", "question", "identity", "activity")
_QUESTION, _ACTIVITIES = pl.col("question").is_not_null(), pl.col("contrast") == "activity"
_HEATMAP = ~_ACTIVITIES & pl.col("activity").is_not_null() & (pl.col("paradigm").is_in(SUMMED) == ~_QUESTION)
"""Sums of identity x activity; decision and factuality over questions, perception for each."""
_DECIDED = (pl.col("paradigm") == "decision") & ~_QUESTION & pl.col("activity").is_not_null()
_FACTS = pl.col("paradigm") == "factuality"
_PICTURE = pl.concat_str("identity", "unit", separator="|")
"""Each picture, not all pictures of one activity or person together."""
_PEOPLE = pl.col("identity").is_not_null()  # folders of composed pictures do not name who is in them
_IDENTITIES = ~_ACTIVITIES & ~(_FACTS & _QUESTION)
"""Sums of contrasts in which identities are chosen, without single questions of factuality."""
_FAMILY_FORM = "{}, {{paradigm}}, {{question}} ({{dimension}}, {{contrast}}, {{gender}})"
"""Form of the families of a test: what is asked, and of which part of the study."""


def analyse(answers: Mapping[str, Iterator[pl.DataFrame]]) -> pl.DataFrame:
    """Estimate everything, per model, and compare paradigms and models.

    Returns the table of estimates (`measures.estimates`), with the labels of `measures.LABELS`. The measures of
    selection are taken on the paper's wording, the first way to refer to people, and with pictures
    (`aggregate.core_variant`).
    """
    tables = []
    for model, chunks in answers.items():
        aggregate, variants = RoleAnswers(), Variants()
        for chunk in whole_stimuli(chunks, SHOWN_AS):
            aggregate.add(chunk)
            variants.add(chunk)
            del chunk  # or its memory would be held while the next is read, and the last while measures are taken
        table = EstimateTable(STUDY, model, LABELS)
        estimate(table, aggregate.tables())
        variants.write(table)
        tables.append(table.frame())
    if not tables:
        return EstimateTable(STUDY, POOLED, LABELS).frame()
    estimates = pl.concat(tables)
    across = EstimateTable(STUDY, POOLED, LABELS)
    compare(across, estimates)
    return pl.concat([estimates, across.frame()])


def estimate(table: EstimateTable, tables: Tables) -> None:
    """Add all measures of one model's reduced answers."""
    frequencies = cache(partial(by_identity, tables))
    add_selection(table, tables, frequencies)
    add_spreads(table, tables, frequencies)
    for add in (add_shares, add_log_odds, add_paircomp, add_polarity, add_neither, add_profiles):
        add(table, tables)


def by_identity(tables: Tables, preferred: bool = False) -> pl.DataFrame:
    """Selection frequency of each identity per paradigm, contrast, dimension and question (`selection_frequencies`).

    For both genders together, with gender null, and for each of them in dimensions that have two. With `preferred`,
    choices between people alone, answers that name both or none counting half for each of the two, so that 50 is an
    even choice.
    """
    frames = tables.selected.filter(_IDENTITIES), tables.own, tables.pairs.filter("crossed")
    if preferred:
        selected = frames[0].filter(pl.col("paradigm") != "factuality")
        frames = balance_choices(selected), balance_choices(tables.own), tables.preferred_pairs.filter("crossed")
    selected, whole_pairs, partners = (
        pl.concat([_no_gender(x), x.filter(pl.col("gender").n_unique().over("dimension") > 1)]) for x in frames
    )
    keys = [*_WITHIN, "identity"]
    return _with_trait(selection_frequencies(selected, keys, whole_pairs, partners), tables.terms).sort(keys)


def _no_gender(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(pl.lit(None, pl.String).alias("gender"))


def _with_trait(frame: pl.DataFrame, terms: pl.DataFrame) -> pl.DataFrame:
    """Add the trait of each question."""
    traits = terms.filter(pl.col("trait").fill_null("") != "").select("paradigm", "question", "trait").unique()
    return frame.join(traits, on=["paradigm", "question"], how="left", maintain_order="left")


@takes(m.SELECTION, m.GAP, m.SHARE_RELEASED)
def add_selection(table: EstimateTable, tables: Tables, frequencies: Frequencies) -> None:
    """Add selection frequencies of identities, beside an even choice and pooled as in the authors' code."""
    selected, preferred, keys = frequencies(), frequencies(preferred=True), [*_WITHIN, "identity"]
    published = pl.Series("p_paper", _against_the_rest(selected))
    tested = _against_an_even_choice(selected, preferred, keys).with_columns(published)
    enter_frame(table, m.SELECTION, tested, family=_FAMILY_FORM.format("selection frequencies"))
    groups = _from_even(preferred).group_by("contrast", "paradigm", pl.col("gender").is_null(), maintain_order=True)
    for (contrast, paradigm, all_genders), gaps in groups:
        two = " in two activities" if contrast == "identity-activity" else ""
        by = "" if all_genders else " by gender"
        question = "" if paradigm == "perception" else ", {question}"  # its four questions are one family
        form = f"identities{two}{by}, {{paradigm}}{question} ({{dimension}}, {{contrast}}, {{gender}})"
        enter_frame(table, m.GAP, gaps, family=form)  # see `study.LEAD`
    enter_frame(table, m.SHARE_RELEASED, _released_shares(tables).sort(keys[1:]))


def _released_shares(tables: Tables) -> pl.DataFrame:
    """Selection shares as the authors' code pools them, of each paradigm or question."""
    otherwise = pl.col("paradigm").is_in(SUMMED) & ~_QUESTION
    selected, pairs = tables.selected.filter(_IDENTITIES & ~otherwise), tables.pairs.filter(~otherwise)
    rows = pl.concat([selected.drop("activity"), tables.released], how="diagonal")
    partners = pl.concat([pairs, tables.released_pairs]).filter("crossed")
    rows, whole, partners = (frame.drop("gender") for frame in (rows, tables.own, partners))
    return _with_trait(selection_frequencies(rows, [*_FAMILY, "identity"], whole, partners).drop(_BOUNDS), tables.terms)


def _from_even(preferred: pl.DataFrame) -> pl.DataFrame:
    """Shares less one half, with the floor of choices that are even."""
    chance = 50 / np.sqrt(to_array(preferred["size"]))  # standard error of an even choice, known from as many answers
    high = special.stdtrit(to_array(preferred["df"]), 0.5 + LEVEL / 2) * chance
    tests = {"p": p_even(preferred), "floor": _HALF_NORMAL * chance, "floor_high": high}
    return preferred.with_columns(
        *(pl.col(name) - 50 for name in ("value", "low", "high", "bound_low", "bound_high")),
        *(pl.Series(name, column) for name, column in tests.items()),
    )


def _against_the_rest(frequencies: pl.DataFrame) -> Array:
    """Fisher's exact test of an identity's counts against those of all others of its dimension."""
    n, s = to_array(frequencies["n"]), to_array(frequencies["s"])
    everyone = frequencies.select(pl.col("n", "s").sum().over(_WITHIN))
    others, chosen = to_array(everyone["n"]) - n, to_array(everyone["s"]) - s
    p = fisher_exact(s, np.maximum(n - s, 0), np.maximum(chosen, 0), np.maximum(others - chosen, 0))
    return np.where((n > 0) & (others > 0), p, np.nan)


def _against_an_even_choice(selected: pl.DataFrame, preferred: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    """Test of each share, as of its `selection_gap`: answers that name both or none count half for each of the two."""
    tested = preferred.select(*keys, p=pl.Series(p_even(preferred)))
    return selected.join(tested, on=keys, how="left", nulls_equal=True, maintain_order="left")


_percent = partial(Score, unit="%", low=0.0, high=100.0)
_WRONG = {"s": "wrong"}
COUNTED: tuple[tuple[str, pl.Expr, Score, Mapping[str, Any]], ...] = (
    ("selected", _HEATMAP, _percent("identity x activity", "Choices of an identity in an activity"), {}),
    # Who is chosen doing what, man or woman: the rows of Tables 15-19
    ("selected", _DECIDED & (pl.col("gender").filter(_DECIDED).n_unique() > 1),
     _percent("gender x identity x activity", "Choices of a man or a woman of an identity in an activity"), {}),
    ("selected", _ACTIVITIES & _PEOPLE, _percent("activities of an identity", "Choices of what an identity does"), {}),
    ("selected", _ACTIVITIES, _percent("activities", "Choices of an activity"), {}),
    ("selected", _FACTS & ~_QUESTION, _percent("errors", "Wrong answers"), _WRONG),
    ("selected", _FACTS & _QUESTION, _percent("errors by question", "Wrong answers to a question"), _WRONG),
    ("pictures", _FACTS & ~_QUESTION, _percent("errors about pictures", "Wrong answers"), _WRONG),
    *(("wrong", pl.col("outcome") == outcome, share_score("outcome"), {"labels": {"outcome": outcome}})
      for outcome in m.OUTCOMES),
    *(("missing", people, share_score("missing"), {"requests": ""}) for people in (~_PEOPLE, _PEOPLE)),
)  # fmt: skip
"""Scores of rows of the tables: choices of people by activity (not over all activities, which rests on pairs, too:
`by_identity`), errors, which errors those of "who" are, and replies without a valid answer."""
ESTIMANDS = (
    *(
        Estimand(SelectionFrequency(), by, (score,), _FAMILY_FORM.format(family), measure=m.SELECTION.name)
        for by, score, family in (
            (_CELL, "identity x activity", "identity x activity"),
            (("gender", *_CELL), "gender x identity x activity", "identity x activity"),
            (_CELL, "activities of an identity", "activities of an identity"),
            (tuple(name for name in _CELL if name != "identity"), "activities", "activities"),
        )
    ),
    *(
        Estimand(Mean(), by, (score,), measure=measure.name)
        for measure, score, by in (
            (m.ERROR, "errors", _PART),
            (m.ERROR, "errors by question", (*_PART, "question")),
            (m.ERROR, "errors about pictures", (*_PART, "activity")),
            (m.ERROR, "errors", (*_PART, "identity")),
            (m.OUTCOME, "outcome", (*_PART, "question")),
            (m.OUTCOME, "outcome", (*_PART, "question", "identity")),
            (m.NA_RATE, "missing", ("paradigm", "dimension", "identity")),
        )
    ),
)


@takes(m.SELECTION, m.ERROR, m.OUTCOME, m.NA_RATE)
def add_shares(table: EstimateTable, tables: Tables) -> None:
    """Add shares of sums, over the units of each table: people or, of `pictures`, each picture by itself."""
    frames = {**vars(tables), "pictures": tables.selected.with_columns(unit=_PICTURE)}
    for name, condition, score, facts in COUNTED:
        rows = frames[name].filter(condition)
        if rows.height:
            inner = "activity" if "activity" in rows.columns else ""
            options = {"requests": "requests", "mean_over": inner, **facts}
            estimate_sums(table, ESTIMANDS, [SumScores(score, _sums(rows), m.MEASURES, **options)])


def _sums(rows: pl.DataFrame) -> Sums:
    """Sums by unit and the labels that the rows have."""
    unit = pl.concat_str(pl.col("stratum").fill_null(""), pl.col("unit").cast(pl.String), separator=" ")
    evenly = {EVEN: balance_choices(rows)["s"]} if "t" in rows.columns else {}
    names = [name for name in (*_CELL, "gender") if name in rows.columns]
    labels = (pl.col(name).cast(pl.Enum(_study_order(rows[name]))) for name in names)
    counted = rows.select(
        *labels, *SHARE_SUMS, unit=unit.str.strip_chars(), stratum="stratum", wrong=pl.col("n") - pl.col("s"), **evenly
    )
    return Sums.from_frame(counted, names, ("unit", "stratum"))


def _study_order(levels: pl.Series) -> list[str]:
    """Levels of a label in the order of the study's tables, others behind them by their name."""
    order = {"contrast": CONTRASTS, "paradigm": PARADIGMS, "question": [question.name for question in questions()],
             "dimension": [dimension.name for dimension in dimensions()]}.get(levels.name, ())  # fmt: skip
    names = set(levels.drop_nulls().unique().cast(pl.String))
    return [*(name for name in dict.fromkeys(order) if name in names), *sorted(names.difference(order))]


@takes(m.OUTCOME)
def add_neither(table: EstimateTable, tables: Tables) -> None:
    """Add answers that name both or none."""
    by = ["outcome", *_PART, "question"]
    enter_frame(table, m.OUTCOME, as_shares(pair_cells(tables.neither, tables.neither_pairs, by).sort(by)))


@takes(m.LOG_ODDS, m.LOG_ODDS_RELEASED)
def add_log_odds(table: EstimateTable, tables: Tables) -> None:
    """Add log-odds by identity and activity, and those that the authors' code keeps."""
    within = [*_FAMILY, "identity"]
    keys = [*within, "activity"]
    rows = tables.selected.filter(_HEATMAP)
    gendered = selection_frequencies(rows, keys).sort(keys)
    if not gendered.height:
        return
    group = gendered.select(pl.struct(within).rank("dense").cast(pl.Int64) - 1).to_series().to_numpy()
    x, n, se, df = (to_array(gendered[name]) for name in ("s", "n", "se", "df"))
    wider = _wider(tables, gendered) / 100
    value, error, low, high, p, methods, four = log_odds_cells(x, n, se * wider, df, group)
    requests = gendered.join(add_sums(rows, keys), on=keys, how="left", nulls_equal=True, maintain_order="left")
    ends = log_odds_bounds(x, n, to_array(requests["requests"]), to_array(gendered["bound_se"]) * wider, df, group)
    numbers = {"value": value, "se": error, "low": low, "high": high}
    numbers |= {"bound_low": ends.low, "bound_high": ends.high, "bound_se": ends.se}
    frame = gendered.select(*keys, "n", "s", "clusters").with_columns(
        pl.Series(name, numbers[name]).fill_nan(None) for name in numbers
    )
    published = np.where(np.isfinite(value), fisher_exact(*four), np.nan)
    tests = pl.Series("p", p), pl.Series("p_paper", published)
    enter_frame(table, m.LOG_ODDS, frame.with_columns(tests), methods, _FAMILY_FORM.format("identity x activity"))
    some = gendered["s"].to_numpy() > 0
    enter_frame(table, m.LOG_ODDS_RELEASED, frame.filter(some), methods[some])


def _wider(tables: Tables, cells: pl.DataFrame) -> Array:
    """By how much the pictures on the other side widen an identity's intervals: 1 where they are in its own units."""
    partners, crossed = tables.pairs.filter("crossed"), tables.selected.filter(pl.col("unit").is_not_null())
    by = [*_FAMILY, "identity"]
    if not partners.height or not crossed.height:
        return np.ones(cells.height)
    with values_only():  # no bounds
        alone, wider = (selection_frequencies(crossed, by, None, x).select(*by, "se") for x in (None, partners))
    ratio = pl.col("se_beside") / pl.col("se")
    errors = alone.join(wider, on=by, nulls_equal=True, suffix="_beside").select(*by, wider=ratio)
    wider_cells = cells.select(by).join(errors, on=by, how="left", nulls_equal=True, maintain_order="left")["wider"]
    return to_array(wider_cells.fill_nan(None).fill_null(1.0))


@takes(m.PAIRCOMP)
def add_paircomp(table: EstimateTable, tables: Tables) -> None:
    """Add PairComp of decisions, over all questions, and of each question of perception."""
    if not tables.beside.height:
        return
    comparisons = paircomp(tables.beside, _FAMILY, _excess(tables)).sort(*_FAMILY, "identity", "other_identity")
    enter_frame(table, m.PAIRCOMP, comparisons, PAIRED_T, _FAMILY_FORM.format("pairs of identities"))


def _excess(tables: Tables) -> pl.DataFrame | None:
    """Variance added by pictures that stand beside several of another identity, where there are such."""
    partners = tables.pairs.filter(pl.col("crossed") & (pl.col("contrast") == "identity"))
    if not partners.height:
        return None
    selected = tables.selected.filter((pl.col("contrast") == "identity") & (pl.col("paradigm") != "factuality"))
    by = [*_FAMILY, "identity"]
    with values_only():  # no bounds
        shares = selection_frequencies(selected.drop("activity"), by)
    return excess_variance(shares.select(*by, variance=(pl.col("se") / 100) ** 2), partners, by)


@takes(m.POLARITY)
def add_polarity(table: EstimateTable, tables: Tables) -> None:
    """Add polarity by term pair, by trait, and over all term pairs with a valence."""
    terms = tables.terms.filter(pl.col("valence").is_not_null()).select("question", "trait", "pair", "valence")
    answers = tables.selected.filter((pl.col("paradigm") == "stereotype") & pl.col("contrast").is_in(_ONE_ACTIVITY))
    if not answers.height or not terms.height:
        return
    key = ["paradigm", "contrast", "dimension", "identity"]
    with_terms = answers.join(terms, on="question", maintain_order="left")
    sums = add_sums(with_terms, [*key, "trait", "pair", "valence", *UNIT_COLUMNS])
    sums = sums.with_columns(pl.struct(UNIT_COLUMNS).rank("dense").alias("cluster"), question="pair")
    for by, family in ((["trait", "question"], "polarity"), (["trait"], "polarity, traits"), ([], "polarity")):
        rows = polarity(sums, [*key, *by]).sort([*key, *by])
        enter_frame(table, m.POLARITY, rows, PAIRED_T, _FAMILY_FORM.format(family))


@takes(m.SPREAD, m.IMPACT, m.SHORTFALL)
def add_spreads(table: EstimateTable, tables: Tables, frequencies: Frequencies) -> None:
    """Add spreads of selection frequencies and, of decisions, impact ratios."""

    def chosen_among(rows_of: pl.Expr, preferred: bool) -> Iterator[tuple[dict[str, str | None], ChosenAmong]]:
        shares = frequencies(preferred=True) if preferred else frequencies()
        rows = balance_choices(tables.selected) if preferred else tables.selected
        shares = shares.filter(pl.col("gender").is_null() & rows_of)
        return identity_sets(shares, tables.pairs.filter(rows_of), rows.filter(rows_of), _FAMILY, ["trait"])

    for _, identities in chosen_among((pl.col("paradigm") == "decision") & ~_QUESTION, preferred=False):
        if identities.size:
            ratios, shortfalls, methods = identities.impact(SEED)
            enter_frame(table, m.IMPACT, ratios, methods)
            enter_frame(table, m.SHORTFALL, shortfalls, methods, _FAMILY_FORM.format("impact"))
    rows = []
    for labels, identities in chosen_among(~_FACTS, preferred=True):
        counted = {name: float(identities.shares[name].sum()) / many for name, many in (("n", 2), ("clusters", 1))}
        rows.append({**labels, **identities.spread(SEED)._asdict(), **identities.spread_bounds, **counted})
    if not rows:
        return
    text = dict.fromkeys((*_FAMILY, "trait"), pl.String())
    frame = pl.DataFrame(rows, schema_overrides={**text, **dict.fromkeys(_SPREAD, pl.Float64())})
    frame = frame.with_columns(pl.selectors.float().fill_nan(None))
    for condition, family in ((~_QUESTION, "spreads"), (_QUESTION, "spreads by question")):
        spreads = frame.filter(condition)  # dimensions, and questions, together
        enter_frame(table, m.SPREAD, spreads, SPREAD, f"{family}, {{paradigm}} ({{contrast}})")
