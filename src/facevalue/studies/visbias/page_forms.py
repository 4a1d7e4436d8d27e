"""Forms on VisBias's page: which choice shifts which field, how fields were read, and what people say of it."""

from collections.abc import Mapping, Sequence

from facevalue.measures.caveats import counted_caveats
from facevalue.measures.rater_agreement import FLAG, RATERS
from facevalue.protocol.contents import (
    Entry,
    Folded,
    Ledger,
    Link,
    Links,
    Made,
    Mark,
    Marks,
    Paragraph,
    ShareBar,
    Table,
)
from facevalue.protocol.look import Look, Of, Words
from facevalue.protocol.lookup import Estimate
from facevalue.studies.visbias.measures import ROUTE

WORDS = Words(__package__)
FORMS = ("form", "text-form")
PAIR = ("attribute", "choice", "other_attribute", "likeliest")
_FOUND, _OTHERS, _DRAWN = 150, 20, 14
"""Associations in the table, found and not, and in the drawing."""
_PUBLISHED = 1.0
"""KL from which the paper gives a pair to raters."""
_FULL = 3.0
"""KL, in nats, from which marks grow no more."""
_IF, _THEN = "{attribute:field}", "{other_attribute:field}"


def shifts(task: str, fields: str) -> Of:
    """Associations of forms of one task and kind of fields; found first, then by how far they shift."""
    return Of("attribute_shift", PAIR, {"task": task, "fields": fields}, order="largest")


def forms(look: Look) -> Sequence[Made]:
    """Of each task with forms: how fields were read, then what shifts what."""
    words = WORDS("forms.said")
    out: list[Made] = []
    for task in FORMS:
        routes = _routes(look, task)
        graphs = [content for fields, title in WORDS("forms.fields").items()
                  for content in _graph(look, task, fields, title)]  # fmt: skip
        if routes or graphs:
            out += [Paragraph(look.title("task", task), "h3"), *routes]
            out += graphs or [Paragraph(words["empty"], "empty")]
    if not out:
        return [Paragraph(words["no_forms"], "empty")]
    agreed = look.find("rater_agreement")
    alpha = "" if agreed is None else f"{look.value(agreed)} {look.interval(agreed)}"
    return [*out, Paragraph(words["rated"].format(alpha=alpha) if alpha else words["unrated"], "small")]


def _routes(look: Look, task: str) -> list[Made]:
    """Routes from open fields to their categories."""
    routes = look.rows(Of(ROUTE.key, ("outcome",), {"task": task}))
    if not routes:
        return []
    words = WORDS("forms.routes")
    kept_share = look.find("kept_share", task=task)
    share = "" if kept_share is None else f"{look.value(kept_share)} {look.interval(kept_share)}"
    ordered = sorted(routes, key=lambda e: (e["outcome"] or "").startswith("none"))
    fields = look.rows(Of(ROUTE.key, ("outcome", "attribute"), {"task": task}))
    lines = [((look.said("{attribute:field|all fields}", e), e["outcome"] or ""), e) for e in (*routes, *fields)]
    return [
        Paragraph(words["lead"] + (words["kept"].format(share=share) if share else "")),
        ShareBar(words["title"], words["label"], tuple((e["outcome"] or "", e) for e in ordered)),
        Table(words["table"], words["heads"], tuple(lines)),
    ]


def _graph(look: Look, task: str, fields: str, title: str) -> list[Made]:
    """Shifts in forms of one task and kind of fields, by choice and category: a drawing and a table."""
    rows = look.rows(shifts(task, fields))
    if not rows:
        return []
    words = WORDS("forms.found")
    measured = [e for e in rows if e.value is not None]
    findings = [e for e in measured if look.found(e)]
    above = sum((e.value or 0.0) > _PUBLISHED for e in measured)
    counts = {
        "found": len(findings) or "none",
        "caveats": counted_caveats(e.caveat for e in findings),
        "measured": len(measured),
        "above": above,
    }
    head = Paragraph(title, "h4", words["counts"].format(**counts))
    if not measured:
        return [head, Paragraph(look.interval(rows[0]), "empty")]
    listed = [*findings[:_FOUND], *[e for e in measured if not look.found(e)][:_OTHERS]]
    rated = {_pair(e): e for e in look.rows(Of("human_rating", PAIR))}
    heads = WORDS("forms.table")["heads"]
    table = Ledger(title, heads if rated else heads[:-1], tuple(_row(look, e, rated) for e in listed), (5, 8, 9))
    left = len(findings) - _FOUND
    more = (Paragraph(words["more"].format(left=left), "small"),) if left > 0 else ()
    note = words["listed"].format(rows=len(listed), measured=len(measured))
    return [
        head,
        Links(lines=tuple(_link(look, e) for e in findings[:_DRAWN]), **WORDS("forms.links")),
        Folded(words["title"], (table, *more), note, open=bool(findings) and fields == "completed"),
    ]


