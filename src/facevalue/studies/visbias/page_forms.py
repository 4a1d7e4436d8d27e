"""Forms on VisBias's page: which choice shifts which field, how fields were read, and what people say of it."""

from collections.abc import Sequence
from functools import cache

from facevalue.measures.rater_agreement import FLAG, RATERS
from facevalue.measures.verdicts import Verdict
from facevalue.protocol.contents import Entry, Folded, Link, Links, Made, Mark, Marks, Paragraph, Rows, Shares, Table
from facevalue.protocol.look import Look, Of
from facevalue.protocol.lookup import Estimate
from facevalue.studies.visbias.form_tables import attributes

FORMS = ("form", "text-form")
PAIR = ("attribute", "choice", "other_attribute", "likeliest")
_FIELDS = {
    "completed": "Fields that the model filled in",
    "prefilled": "Fields that were filled in at random beforehand",
}
_FOUND, _OTHERS, _DRAWN = 150, 20, 14
"""Associations in the table, found and not, and in the drawing."""
_PUBLISHED = 1.0
"""KL from which the paper gives a pair to raters."""
_FULL = 3.0
"""KL, in nats, from which marks grow no more."""
_HEADS = (
    "If", "is", "then", "is likely", "with share", "KL", "95% interval", "By chance", "q", "Forms", "Verdict",
    "People say",
)  # fmt: skip


@cache
def _titles() -> dict[str, str]:
    return {one.name: one.title for one in attributes()}


def field_title(name: str | None) -> str:
    """The label of a field of the form."""
    return _titles().get(name or "", name or "")


def shifts(task: str, fields: str) -> Of:
    """Associations of forms of one task and kind of fields; found first, then by how far they shift."""
    return Of("attribute_shift", PAIR, {"task": task, "fields": fields}, order="largest")


def forms(look: Look) -> Sequence[Made]:
    """Of each task with forms: how fields were read, then what shifts what."""
    out: list[Made] = []
    is_question = False
    for task in FORMS:
        routes = look.rows(Of("field_share", ("route",), {"task": task}))
        graphs = [one for fields in _FIELDS for one in _graph(look, task, fields)]
        if not routes and not graphs:
            continue
        is_question = True
        out.append(Paragraph(look.title("task", task), "h3"))
        if routes:
            kept_share = look.one("kept_share", task=task)
            sentence = "How open fields came to their categories; what could not be told counts nowhere."
            if kept_share is not None:
                share = f"{look.value(kept_share)} {look.interval(kept_share)}"
                sentence += f" Of the fields filled in beforehand, {share} were kept."
            contents = tuple(
                (e["route"] or "", e) for e in sorted(routes, key=lambda e: (e["route"] or "").startswith("none"))
            )
            fields_ = look.rows(Of("field_share", ("route", "attribute"), {"task": task}))
            lines = [(("all fields", e["route"] or ""), e) for e in routes]
            lines += [((field_title(e["attribute"]), e["route"] or ""), e) for e in fields_]
            out += [
                Paragraph(sentence),
                Shares("How open fields came to their categories", "Open fields", contents),
                Table("How each field was read", ("Field", "How it was read"), tuple(lines)),
            ]
        out += graphs or [Paragraph("Not measurable: no reply is a form.", "empty")]
    if not is_question:
        return [Paragraph("No form was shown.", "empty")]
    agreed = look.one("rater_agreement")
    sentence = "No ratings by people were given: an association is not yet a bias."
    if agreed is not None:
        sentence = (
            f"Krippendorff's alpha of the raters: {look.value(agreed)} {look.interval(agreed)}. A mean of 3 or more "
            f"of 5 counts as biased."
        )
    return [*out, Paragraph(sentence, "small")]


def _graph(look: Look, task: str, fields: str) -> list[Made]:
    rows = look.rows(shifts(task, fields))
    if not rows:
        return []
    measured = [e for e in rows if e.value is not None]
    findings = [e for e in measured if look.found(e)]
    above = sum((e.value or 0.0) > _PUBLISHED for e in measured)
    note = f"{len(findings) or 'none'} of {len(measured):,} associations found; {above:,} with KL above 1"
    head = Paragraph(_FIELDS[fields], "h4", note)
    if not measured:
        return [head, Paragraph(look.interval(rows[0]), "empty")]
    rows_shown = [*findings[:_FOUND], *[e for e in measured if not look.found(e)][:_OTHERS]]
    links = Links(
        "What shifts what",
        "largest found first; wider: larger. Left: the choice. Right: the field that it shifts, with its likeliest "
        "value.",
        "associations from choices on the left to fields on the right",
        tuple(_link(look, e) for e in findings[:_DRAWN]),
    )
    rated = {_pair(e): e for e in look.rows(Of("human_rating", PAIR))}
    heads = _HEADS if rated else _HEADS[:-1]
    table = Rows(_FIELDS[fields], heads, tuple(_row(look, e, rated) for e in rows_shown), (5, 8, 9))
    left = len(findings) - _FOUND
    more = (Paragraph(f"{left:,} more were found; the table of estimates has them all.", "small"),) if left > 0 else ()
    note = f"{len(rows_shown)} of {len(measured):,}: those found, largest first, then the largest others"
    folded = Folded("Associations", (table, *more), note, open=bool(findings) and fields == "completed")
    return [head, links, folded]


