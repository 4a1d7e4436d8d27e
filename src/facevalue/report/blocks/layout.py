"""Layout of sections: the one place that knows every block."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from markupsafe import Markup

from facevalue.protocol import blocks, contents
from facevalue.protocol.look import Of
from facevalue.protocol.lookup import Estimate, made
from facevalue.protocol.page import Page, Section
from facevalue.report.blocks import answers, bars, cells, dumbbells, intervals, plots, tables, wordlists
from facevalue.report.blocks import content as ready
from facevalue.report.blocks.view import View
from facevalue.report.data import AnyExample, Gallery, Sentence, WholeSet
from facevalue.report.formatting import CROSSED
from facevalue.report.verdict import SHORT


@dataclass(frozen=True)
class Builder:
    """Makes contents of blocks."""

    view: View
    examples: Sequence[AnyExample] = ()
    sentences: Mapping[tuple[str | None, ...], Sentence] = field(default_factory=dict)

    @classmethod
    def of(cls, view: View, examples: Sequence[AnyExample] = ()) -> "Builder":
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
        out: list[ready.Content] = [ready.Text(section.lead)] if section.lead else []
        if section.each_model and len(view.models) > 1:
            listed = view.shown_models if section.large else view.models
            for place, model in enumerate(listed):
                own = self.shown(section.blocks, view.at(model))
                out.append(ready.Part(model, own, fold="closed" if place else "open", class_="numbers model-part"))
        else:
            model = view.models[0] if section.each_model and view.models else view.model
            out += self.shown(section.blocks, view.at(model))
        if section.large and view.left_out:
            out.append(ready.Text(view.left_out, "small"))
        alone = section.alone if len(view.models) == 1 else ""
        return ready.SectionContent(section.id, section.title, alone or section.heading or section.title, out)

    def shown(self, given: Sequence[blocks.Block], view: View) -> list[ready.Content]:
        """The contents of blocks, in order."""
        return [content for block in given for content in self.block(block, view)]

    def block(self, block: blocks.Block, view: View) -> list[ready.Content]:
        """The contents of one block."""
        made = _MAKERS.get(type(block))
        if made is not None:
            return made(block, view)
        match block:
            case str():
                return [ready.Text(block)]
            case blocks.WordLists():
                return wordlists.word_lists(block, view, self.sentences)
            case blocks.Pictures():
                rows: list[ready.Content] = [answers.pictures(e) for e in self.examples if isinstance(e, Gallery)]
                return [ready.Text(block.heading, "h3"), ready.Text(block.lead), *rows] if rows else []
            case blocks.Widest():
                return [answers.widest(e) for e in self.examples if isinstance(e, WholeSet)]
            case blocks.Answers():
                return answers.answers(block, view, self.examples)
            case blocks.Each():
                return self.each(block, view)
            case blocks.Fold():
                own = self.shown(block.blocks, view)
                told = all(isinstance(one, ready.Text) for one in own)
                fold = "open" if block.open else "closed"
                return [] if told else [ready.Part(block.title, own, block.note, fold, class_=block.class_)]
            case blocks.Side():
                own = self.shown(block.blocks, view)
                return [ready.Side(own)] if own else []
            case blocks.PerModel():
                parts = ((model, self.shown(block.blocks, view.at(model))) for model in view.models)
                return [ready.Part(block.title.replace("{model}", model), own) for model, own in parts if own]
            case blocks.Many():
                return self.shown(block.blocks if len(view.models) > 1 else block.one, view)
            case _:
                raise TypeError(f"no renderer for {type(block).__name__}")

    def each(self, block: blocks.Each, view: View) -> list[ready.Content]:
        """The same blocks for every cell of a breakdown."""
        groups: dict[tuple[str | None, ...], list[Estimate]] = {}
        for of in block.of:
            for e in _cells(block, of, view):
                groups.setdefault(tuple(e[name] for name in block.over), []).append(e)
        keys = [key for key, own in groups.items() if not block.nonzero or any(e.value for e in own)]
        if block.order == "found":
            keys.sort(key=lambda key: -sum(view.found(e) for e in groups[key]))
        if block.order == "crossed":
            keys.sort(key=_crossed)
        out: list[ready.Content] = []
        for key in keys:
            own = view.at(bound=dict(zip(block.over, key, strict=True)))
            shown = self.shown(block.blocks, own)
            if shown:
                if not block.title:
                    out += shown
                    continue
                out.append(self._cell(block, own, groups[key][0], shown, first=not out, crossed=_crossed(key)))
        if not out:
            return [ready.Text(block.empty, "empty")] if block.empty else []
        heading: list[ready.Content] = [ready.Text(block.heading, "h3")] if block.heading else []
        intro = block.intro(view) if callable(block.intro) else block.intro
        lead: list[ready.Content] = [ready.Text(intro)] if intro else []
        return [*heading, *lead, *out]

    def _cell(
        self, block: blocks.Each, view: View, e: Estimate, shown: list[ready.Content], *, first: bool, crossed: bool
    ) -> ready.Part:
        note = block.note(view) if callable(block.note) else view.said(block.note, e) if block.note else ""
        lead = block.lead(view) if callable(block.lead) else block.lead
        if lead and not (crossed and block.fold == "crossed"):
            shown = [ready.Text(lead), *shown]
        folds = {"": "", "closed": "closed", "open": "open", "first": "open" if first else "closed",
                 "crossed": "closed" if crossed else ""}  # fmt: skip
        if crossed and block.fold == "crossed" and lead:
            note = lead
        class_ = "dimension" if block.boxed else "numbers"
        return ready.Part(view.said(block.title, e), shown, note, folds[block.fold], block.level, class_)


def _cells(block: blocks.Each, of: Of, view: View) -> list[Estimate]:
    """Estimates of all cells in the order of the table; one of each where no more is asked of them."""
    if block.order == "found" or block.nonzero:
        return view.rows(replace(of, order="given"))
    frame = view.frame(of)
    over = [name for name in block.over if name in frame.columns]
    return list(made(frame.unique(over, keep="first", maintain_order=True) if over else frame.head(1)))


def _crossed(key: tuple[str | None, ...]) -> bool:
    """Whether a cell's first label crosses two."""
    return bool(key) and CROSSED in (key[0] or "")


