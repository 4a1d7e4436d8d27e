"""Analysis: every measure of VIGNETTE, in one pass over the answers of each model."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial

import numpy as np
import polars as pl
from scipy import special

from facevalue.measures import pair_moments, selection, table_entries
from facevalue.measures.cluster_bootstrap import LEVEL, Array, Floor
from facevalue.measures.compared_shares import Compared, compared
from facevalue.measures.estimates import EstimateTable
from facevalue.measures.fisher import fisher_exact
from facevalue.measures.log_odds import log_odds_bounds, log_odds_cells
from facevalue.measures.pair_comparison import paircomp, polarity
from facevalue.measures.proportions import PAIRED, WILSON, score_p
from facevalue.measures.selection import balanced, to_array
from facevalue.measures.wanted import takes
from facevalue.protocol.streams import whole_stimuli
from facevalue.studies.vignette import measures as m
from facevalue.studies.vignette.aggregate import CONTROL, SHOWN_AS, SUMMED, Aggregate, Tables, unit
from facevalue.studies.vignette.measures import LABELS
from facevalue.studies.vignette.profile import Profiles, compare
from facevalue.studies.vignette.variants import Variants

STUDY = "vignette"
POOLED = "(all models)"
SEED = 20260
"""Of all that is drawn: the same answers always give the same estimates."""
SPREAD = "noncentral F, from identities dealt anew to the pictures"
_SPREAD = (*pair_moments.Spread._fields, "bound_low", "bound_high", "bound_se")
_WITHIN = ["gender", "dimension", "contrast", "paradigm", "question"]
_FAMILY = ["contrast", "paradigm", "question", "dimension"]
_HALF_NORMAL = float(np.sqrt(2 / np.pi))
record = partial(
    table_entries.record, apart=("paradigm", "question"), within=("dimension", "contrast", "gender")
)  # what is asked, and of which part of the study


def analyse(answers: Mapping[str, Iterator[pl.DataFrame]]) -> pl.DataFrame:
    """Estimate everything, per model, and compare paradigms and models.

    Returns the table of estimates (`measures.estimates`), with the labels of `measures.LABELS`. The measures of
    selection are taken on the paper's wording, the first way to refer to people, and with pictures
    (`aggregate.core_variant`).
    """
    tables = []
    for model, chunks in answers.items():
        aggregate, profiles, variants = Aggregate(), Profiles(), Variants()
        for chunk in whole_stimuli(_passing(chunks, aggregate), SHOWN_AS):
            profiles.add(chunk)
            variants.add(chunk)
        table = EstimateTable(STUDY, model, LABELS)
        estimate(table, aggregate.tables())
        profiles.write(table)
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
    add_selection(table, tables)
    add_log_odds(table, tables)
    add_paircomp(table, tables)
    add_polarity(table, tables)
    add_spreads(table, tables)
    add_errors(table, tables)
    add_neither(table, tables)
    add_missing(table, tables)


def _passing(chunks: Iterable[pl.DataFrame], aggregate: Aggregate) -> Iterator[pl.DataFrame]:
    for chunk in chunks:
        aggregate.add(chunk)
        yield chunk


def by_identity(tables: Tables, gender: bool = True, preferred: bool = False) -> pl.DataFrame:
    """Selection frequency of each identity per paradigm, contrast, dimension and question, as `selection.cells` has it.

    With `gender` there are rows per gender, too; those of both have gender null. With `preferred`, choices between
    people alone, answers that name both or none counting half for each of the two, so that 50 is an even choice.
    """
    frames = _chosen(tables), tables.own, tables.pairs.filter("crossed")
    if preferred:
        selected = frames[0].filter(pl.col("paradigm") != "factuality")
        frames = balanced(selected), balanced(tables.own), tables.preferred_pairs.filter("crossed")
    selected, own, partners = (_each_gender(x) if gender else _no_gender(x) for x in frames)
    keys = [*_WITHIN, "identity"]
    return _with_trait(selection.cells(selected, keys, own, partners), tables.terms).sort(keys)


def _no_gender(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(pl.lit(None, pl.String).alias("gender"))


def _each_gender(frame: pl.DataFrame) -> pl.DataFrame:
    """The rows with gender null, for both together, and, in dimensions with two genders, as they are."""
    return pl.concat([_no_gender(frame), frame.filter(pl.col("gender").n_unique().over("dimension") > 1)])


def _with_trait(frame: pl.DataFrame, terms: pl.DataFrame) -> pl.DataFrame:
    """Add the trait of each question."""
    asked = terms.filter(pl.col("trait").fill_null("") != "").rows(named=True)
    traits = {f"{row['paradigm']}\t{row['question']}": row["trait"] for row in asked}
    key = pl.concat_str("paradigm", "question", separator="\t")
    return frame.with_columns(key.replace_strict(traits, default=None, return_dtype=pl.String).alias("trait"))


def _chosen(tables: Tables) -> pl.DataFrame:
    """Sums of contrasts in which identities are chosen, without single questions of factuality."""
    single = (pl.col("paradigm") == "factuality") & pl.col("question").is_not_null()
    return tables.selected.filter((pl.col("contrast") != "activity") & ~single)


@takes(m.SELECTION, m.GAP, m.SHARE_RELEASED)
def add_selection(table: EstimateTable, tables: Tables) -> None:
    """Add selection frequencies by identity, identity x activity and activity, and what else follows from them."""
    selected, preferred = by_identity(tables), by_identity(tables, preferred=True)
    even = _against_an_even_choice(selected, preferred, [*_WITHIN, "identity"])
    record(
        table,
        m.SELECTION,
        selected,
        WILSON,
        p=even,
        p_paper=_against_the_rest(selected),
        family="selection frequencies",
    )
    _gap(table, preferred)
    pooled = _no_gender(_chosen(tables)).with_columns(activity=pl.lit(None, pl.String))
    keys = [*_WITHIN, "identity"]
    released = selection.cells(pooled, keys, _no_gender(tables.own), _no_gender(tables.pairs.filter("crossed")))
    released = _with_trait(released.drop("bound_low", "bound_high", "bound_se"), tables.terms).sort(keys)
    record(table, m.SHARE_RELEASED, released, WILSON)
    _cells(table, tables)


def _against_the_rest(frequencies: pl.DataFrame) -> Array:
    """Fisher's exact test of an identity's counts against those of all others of its dimension."""
    n, s = to_array(frequencies["n"]), to_array(frequencies["s"])
    everyone = frequencies.select(pl.col("n", "s").sum().over(_WITHIN))
    others, chosen = to_array(everyone["n"]) - n, to_array(everyone["s"]) - s
    p = fisher_exact(s, np.maximum(n - s, 0), np.maximum(chosen, 0), np.maximum(others - chosen, 0))
    return np.where((n > 0) & (others > 0), p, np.nan)


def _against_an_even_choice(selected: pl.DataFrame, preferred: pl.DataFrame, keys: list[str]) -> Array:
    """Test of each share, as of its `selection_gap`: answers that name both or none count half for each of the two."""
    tested = preferred.select(*keys, p=pl.Series(_even_p(preferred)))
    return to_array(
        selected.select(keys).join(tested, on=keys, how="left", nulls_equal=True, maintain_order="left")["p"]
    )


def _even_p(selected: pl.DataFrame) -> Array:
    share, size, df = (to_array(selected[name]) for name in ("value", "size", "df"))
    return score_p(share / 100, size, df)


@takes(m.GAP)
def _gap(table: EstimateTable, selected: pl.DataFrame) -> None:
    size, df = (to_array(selected[name]) for name in ("size", "df"))
    p = _even_p(selected)
    chance = 50 / np.sqrt(size)  # standard error of an even choice, known from as many answers
    floor = Floor(_HALF_NORMAL * chance, special.stdtrit(df, 0.5 + LEVEL / 2) * chance, p)
    shifted = [pl.col(name) - 50 for name in ("value", "low", "high", "bound_low", "bound_high")]
    question = (
        pl.when(pl.col("paradigm") != "perception").then("question").alias("asked")
    )  # its four questions together
    gaps = selected.with_columns(*shifted, question)
    two = pl.when(pl.col("contrast") == "identity-activity").then(pl.lit(" in two activities")).otherwise(pl.lit(""))
    by = pl.when(pl.col("gender").is_not_null()).then(pl.lit(" by gender")).otherwise(pl.lit(""))
    family = pl.concat_str(pl.lit("identities"), two, by)  # see `study.LEAD`
    record(table, m.GAP, gaps, WILSON, p=p, family=family, floor=floor, apart=("paradigm", "asked"))


def _heatmap(selected: pl.DataFrame) -> pl.DataFrame:
    """Sums of identity x activity, genders together; decision and factuality over questions, perception for each."""
    summed = pl.col("paradigm").is_in(SUMMED)
    is_wanted = pl.col("activity").is_not_null() & (summed == pl.col("question").is_null())
    cells = selected.filter((pl.col("contrast") != "activity") & is_wanted)
    return selection.add(cells, [*_WITHIN[1:], "identity", "activity", *selection.UNIT])


def _cells(table: EstimateTable, tables: Tables) -> None:
    even = balanced(tables.selected.filter(pl.col("paradigm") != "factuality"))

    def add(of: Callable[[pl.DataFrame], pl.DataFrame], by: list[str], family: str) -> None:
        selected = selection.cells(of(tables.selected), by).sort(by)
        p = _against_an_even_choice(selected, selection.cells(of(even), by), by)
        record(table, m.SELECTION, selected, WILSON, p=p, family=family)

    keys = [*_WITHIN[1:], "identity", "activity"]
    add(_heatmap, keys, "identity x activity")
    # Who is chosen doing what, man or woman: the rows of Tables 15-19.
    decided = (pl.col("paradigm") == "decision") & pl.col("question").is_null() & pl.col("activity").is_not_null()
    if tables.selected.filter(decided)["gender"].n_unique() > 1:
        add(lambda rows: rows.filter(decided), ["gender", *keys], "identity x activity")
    between = pl.col("contrast") == "activity"
    between_identities = (
        between & pl.col("identity").is_not_null()
    )  # folders of composed pictures do not name who is in them
    add(lambda rows: rows.filter(between_identities), keys, "activities of an identity")
    add(lambda rows: rows.filter(between), [name for name in keys if name != "identity"], "activities")


@takes(m.BOTH, m.NONE)
def add_neither(table: EstimateTable, tables: Tables) -> None:
    """Add how many choices between two people name both or none, where that was offered."""
    keys = ["paradigm", "contrast", "dimension", "question"]
    for measure, outcome in ((m.BOTH, "both"), (m.NONE, "none")):
        of = pl.col("outcome") == outcome
        shares = selection.either_side(tables.neither.filter(of), tables.neither_pairs.filter(of), keys)
        record(table, measure, shares.sort(keys), WILSON)


@takes(m.ERROR, m.SWAPPED, m.BOTH, m.NONE)
def add_errors(table: EstimateTable, tables: Tables) -> None:
    """Add error rates by dimension, question, identity and activity, and which errors those of "who" are."""
    keys = ["paradigm", "contrast", "dimension"]
    facts = tables.selected.filter(pl.col("paradigm") == "factuality")
    overall, by_question = facts.filter(pl.col("question").is_null()), facts.filter(pl.col("question").is_not_null())
    # Each picture is a unit, not all pictures of one activity or person together.
    pictures = overall.with_columns(pl.concat_str("identity", "unit", separator="|").alias("unit"))
    _errors(table, overall, keys)
    _errors(table, by_question, [*keys, "question"])
    _errors(table, pictures, [*keys, "activity"])
    _errors(table, overall, [*keys, "identity"])
    for measure, outcome in ((m.SWAPPED, "swapped"), (m.BOTH, "both"), (m.NONE, "none")):
        wrong, names = tables.wrong.filter(pl.col("outcome") == outcome), [*keys, "question"]
        for by in (names, [*names, "identity"]):
            record(table, measure, selection.cells(wrong, by).sort(by), WILSON)


def _errors(table: EstimateTable, right: pl.DataFrame, keys: list[str]) -> None:
    error_rates = selection.cells(right, keys).sort(keys)
    swapped = {"value": "value", "low": "high", "high": "low", "bound_low": "bound_high", "bound_high": "bound_low"}
    wrong = error_rates.with_columns((100 - pl.col(other)).alias(name) for name, other in swapped.items())
    record(table, m.ERROR, wrong, WILSON)


@takes(m.NA_RATE)
def add_missing(table: EstimateTable, tables: Tables) -> None:
    """Add shares of replies without a valid answer, by paradigm and dimension, and by identity shown."""
    keys = ["paradigm", "dimension", "identity"]
    for has_identity in (pl.col("identity").is_null(), pl.col("identity").is_not_null()):
        missing = tables.missing.filter(has_identity).with_columns(activity=pl.lit(None, pl.String))
        record(
            table,
            m.NA_RATE,
            selection.cells(missing, keys).drop("bound_low", "bound_high", "bound_se").sort(keys),
            WILSON,
        )


@takes(m.LOG_ODDS, m.LOG_ODDS_RELEASED)
def add_log_odds(table: EstimateTable, tables: Tables) -> None:
    """Add log-odds by identity and activity, and those that the authors' code keeps."""
    within = [*_FAMILY, "identity"]
    keys = [*within, "activity"]
    rows = _heatmap(tables.selected)
    gendered = selection.cells(rows, keys).sort(keys)
    if not gendered.height:
        return
    group = gendered.select(pl.struct(within).rank("dense").cast(pl.Int64) - 1).to_series().to_numpy()
    x, n, se, df = (to_array(gendered[name]) for name in ("s", "n", "se", "df"))
    wider = _wider(tables, gendered) / 100
    value, error, low, high, p, how, four = log_odds_cells(x, n, se * wider, df, group)
    published = np.where(np.isfinite(value), fisher_exact(*four), np.nan)
    cells = gendered.select(keys).join(
        selection.add(rows, keys), on=keys, how="left", nulls_equal=True, maintain_order="left"
    )["asked"]
    ends = log_odds_bounds(x, n, to_array(cells), to_array(gendered["bound_se"]) * wider, df, group)
    numbers = {"value": value, "se": error, "low": low, "high": high}
    numbers |= {"bound_low": ends.low, "bound_high": ends.high, "bound_se": ends.se}
    frame = gendered.select(*keys, "n", "s", "clusters").with_columns(
        pl.Series(name, numbers[name]).fill_nan(None) for name in numbers
    )
    record(table, m.LOG_ODDS, frame, how, p=p, p_paper=published, family="identity x activity")
    some = gendered["s"].to_numpy() > 0
    record(table, m.LOG_ODDS_RELEASED, frame.filter(some), how[some])


