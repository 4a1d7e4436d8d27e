"""Layout of sections: the one place that knows every block."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from markupsafe import Markup

from facevalue.measures.caveats import counted_caveats
from facevalue.measures.definitions import APART, NO_INTERVENTION
from facevalue.protocol import blocks, contents
from facevalue.protocol.look import Of
from facevalue.protocol.lookup import CROSSED, Estimate, rows_to_estimates
from facevalue.protocol.page import Page, Section
from facevalue.report import charts
from facevalue.report.blocks import content as ready
from facevalue.report.blocks import intervals, plots, tables
from facevalue.report.blocks.content import (
    AnswerCard,
    AnswersContent,
    CaptionedPicture,
    Content,
    PartContent,
    PictureRow,
    StripRow,
    StripsContent,
    TableCell,
    TableContent,
    TableHead,
    TextContent,
    data_uri,
)
from facevalue.report.blocks.intervals import numbers, said_verdict, wrap_chart
from facevalue.report.blocks.plots import classes, distribution, stacked_bars
from facevalue.report.blocks.view import View
from facevalue.report.data import Album, AnyExample, Example, PairExample, Sentence, WholeSet
from facevalue.report.formatting import DASH, NOT_MEASURABLE, count, in_unit, number, share_of_chance, tick

# Stored answers and pictures of a report, made ready.


MOST = 12
_SMALL = 144
"""Longest side of pictures in a gallery, in pixels."""


def picture_row(gallery: Album) -> PictureRow:
    """Make a row of the pictures of one unit."""
    thumbnails = (CaptionedPicture(caption, data_uri(data, _SMALL)) for caption, data in gallery.pictures)
    return PictureRow(gallery.title, tuple(picture for picture in thumbnails if picture.uri))


def widest_set(whole_set: WholeSet) -> PictureRow:
    """A set with what was said of each picture, the highest score first."""
    replies = sorted(whole_set.replies, key=lambda reply: -reply[1])
    thumbnails = (
        CaptionedPicture(f"{caption}: {number(score, '1')}", data_uri(data, _SMALL) if data else None, reply=text)
        for caption, score, text, data in replies
    )
    return PictureRow(f"{whole_set.title} ({whole_set.model})", tuple(thumbnails))


def stored_answers(block: blocks.StoredAnswers, view: View, examples: Sequence[AnyExample]) -> list[Content]:
    """Stored answers, a dozen at most."""
    picked = [e for e in examples if isinstance(e, (Example, PairExample)) and not isinstance(e, Sentence)][:MOST]
    heading: list[Content] = [TextContent(block.heading, "h3")] if block.heading else []
    if not picked:
        return [*heading, TextContent(block.empty, "empty")] if block.empty else []
    contents = [_comparison_card(e, view) if isinstance(e, Example) else _answer(e) for e in picked]
    wide = any(isinstance(e, PairExample) for e in picked)
    return [*heading, TextContent(block.lead), AnswersContent(contents, wide)]


def _comparison_card(e: Example, view: View) -> AnswerCard:
    """A stimulus without and with what was changed."""
    cue = view.titles.variation(e.attribute, e.variation)
    attribute = view.titles.get("attribute", e.attribute)
    shift = NOT_MEASURABLE
    if e.base_phi is not None and e.variant_phi is not None:
        shift = number(e.variant_phi - e.base_phi, APART, signed=True)
    sides = tuple(
        (
            CaptionedPicture(caption, data_uri(picture), e.no_picture),
            (("preference score", NOT_MEASURABLE if phi is None else number(phi, "probability")),),
            reply,
            choice,
        )
        for picture, caption, reply, phi, choice in (
            (e.base_image, e.base_title, e.base_answer, e.base_phi, e.base_choice),
            (e.variant_image, cue, e.variant_answer, e.variant_phi, e.variant_choice),
        )
    )
    finding = f"{view.titles.poles(e.scenario)}: shift {shift} · {attribute}"
    return AnswerCard(e.title, finding, e.model, sides, e.prompt)


def _answer(e: PairExample) -> AnswerCard:
    side = (CaptionedPicture("", data_uri(e.image, e.longest), e.no_picture), (), e.answer, e.choice)
    return AnswerCard(e.title, e.finding, e.model, (side,), e.prompt, e.options, e.left, e.right)


# Estimates without and with each intervention, beside each other.


Both = tuple[Of, Estimate, Estimate]


def dumbbells(block: blocks.Dumbbells, view: View) -> list[Content]:
    """A plot per intervention, with a row per estimate."""
    rows = {
        name: [pair for of in block.of for pair in _intervention_pairs(view, of, name)] for name in view.interventions
    }
    values = [
        v
        for pairs in rows.values()
        for _, plain, changed in pairs
        for v in (plain.value, changed.value)
        if v is not None
    ]
    if not values:
        return []
    over = charts.scale(min([*values, 0.0]), max([*values, 0.0]))
    plots: list[Content] = []
    for name, pairs in rows.items():
        if pairs:
            axis = charts.axis(over, [tick(value, pairs[0][1].written_unit) for value in over.ticks])
            strips = [_dumbbell_row(view, block, over, *pair) for pair in pairs]
            what = in_unit(block.what, [e.written_unit for _, e, _ in pairs])
            title = view.titles.get("intervention", name)
            plots.append(StripsContent(axis, strips, what, title=title, first=block.first))
    changes = tuple(
        replace(of, where={**of.where, "versus": NO_INTERVENTION}, label=f"{title}|{of.label}", intervention=name)
        for name in view.interventions
        for title in [view.titles.get("intervention", name)]
        for of in block.of
    )
    behind = blocks.Numbers(of=changes, title=block.numbers, heads=("Intervention", *block.heads))
    return wrap_chart(block, plots, numbers(behind, view) if block.numbers else [])


def _intervention_pairs(view: View, of: Of, name: str) -> list[Both]:
    """Rows with their counterpart under an intervention, where it was asked."""
    under = view.numbers.under(view.model, name) or ""
    pairs = ((e, view.beside(e.measure, replace(e, model=under))) for e in view.rows(of))
    return [(of, e, changed) for e, changed in pairs if changed is not None]


def _dumbbell_row(
    view: View, block: blocks.Dumbbells, over: charts.AxisScale, of: Of, plain: Estimate, changed: Estimate
) -> StripRow:
    change = view.beside(plain.measure, changed.cell_versus(NO_INTERVENTION))
    text, note = view.label_note(of, plain)
    if block.beside:
        two = (view.value(view.beside(block.beside, e)) for e in (plain, changed))
        note = f"{note}{'; ' if note else ''}{block.said} {' → '.join(two)}"
    value = f"{view.value(plain, bare=True)} → {view.value(changed, bare=True)}"
    moved = DASH if change is None else f"change {view.said('{value}', change)}"
    detail = f"{value}, {moved}; {note}"
    svg = charts.dumbbell(over, plain.value, changed.value, f"{text}: {detail}")
    sort = changed.value if changed.value is not None else float("-inf")
    differs = change is not None and view.found(change)
    return StripRow(text, note, svg, value, moved, detail, sort, differs, "", Markup(""), changed)


# Words that mark groups, each with its numbers and a sentence in which it stands.


Sentences = Mapping[tuple[str | None, ...], Sentence]


def word_lists(block: blocks.WordLists, view: View, sentences: Sentences) -> list[Content]:
    """A list of words of each group, those found first, then by rank."""
    groups: dict[tuple[str | None, ...], list[Estimate]] = {}
    others = [name for name in block.of.labels if name != block.word]
    for e in view.rows(block.of):
        groups.setdefault(tuple(e[name] for name in others), []).append(e)
    if not groups:
        return [TextContent(block.empty, "empty")] if block.empty else []
    out: list[Content] = []
    for key in sorted(groups, key=str):
        words = groups[key]
        caveats = [e.caveat for e in words if view.found(e)]
        count = len(caveats)
        words = sorted(words, key=lambda e: (not view.found(e), -_size(view.beside(block.rank, e))))
        title, _, note = view.said(block.title, words[0]).partition("|")
        rows = [_word_row(block, view, e, sentences) for e in words[: block.most]]
        contents: list[Content] = [TableContent(f"Words of {title} {note}", _heads(block), rows)]
        levels = dict(zip(others, key, strict=True))
        labels = {**block.published.where, **{n: v for n, v in levels.items() if n in block.published.labels and v}}
        ranked = view.rows(Of(block.published.measure, block.published.by, labels))
        ranked = sorted(ranked, key=lambda e: e.value or 0.0)[: block.most]
        names = ", ".join(dict.fromkeys(e[block.word] or "(empty word)" for e in ranked))
        if names:
            contents.append(TextContent(f"{block.published_title}: {names}.", "small"))
        note = f"{note}: {count or 'none'} of {len(words)} words found{counted_caveats(caveats)}"
        out.append(
            PartContent(title, contents, note, "open" if count or not out else "closed", class_="numbers wordlist")
        )
    return out


def _heads(block: blocks.WordLists) -> tuple[TableHead, ...]:
    return (
        TableHead("Word"), TableHead(block.rank_title, number=True), TableHead("Log odds", number=True),
        TableHead("95% interval", sort=False), TableHead("Tokens", number=True), TableHead("Descriptions", number=True),
        TableHead("q", number=True), TableHead("Verdict"), TableHead("In a sentence of the run", sort=False),
    )  # fmt: skip


def _word_row(block: blocks.WordLists, view: View, e: Estimate, sentences: Sentences) -> tuple[TableCell, ...]:
    rank = view.beside(block.rank, e)
    word, icon = said_verdict(e)
    quoted = sentences.get((e["dimension"], e["group"], e[block.word]))
    quote = TableCell(DASH, quiet=True) if quoted is None else TableCell("", marked=tuple(quoted.parts))
    return (
        TableCell(e[block.word] or "", strong=view.found(e), title=view.detail(e), of=e),
        TableCell(DASH if rank is None else number(rank.value, rank.written_unit, bare=True)),
        TableCell(number(e.value, e.written_unit, signed=True, bare=True)),
        TableCell(view.interval(e)),
        TableCell(count(e.n)),
        TableCell(DASH if rank is None else count(rank.n)),
        TableCell(share_of_chance(e.verdict_q)),
        TableCell(word or DASH, icon=icon),
        quote,
    )


def _size(e: Estimate | None) -> float:
    return 0.0 if e is None or e.value is None else abs(e.value)


@dataclass(frozen=True)
class Builder:
    """Makes contents of blocks."""

    view: View
    examples: Sequence[AnyExample] = ()
    sentences: Mapping[tuple[str | None, ...], Sentence] = field(default_factory=dict)

    @classmethod
    def from_view(cls, view: View, examples: Sequence[AnyExample] = ()) -> "Builder":
        """A builder with the sentences among the examples by whom they are of."""
        quoted: dict[tuple[str | None, ...], Sentence] = {
            (e.dimension, e.group, e.word): e for e in examples if isinstance(e, Sentence)
        }
        return cls(view, examples, quoted)

    def sections(self, page: Page) -> list[ready.SectionContent]:
        """All sections."""
        return [self.section(section) for section in page.sections]

    def section(self, section: Section) -> ready.SectionContent:
        """One section; with a part for each model, if it has them and there are several."""
        view = self.view
        out: list[ready.Content] = [ready.TextContent(section.lead)] if section.lead else []
        if section.each_model and len(view.models) > 1:
            listed = view.shown_models if section.large else view.models
            by_model = ((model, self.build_blocks(section.blocks, view.narrow(model))) for model in listed)
            for place, (model, children) in enumerate(pair for pair in by_model if pair[1]):
                out.append(
                    ready.PartContent(model, children, fold="closed" if place else "open", class_="numbers model-part")
                )
        else:
            model = view.models[0] if section.each_model and view.models else view.model
            out += self.build_blocks(section.blocks, view.narrow(model))
        if section.large and view.left_out:
            out.append(ready.TextContent(view.left_out, "small"))
        alone = section.alone if len(view.models) == 1 else ""
        return ready.SectionContent(section.id, section.title, alone or section.heading or section.title, out)

    def build_blocks(self, declared: Sequence[blocks.Block], view: View) -> list[ready.Content]:
        """Make the contents of blocks, in order."""
        return [content for block in declared for content in self.block(block, view)]

    def block(self, block: blocks.Block, view: View) -> list[ready.Content]:
        """Make the contents of one block."""
        maker = _MAKERS.get(type(block))
        if maker is not None:
            return maker(block, view)
        match block:
            case str():
                return [ready.TextContent(block)]
            case blocks.WordLists():
                return word_lists(block, view, self.sentences)
            case blocks.Pictures():
                rows: list[ready.Content] = [picture_row(e) for e in self.examples if isinstance(e, Album)]
                return [ready.TextContent(block.heading, "h3"), ready.TextContent(block.lead), *rows] if rows else []
            case blocks.Widest():
                return [widest_set(e) for e in self.examples if isinstance(e, WholeSet)]
            case blocks.StoredAnswers():
                return stored_answers(block, view, self.examples)
            case blocks.Each():
                return self.build_each(block, view)
            case blocks.Fold():
                children = self.build_blocks(block.blocks, view)
                only_text = all(isinstance(content, ready.TextContent) for content in children)
                fold = "open" if block.open else "closed"
                return (
                    []
                    if only_text
                    else [ready.PartContent(block.title, children, block.note, fold, class_=block.class_)]
                )
            case blocks.Side():
                children = self.build_blocks(block.blocks, view)
                return [ready.SideContent(children)] if children else []
            case blocks.PerModel():
                by_model = ((model, self.build_blocks(block.blocks, view.narrow(model))) for model in view.models)
                return [
                    ready.PartContent(block.title.replace("{model}", model), children)
                    for model, children in by_model
                    if children
                ]
            case blocks.Many():
                return self.build_blocks(block.blocks if len(view.models) > 1 else block.one, view)
            case _:
                raise TypeError(f"no renderer for {type(block).__name__}")

    def build_each(self, block: blocks.Each, view: View) -> list[ready.Content]:
        """The same blocks for every cell of a breakdown."""
        groups: dict[tuple[str | None, ...], list[Estimate]] = {}
        for of in block.cells:
            for e in _cells(block, of, view):
                groups.setdefault(tuple(e[name] for name in block.over), []).append(e)
        keys = [key for key, estimates in groups.items() if not block.nonzero or any(e.value for e in estimates)]
        if block.order == "found":
            keys.sort(key=lambda key: -sum(view.found(e) for e in groups[key]))
        if block.order == "crossed":
            keys.sort(key=_is_crossed)
        out: list[ready.Content] = []
        for key in keys:
            cell_view = view.narrow(bound=dict(zip(block.over, key, strict=True)))
            children = self.build_blocks(block.blocks, cell_view)
            if children:
                if not block.title:
                    out += children
                    continue
                out.append(
                    self._cell(block, cell_view, groups[key][0], children, first=not out, crossed=_is_crossed(key))
                )
        if not out:
            return [ready.TextContent(block.empty, "empty")] if block.empty else []
        heading: list[ready.Content] = [ready.TextContent(block.heading, "h3")] if block.heading else []
        intro = block.intro(view) if callable(block.intro) else block.intro
        lead: list[ready.Content] = [ready.TextContent(intro)] if intro else []
        return [*heading, *lead, *out]

    def _cell(
        self, block: blocks.Each, view: View, e: Estimate, children: list[ready.Content], *, first: bool, crossed: bool
    ) -> ready.PartContent:
        note = block.note(view) if callable(block.note) else view.said(block.note, e) if block.note else ""
        lead = block.lead(view) if callable(block.lead) else block.lead
        if lead and not (crossed and block.fold == "crossed"):
            children = [ready.TextContent(lead), *children]
        folds = {"": "", "closed": "closed", "open": "open", "first": "open" if first else "closed",
                 "crossed": "closed" if crossed else ""}  # fmt: skip
        if crossed and block.fold == "crossed" and lead:
            note = lead
        class_ = "dimension" if block.boxed else "numbers"
        return ready.PartContent(view.said(block.title, e), children, note, folds[block.fold], block.level, class_)


def _cells(block: blocks.Each, of: Of, view: View) -> list[Estimate]:
    """Estimates of all cells in the order of the table; one of each where no more is asked of them."""
    if block.order == "found" or block.nonzero:
        return view.rows(replace(of, order="given"))
    frame = view.frame(of)
    over = [name for name in block.over if name in frame.columns]
    return list(rows_to_estimates(frame.unique(over, keep="first", maintain_order=True) if over else frame.head(1)))


def _is_crossed(key: tuple[str | None, ...]) -> bool:
    """Return whether the first label of a cell crosses two."""
    return bool(key) and CROSSED in (key[0] or "")


def prose(block: blocks.Prose, view: View) -> list[ready.Content]:
    """A text with numbers."""
    text = block.text(view)
    if not text:
        return []
    if isinstance(text, str):
        return [ready.TextContent(text, "small" if block.small else "lead")]
    return [ready.Facts(tuple(text))]


def build_own_block(block: blocks.Own, view: View) -> list[ready.Content]:
    """The contents of a study's own block."""
    return [content for built in block.build(view) for content in _to_contents(built, view)]


