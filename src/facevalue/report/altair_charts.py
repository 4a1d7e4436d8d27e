"""Estimates as Altair charts: values with both intervals, noise and verdict, as on the page of a report."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from facevalue.errors import DataError, DependencyError, SettingError, UnknownNameError
from facevalue.measures.definitions import split_key
from facevalue.measures.verdicts import Verdict
from facevalue.protocol.look import Of
from facevalue.protocol.lookup import Estimate
from facevalue.report.blocks.view import View, page_view
from facevalue.report.formatting import writing
from facevalue.report.sections.headline import page_of
from facevalue.runs.joined_runs import names_for_people, rename_models, study_of
from facevalue.runs.stored_run import StoredRun

if TYPE_CHECKING:
    import altair

ROWS = 40
"""Rows of a panel, unless more are asked for."""
_ROW = 26  # pixels from one row to the next
_WIDTH, _PANEL = 380, 260  # pixels of a chart alone, and of one among several
_COLOURS: Final = {"up": "#1f5fa8", "down": "#b84e08", "plain": "#3b4656"}
_MODELS: Final = ("#1f5fa8", "#c2570c", "#6f4aa0", "#00795c")
_BAND, _ZERO = "#8a8578", "#5c6675"
_SCHEMA = {
    **dict.fromkeys(("row", "panel", "model", "verdict", "direction", "estimate"), pl.String()),
    **dict.fromkeys(("value", "low", "high", "page_low", "page_high", "floor_low", "floor_high"), pl.Float64()),
    "n": pl.Int64(), "clusters": pl.Int64(),
}  # fmt: skip


def chart(
    view: View, measure: str, by: Sequence[str] = (), where: Mapping[str, str] | None = None, rows: int = ROWS
) -> "altair.TopLevelMixin":
    """Draw the estimates of a measure by one factor, or by two as small multiples.

    Parameters
    ----------
    view:
        Estimates and how they are worded.
    measure:
        Name of a measure, or with its score ("mean.warmth").
    by:
        One factor or two; the first breakdown of the measure by default. The second makes a panel per level, unless one
        of them is nested in the other.
    where:
        Levels at which other factors are held.
    rows:
        Rows of a panel at most, those farthest from none first.

    Raises
    ------
    UnknownNameError
        There is no such measure, factor or level.
    DataError
        The measure has no estimates by these factors, or no value.
    DependencyError
        Altair is not installed.
    """
    of = _select_estimates(view, measure, by, where or {})
    by_model = [(model, view.rows(of, model)) for model in view.models]
    pairs = [(model, e) for model, estimates in by_model for e in estimates if e.value is not None]
    if not pairs:
        raise DataError(f"{measure} is not measurable {_describe_labels(of.by)}.")
    farthest: dict[tuple[str | None, ...], float] = {}  # of each row, whoever answered
    for _, e in pairs:
        place = tuple(e[name] for name in of.by)
        farthest[place] = max(farthest.get(place, 0.0), abs(e.value or 0.0))
    nested = len(of.by) == 2 and any(len({place[at] for place in farthest}) == len(farthest) for at in (0, 1))
    panels: set[tuple[str | None, ...]] = {() if nested else place[1:] for place in farthest}
    places = {
        place for panel in panels
        for place in sorted((p for p in farthest if nested or p[1:] == panel), key=lambda p: -farthest[p])[:rows]
    }  # fmt: skip
    records = [
        _row(view, of, model, e, nested=nested) for model, e in pairs if tuple(e[name] for name in of.by) in places
    ]  # fmt: skip
    cut_note = f" ({len(places)} of {len(farthest)}, farthest first)" if len(places) < len(farthest) else ""
    first = pairs[0][1]
    title = f"{view.measure_title(first)}{cut_note}"
    return _draw_chart(pl.DataFrame(records, schema=_SCHEMA, orient="row"), title, first, signed=view.is_signed(first))


def _select_estimates(view: View, measure: str, by: Sequence[str], where: Mapping[str, str]) -> Of:
    """The selection of a measure's estimates, checked against the scores and breakdowns that there are."""
    kinds = [name for model in view.models for name, _ in view.numbers.kinds(model)]
    name, score = split_key(measure)
    if score and name in kinds:
        if "score" in where:
            raise DataError(f"{measure} and `where` both name a score: name it once.")
        measure, where = name, {"score": score, **where}
    if measure not in kinds:
        raise UnknownNameError("measure", measure, kinds)
    rows = view.numbers.frame.filter(pl.col("model").is_in(view.models), measure=measure)
    scores = rows["score"].unique(maintain_order=True).to_list()
    if "score" not in where and None not in scores:  # of several, that without a name is of the answers themselves
        if len(scores) > 1:
            listed = ", ".join(map(repr, scores))
            raise DataError(f"{measure} is of several scores: say which, as where={{'score': ...}}: {listed}.")
        where = {"score": scores[0], **where}
    if "score" in where and where["score"] not in scores:
        raise UnknownNameError(f"score of {measure}", where["score"], [score for score in scores if score])
    rows = rows.filter(pl.col("score").eq_missing(where.get("score")))
    breakdowns = _breakdowns(rows, view.numbers.labels)
    factors = {factor for breakdown in breakdowns for factor in breakdown}
    for name in (*by, *where):
        if name not in factors:
            raise UnknownNameError(f"factor of {measure}", name, factors)
    for name, level in where.items():
        if level not in view.numbers.levels(name):
            raise UnknownNameError(name, level, view.numbers.levels(name))
    if not by and {*where} <= {"score", "versus"}:
        measured = _breakdowns(rows.drop_nulls("value"), view.numbers.labels) or breakdowns
        of_kind = [names for names in measured if ("versus" in names) == ("versus" in where)] or measured
        free = [tuple(name for name in names if name not in where) for names in of_kind]
        by = next((names for names in free if 1 <= len(names) <= 2), free[0])
        one_level = {name: rows[name].drop_nulls()[0] for name in by if rows[name].n_unique() == 1}
        if len(by) > 2 and one_level.keys() != {*by}:  # what never varies needs no axis
            by, where = [name for name in by if name not in one_level], {**where, **one_level}
    if len(by) > 2:
        *rest, second, first = by
        example = rows.drop_nulls([*by]).sort(pl.col("value").is_null(), maintain_order=True)
        levels = {**where, **{name: example[name][0] for name in rest if example.height}}
        raise SettingError(
            f"A chart is by one factor or two, and {measure} is by {', '.join(by)}: hold others at a level, for "
            f"example by={[first, second]}, where={levels}."
        )
    if {*by, *where} not in [set(breakdown) for breakdown in breakdowns]:
        alternatives = "; ".join(", ".join(breakdown) or "everything together" for breakdown in breakdowns)
        raise DataError(
            f"{measure} is not estimated {_describe_labels((*by, *where))}. It is estimated by: {alternatives}."
        )
    return Of(measure, tuple(by), dict(where), order="given")