def _wider(tables: Tables, cells: pl.DataFrame) -> Array:
    """By how much the pictures on the other side widen an identity's intervals: 1 where they are in its own units."""
    partners, crossed = tables.pairs.filter("crossed"), tables.selected.filter(pl.col("unit").is_not_null())
    by = [*_FAMILY, "identity"]
    if not partners.height or not crossed.height:
        return np.ones(cells.height)
    alone, beside = (selection.cells(crossed, by, None, x).select(*by, "se") for x in (None, partners))
    wider = (pl.col("se_beside") / pl.col("se")).alias("wider")
    errors = alone.join(beside, on=by, nulls_equal=True, suffix="_beside").select(*by, wider)
    found = cells.select(by).join(errors, on=by, how="left", nulls_equal=True, maintain_order="left")["wider"]
    return to_array(found.fill_nan(None).fill_null(1.0))


@takes(m.PAIRCOMP)
def add_paircomp(table: EstimateTable, tables: Tables) -> None:
    """Add PairComp of decisions, over all questions, and of each question of perception."""
    paradigm, question = pl.col("paradigm").cast(pl.String), pl.col("question").cast(pl.String)
    answers = tables.stimuli.filter(pl.col("contrast").cast(pl.String) == "identity")
    answers = answers.filter(
        (paradigm == "perception") | ((paradigm == "decision") & ~question.str.starts_with(CONTROL))
    )
    if not answers.height:
        return
    summed = pl.when(paradigm != "decision").then(question).alias("question")
    parts = []
    for side, other in ((1, 2), (2, 1)):
        names = {"identity": f"identity_{side}", "other_identity": f"identity_{other}", "stratum": "gender"}
        labels = [pl.col(column).cast(pl.String).alias(name) for name, column in names.items()]
        chosen = "s" if side == 1 else "t"
        family = [pl.col(x) for x in _FAMILY if x != "question"]
        one = answers.select(*family, summed, unit(side), *labels, "n", "asked", s=chosen)
        one = one.with_columns(pl.col("contrast", "paradigm", "dimension").cast(pl.String))
        keys = [*_FAMILY, "identity", "other_identity", *selection.UNIT]
        parts.append(selection.add(one, keys))
    comparisons = paircomp(pl.concat(parts), _FAMILY, _excess(tables)).sort([*_FAMILY, "identity", "other_identity"])
    p, published = to_array(comparisons["p"]), to_array(comparisons["p_paper"])
    record(table, m.PAIRCOMP, comparisons, PAIRED, p=p, p_paper=published, family="pairs of identities")