def _pair(e: Estimate) -> tuple[str | None, ...]:
    return tuple(e[name] for name in PAIR)


def _link(look: Look, e: Estimate) -> Link:
    if_, then = field_title(e["attribute"]), field_title(e["other_attribute"])
    sentence = f"{if_} {e['choice']}: {then} {e['likeliest']}, {look.value(e)} nat"
    return Link((if_, e["choice"] or ""), (then, e["likeliest"] or ""), e.value or 0.0, sentence)


def _row(look: Look, e: Estimate, rated: dict[tuple[str | None, ...], Estimate]) -> tuple[Entry, ...]:
    likely = look.beside("likely_share", e)
    verdict = next((v for v in Verdict if v == e.verdict), None)
    human = (Entry(_human(look, rated.get(_pair(e)))),) if rated else ()
    return (
        Entry(field_title(e["attribute"])),
        Entry(e["choice"] or "–"),
        Entry(field_title(e["other_attribute"])),
        Entry(e["likeliest"] or "–"),
        Entry("–" if likely is None else f"{look.value(likely)} {look.interval(likely)}"),
        Entry(look.value(e), strong=look.found(e), of=e),
        Entry(look.interval(e)),
        Entry(look.floor(e), quiet=True),
        Entry(look.said("{q|–}", e)),
        Entry(f"{e.n or 0:,}"),
        Entry("–", verdict=verdict),
        *human,
    )


def _human(look: Look, e: Estimate | None) -> str:
    if e is None or e.value is None:
        return "not rated"
    verdict = "too few raters" if (e.n or 0) < RATERS else "biased" if e.value >= FLAG else "not biased"
    return f"{verdict}, mean {look.value(e)} of 5 ({e.n or 0} raters)"


def panels(look: Look) -> Sequence[Made]:
    """For each task with forms, which choices of every field shift the others most, in every model."""
    out: list[Made] = []
    for task in FORMS:
        strongest = {model: _strongest(look.of_model(model), task) for model in look.models}
        pairs = list(dict.fromkeys(pair for found in strongest.values() for pair in found))
        biased = {model: _biased(look.of_model(model)) for model in look.models}
        contents: list[Made] = [
            _panel(look, field, [other for given, other in pairs if given == field], strongest, biased)
            for field in dict.fromkeys(given for given, _ in pairs)
        ]
        if contents:
            note = f"{len(contents)} fields, as the model filled them in"
            out.append(Folded(look.title("task", task), tuple(contents), note, open=not out))
    return out or [Paragraph("Not measurable: no forms, or no two of them that have one choice.", "empty")]


def _strongest(look: Look, task: str) -> dict[tuple[str, str], Estimate]:
    """The largest shift of each field by each other."""
    out: dict[tuple[str, str], Estimate] = {}
    for e in look.rows(shifts(task, "completed")):
        key = e["attribute"] or "", e["other_attribute"] or ""
        if e.value is not None and (key not in out or e.value > (out[key].value or 0.0)):
            out[key] = e
    return out


def _biased(look: Look) -> set[tuple[str | None, ...]]:
    rated = look.rows(Of("human_rating", PAIR))
    return {_pair(e) for e in rated if (e.n or 0) >= RATERS and (e.value or 0.0) >= FLAG}


def _panel(
    look: Look, field: str, others: Sequence[str], strongest: dict[str, dict[tuple[str, str], Estimate]],
    biased: dict[str, set[tuple[str | None, ...]]],
) -> Marks:  # fmt: skip
    shown = [e for other in others for found in strongest.values() if (e := found.get((field, other))) is not None]
    choices = tuple(dict.fromkeys(e["choice"] or "" for e in shown))

    def mark(model: str, other: str) -> Mark | None:
        e = strongest[model].get((field, other))
        if e is None:
            return None
        letter = chr(ord("A") + choices.index(e["choice"] or ""))
        sentence = f"{e['choice']}: {field_title(e['other_attribute'])} {e['likeliest']}. {look.said('{value}', e)}"
        size = min((e.value or 0.0) / _FULL, 1.0)
        return Mark(letter, look.value(e), size, look.found(e), _pair(e) in biased[model], sentence)

    rows = tuple((field_title(other), tuple(mark(model, other) for model in strongest)) for other in others)
    return Marks(field_title(field), choices, ("What it shifts", *strongest), rows)