def _breakdowns(rows: pl.DataFrame, labels: Sequence[str]) -> list[tuple[str, ...]]:
    """Sets of labels that estimates are broken down by, in the order in which they come."""
    flags = rows.select(pl.col(labels).is_not_null()).unique(maintain_order=True).iter_rows()
    return [tuple(name for name, has_level in zip(labels, row, strict=True) if has_level) for row in flags]


def _describe_labels(names: Sequence[str]) -> str:
    return f"by {' and '.join(names)}" if names else "over everything"


def _row(view: View, of: Of, model: str, e: Estimate, *, nested: bool) -> tuple[object, ...]:
    texts = [view.title(name, e[name], e) for name in of.by] or ["everything"]
    texts = [", ".join(reversed(texts))] if nested else texts
    floor = view.numbers.floor(e)
    signed, per = view.is_signed(e), writing(e.written_unit).per
    direction = ("up" if (e.value or 0.0) > 0 else "down") if signed else "plain"
    return (
        texts[0], texts[1] if len(texts) > 1 else "", model, e.verdict or "not judged", direction, view.detail(e),
        *(None if size is None else per * size for size in (
            e.value, e.low, e.high, e.page_low, e.page_high,
            None if floor is None else -floor if signed else 0.0, floor,
        )),
        e.n, e.clusters,
    )  # fmt: skip