def _to_contents(content: contents.Made, view: View) -> list[ready.Content]:
    match content:
        case contents.Paragraph():
            return [ready.TextContent(content.text, content.how, content.note)]
        case contents.Ledger():
            heads = tuple(
                ready.TableHead(head, number=place in content.numbers, quiet=place in content.quiet)
                for place, head in enumerate(content.heads)
            )
            return [
                ready.TableContent(
                    content.title, heads, [tuple(map(_entry, row)) for row in content.rows], tall=len(content.rows) > 12
                )
            ]
        case contents.Links():
            figure = plots.links(content)
            return [] if figure is None else [figure]
        case contents.Marks():
            return [ready.Panels([_panel(content)])]
        case contents.Folded():
            marks = [_panel(o) for o in content.contents if isinstance(o, contents.Marks)]
            inner = [c for o in content.contents if not isinstance(o, contents.Marks) for c in _to_contents(o, view)]
            inner += [ready.Panels(marks)] if marks else []
            return [ready.PartContent(content.title, inner, content.note, "open" if content.open else "closed")]


def _entry(entry: contents.Entry) -> ready.TableCell:
    word, icon = intervals.said_verdict(entry.judged)
    return ready.TableCell(
        word or entry.text, entry.small, (), entry.sort, entry.strong, icon, quiet=entry.quiet, of=entry.of,
        class_=tables.colour_step(entry.shade) if entry.shade is not None else "",
    )  # fmt: skip