def _pair(e: Estimate) -> tuple[str | None, ...]:
    return tuple(e[name] for name in PAIR)


def _link(look: Look, e: Estimate) -> Link:
    if_, then = look.said(_IF, e), look.said(_THEN, e)
    sentence = f"{if_} {e['choice']}: {then} {e['likeliest']}, {look.value(e)}"
    return Link((if_, e["choice"] or ""), (then, e["likeliest"] or ""), e.value or 0.0, sentence)


def _row(look: Look, e: Estimate, rated: Mapping[tuple[str | None, ...], Estimate]) -> tuple[Entry, ...]:
    likely = look.beside("likely_share", e)
    texts = (look.said(_IF, e), e["choice"] or "–", look.said(_THEN, e), e["likeliest"] or "–",
             "–" if likely is None else f"{look.value(likely)} {look.interval(likely)}")  # fmt: skip
    return (
        *map(Entry, texts),
        Entry(look.value(e), strong=look.found(e), of=e),
        Entry(look.interval(e)),
        Entry(look.floor(e), quiet=True),
        Entry(look.said("{q|–}", e)),
        Entry(f"{e.n or 0:,}"),
        Entry("–", judged=e),
        *((Entry(_people_say(look, rated.get(_pair(e)))),) if rated else ()),
    )


def _people_say(look: Look, e: Estimate | None) -> str:
    if e is None or e.value is None:
        return "not rated"
    verdict = "too few raters" if (e.n or 0) < RATERS else "biased" if e.value >= FLAG else "not biased"
    return f"{verdict}, mean {look.value(e, bare=True)} of 5 ({e.n or 0} raters)"


def panels(look: Look) -> Sequence[Made]:
    """For each task with forms, which choices of every field shift the others most, in every model."""
    words = WORDS("panels.said")
    out: list[Made] = []
    for task in FORMS:
        strongest = {model: _strongest(look.of_model(model), task) for model in look.models}
        pairs = list(dict.fromkeys(pair for largest in strongest.values() for pair in largest))
        contents = tuple(
            _panel(look, field, [then for if_, then in pairs if if_ == field], strongest)
            for field in dict.fromkeys(if_ for if_, _ in pairs)
        )
        if contents:
            note = words["note"].format(fields=len(contents))
            out.append(Folded(look.title("task", task), contents, note, open=not out))
    return out or [Paragraph(words["empty"], "empty")]


_Strongest = Mapping[tuple[str, str], tuple[Estimate, bool]]
"""By two fields: the largest shift of the second by the first, and whether people call it biased."""


def _strongest(look: Look, task: str) -> _Strongest:
    rated = look.rows(Of("human_rating", PAIR))
    biased = {_pair(e) for e in rated if (e.n or 0) >= RATERS and (e.value or 0.0) >= FLAG}
    largest: dict[tuple[str, str], Estimate] = {}
    for e in look.rows(shifts(task, "completed")):
        key = e["attribute"] or "", e["other_attribute"] or ""
        if e.value is not None and (key not in largest or e.value > (largest[key].value or 0.0)):
            largest[key] = e
    return {key: (e, _pair(e) in biased) for key, e in largest.items()}


def _panel(look: Look, field: str, others: Sequence[str], strongest: Mapping[str, _Strongest]) -> Marks:
    """Shifts of other fields by one, in every model: its choice that shifts each most as a letter, larger for more."""
    cells = [[largest.get((field, then)) for largest in strongest.values()] for then in others]
    choices = tuple(dict.fromkeys(cell[0]["choice"] or "" for row in cells for cell in row if cell is not None))

    def mark(cell: tuple[Estimate, bool] | None) -> Mark | None:
        if cell is None:
            return None
        e, biased = cell
        letter = chr(ord("A") + choices.index(e["choice"] or ""))
        sentence = f"{e['choice']}: {look.said(_THEN, e)} {e['likeliest']}. {look.said('{value}', e)}"
        return Mark(
            letter, look.value(e, bare=True), min((e.value or 0.0) / _FULL, 1.0), look.found(e), biased, sentence
        )

    titles = [look.title("field", name) for name in (field, *others)]
    rows = tuple((title, tuple(map(mark, row))) for title, row in zip(titles[1:], cells, strict=True))
    return Marks(titles[0], choices, ("What it shifts", *strongest), rows)