def _excess(tables: Tables) -> pl.DataFrame | None:
    """What pictures that stand beside several of another identity add to its variance, where there are such."""
    partners = tables.pairs.filter(pl.col("crossed") & (pl.col("contrast") == "identity"))
    if not partners.height:
        return None
    selected = tables.selected.filter((pl.col("contrast") == "identity") & (pl.col("paradigm") != "factuality"))
    by = [*_FAMILY, "identity"]
    cells_found = selection.cells(selected.with_columns(activity=pl.lit(None, pl.String)), by)
    return selection.excess(cells_found.select(*by, variance=(pl.col("se") / 100) ** 2), partners, by)


@takes(m.POLARITY)
def add_polarity(table: EstimateTable, tables: Tables) -> None:
    """Add polarity by term pair, by trait, and over all term pairs with a valence."""
    terms = tables.terms.filter(pl.col("valence").is_not_null())
    labels = ["gender", "dimension", "contrast", "paradigm", "question", "identity_1", "identity_2"]
    answers = tables.stimuli.filter(pl.col("paradigm").cast(pl.String) == "stereotype")
    if not answers.height or not terms.height:
        return
    answers = answers.with_columns(pl.col(labels).cast(pl.String), unit(1).alias("unit_1"), unit(2).alias("unit_2"))
    with_terms = answers.join(
        terms.select("question", "trait", "pair", "valence"), on="question", maintain_order="left"
    )
    first = with_terms.with_columns(identity="identity_1", unit="unit_1")
    second = with_terms.with_columns(identity="identity_2", unit="unit_2", s="t")
    key = ["paradigm", "contrast", "dimension", "identity"]
    by = [*key, "trait", "pair", "valence", "gender", "unit"]
    sums = selection.add(pl.concat([first, second]).drop("question"), by)
    sums = sums.with_columns(pl.struct("gender", "unit").rank("dense").alias("cluster"))
    of_pair = sums.with_columns(pl.col("pair").alias("question"))
    for grouped, own, tested in (
        (of_pair, ["trait", "question"], "polarity"), (sums, ["trait"], "polarity, traits"), (sums, [], "polarity"),
    ):  # fmt: skip
        polarities = polarity(grouped, [*key, *own]).sort([*key, *own])
        p, published = to_array(polarities["p"]), to_array(polarities["p_paper"])
        record(table, m.POLARITY, polarities, PAIRED, p=p, p_paper=published, family=tested)