def _panel(chart: contents.Marks) -> ready.Panel:
    looks = classes(len(chart.keys), ordered=False)
    keys = {chr(ord("A") + index): ready.Key(chr(ord("A") + index), name, look) for index, (name, look) in enumerate(
        zip(chart.keys, looks, strict=True))}  # fmt: skip
    rows: list[tuple[str, list[tuple[Markup | None, str]]]] = []
    for title, marks in chart.rows:
        row_marks: list[tuple[Markup | None, str]] = []
        for mark in marks:
            if mark is None:
                row_marks.append((None, ""))
                continue
            look = keys[mark.letter].class_ if mark.found else "open"
            row_marks.append((plots.ring(f"{look} biased" if mark.ringed else look, mark.size, mark.tooltip),
                          f"{mark.letter} {mark.text}"))  # fmt: skip
        rows.append((title, row_marks))
    return ready.Panel(chart.title, tuple(keys.values()), chart.heads, rows)


_MAKERS: Mapping[type, Callable[..., list[ready.Content]]] = {
    blocks.Strips: intervals.strips,
    blocks.Dumbbells: dumbbells,
    blocks.Numbers: intervals.numbers,
    blocks.Heat: tables.heat,
    blocks.Grid: tables.grid,
    blocks.Stacked: stacked_bars,
    blocks.Scatter: plots.scatter,
    blocks.Cumulative: plots.cumulative,
    blocks.Distribution: distribution,
    blocks.Table: tables.table,
    blocks.Overview: tables.overview,
    blocks.Agreement: plots.agreement,
    blocks.Prose: prose,
    blocks.Say: lambda block, _view: [ready.TextContent(block.text, block.how)],
    blocks.Own: build_own_block,
}