def prose(block: blocks.Prose, view: View) -> list[ready.Content]:
    """A text with numbers."""
    said = block.text(view)
    if not said:
        return []
    if isinstance(said, str):
        return [ready.Text(said, "small" if block.small else "lead")]
    return [ready.Facts(tuple(said))]


def own(block: blocks.Own, view: View) -> list[ready.Content]:
    """The contents of a study's own block."""
    return [content for one in block.build(view) for content in _made(one, view)]


def _made(one: contents.Made, view: View) -> list[ready.Content]:
    match one:
        case contents.Paragraph():
            return [ready.Text(one.text, one.how, one.note)]
        case contents.Rows():
            heads = tuple(
                ready.Head(head, number=place in one.numbers, quiet=place in one.quiet)
                for place, head in enumerate(one.heads)
            )
            return [
                ready.Table(one.title, heads, [tuple(map(_entry, row)) for row in one.rows], tall=len(one.rows) > 12)
            ]
        case contents.Shares():
            return [bars.one_bar(one, view)]
        case contents.Table():
            return [intervals.lines(view, one.title, one.heads, one.rows)] if one.rows else []
        case contents.Links():
            figure = plots.links(one)
            return [] if figure is None else [figure]
        case contents.Marks():
            return [ready.Panels([_panel(one)])]
        case contents.Folded():
            marks = [_panel(o) for o in one.contents if isinstance(o, contents.Marks)]
            inner = [c for o in one.contents if not isinstance(o, contents.Marks) for c in _made(o, view)]
            inner += [ready.Panels(marks)] if marks else []
            return [ready.Part(one.title, inner, one.note, "open" if one.open else "closed")]


def _entry(one: contents.Entry) -> ready.Cell:
    word, icon = intervals.said_verdict(one.verdict)
    text = SHORT[one.verdict] if one.verdict is not None and word else one.text
    return ready.Cell(
        text, one.small, (), one.sort, one.strong, icon, class_=cells.step(one.shade) if one.shade is not None else "",
        quiet=one.quiet, of=one.of,
    )  # fmt: skip


def _panel(one: contents.Marks) -> ready.Panel:
    looks = bars.classes(len(one.keys), ordered=False)
    keys = {chr(ord("A") + at): ready.Key(chr(ord("A") + at), name, look) for at, (name, look) in enumerate(
        zip(one.keys, looks, strict=True))}  # fmt: skip
    rows: list[tuple[str, list[tuple[Markup | None, str]]]] = []
    for title, marks in one.rows:
        drawn: list[tuple[Markup | None, str]] = []
        for mark in marks:
            if mark is None:
                drawn.append((None, ""))
                continue
            look = keys[mark.letter].class_ if mark.found else "open"
            drawn.append((plots.ring(f"{look} biased" if mark.ringed else look, mark.size, mark.said),
                          f"{mark.letter} {mark.text}"))  # fmt: skip
        rows.append((title, drawn))
    return ready.Panel(one.title, tuple(keys.values()), one.heads, rows)


_MAKERS: Mapping[type, Callable[..., list[ready.Content]]] = {
    blocks.Strips: intervals.strips,
    blocks.Dumbbells: dumbbells.dumbbells,
    blocks.Numbers: intervals.numbers,
    blocks.Heat: cells.heat,
    blocks.Grid: cells.grid,
    blocks.Stacked: bars.stacked,
    blocks.Scatter: plots.scatter,
    blocks.Cumulative: plots.cumulative,
    blocks.Distribution: bars.distribution,
    blocks.Table: tables.table,
    blocks.Overview: tables.overview,
    blocks.Agreement: plots.agreement,
    blocks.Prose: prose,
    blocks.Say: lambda block, _view: [ready.Text(block.text, block.how)],
    blocks.Own: own,
}