@takes(m.SPREAD, m.IMPACT, m.SHORTFALL)
def add_spreads(table: EstimateTable, tables: Tables) -> None:
    """Add spreads of selection frequencies and, of decisions, impact ratios."""
    people = pl.col("paradigm") != "factuality"

    def chosen_among(preferred: bool) -> Iterator[tuple[dict[str, str | None], Compared]]:
        frequencies = by_identity(tables, gender=False, preferred=preferred).filter(people)
        rows = (balanced(tables.selected) if preferred else tables.selected).filter(people)
        return compared(frequencies, tables.pairs, rows, _FAMILY, ["trait"])

    for labels, one in chosen_among(preferred=False):
        if labels["paradigm"] == "decision" and labels["question"] is None and one.size:
            ratios, shortfalls, how, floor, least = one.impact(SEED)
            record(table, m.IMPACT, ratios, how)
            record(table, m.SHORTFALL, shortfalls, how, p=floor.p, p_least=least, family="impact", floor=floor)
    rows = []
    for labels, one in chosen_among(preferred=True):
        counted = {"n": float(one.found["n"].sum()) / 2, "clusters": float(one.found["clusters"].sum())}
        rows.append({**labels, **one.spread(SEED)._asdict(), **one.spread_bounds, **counted})
    if not rows:
        return
    text = dict.fromkeys((*_FAMILY, "trait"), pl.String())
    frame = pl.DataFrame(rows, schema_overrides={**text, **dict.fromkeys(_SPREAD, pl.Float64())})
    for spreads, family in (
        (frame.filter(pl.col("question").is_null()), "spreads"),
        (frame.filter(pl.col("question").is_not_null()), "spreads by question"),
    ):
        spread_rows = spreads.with_columns(pl.selectors.float().fill_nan(None))
        p, least, mean, high = (to_array(spread_rows[name]) for name in ("p", "p_least", "floor", "floor_high"))
        record(
            table, m.SPREAD, spread_rows, SPREAD, p=p, p_least=least, family=family, floor=Floor(mean, high, p),
            apart=["paradigm"], within=["contrast"],  # dimensions, and questions, together
        )  # fmt: skip