def _draw_chart(data: pl.DataFrame, title: str, e: Estimate, *, signed: bool) -> "altair.TopLevelMixin":
    alt = _altair()
    writes = writing(e.written_unit)
    unit = ", ".join(filter(None, (writes.word or writes.sign, "95% intervals")))
    models = data["model"].unique(maintain_order=True).to_list()
    order = data.sort("value", descending=True)["row"].unique(maintain_order=True).to_list()
    many, panels = len(models) > 1, data["panel"].unique(maintain_order=True).to_list()
    offset = {"yOffset": alt.YOffset("model:N", sort=models)} if many else {}
    y = alt.Y("row:N", sort=order, title=None, axis=alt.Axis(labelLimit=260, ticks=False, domain=False))
    names, colours = (models, _MODELS * (len(models) // 4 + 1)) if many else (list(_COLOURS), _COLOURS.values())
    colour = alt.Color(
        f"{'model' if many else 'direction'}:N", title="model", legend=alt.Legend(orient="top") if many else None,
        scale=alt.Scale(domain=names, range=list(colours)[: len(names)]),
    )  # fmt: skip
    base = alt.Chart(data).encode(y=y, **offset)

    def span(low: str, high: str, **look: Any) -> Any:
        ends = {"x": alt.X(f"{low}:Q", title=unit), "x2": f"{high}:Q"}
        return base.transform_filter(alt.datum[low] != None).mark_rule(**look).encode(**ends)  # noqa: E711 - not Python's

    tooltip = [alt.Tooltip("row:N", title=" "), alt.Tooltip("model:N"), alt.Tooltip("estimate:N")]
    thick = 11 if many else 18
    is_found = alt.datum.verdict == str(Verdict.DIFFERENCE)
    layers = [
        span("floor_low", "floor_high", strokeWidth=thick, opacity=0.25, color=_BAND),
        span("page_low", "page_high", strokeWidth=1).encode(color=colour),
        span("low", "high", strokeWidth=3).encode(color=colour),
        base.mark_point(size=55, filled=True, fill="white", strokeWidth=1.8, opacity=1).encode(
            x="value:Q", stroke=colour, tooltip=tooltip, fill=alt.condition(is_found, colour, alt.value("white"))
        ),
        *([alt.Chart(data).mark_rule(color=_ZERO).encode(x=alt.datum(0))] if signed else []),
    ]
    height = alt.Step(_ROW if not many else max(_ROW, 13 * len(models)), **({"for": "position"} if many else {}))
    layered = alt.layer(*layers).properties(width=_PANEL if len(panels) > 1 else _WIDTH, height=height)
    if len(panels) == 1:
        return layered.properties(title=title)
    return layered.facet(facet=alt.Facet("panel:N", sort=panels, title=None), columns=2).properties(title=title)


def _altair() -> Any:
    try:
        import altair  # noqa: PLC0415 - an extra
    except ImportError:
        raise DependencyError("altair", "plot") from None
    return altair


def view_of(runs: Sequence[StoredRun], estimates: pl.DataFrame) -> View:
    """Estimates of runs as a report's page words them."""
    study = study_of(runs)
    names = names_for_people(runs)
    models = [names[run.model] for run in runs]
    return page_view(page_of(study), rename_models(estimates, names), runs[0].measures, study.about.titles, models)
