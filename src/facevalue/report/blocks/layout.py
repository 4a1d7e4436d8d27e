"""Layout of sections: the one place that knows every block."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from markupsafe import Markup

from facevalue.protocol import blocks, contents
from facevalue.protocol.look import Of
from facevalue.protocol.lookup import CROSSED, Estimate, made
from facevalue.protocol.page import Page, Section
from facevalue.report.blocks import answers, bars, cells, dumbbells, intervals, plots, tables, wordlists
from facevalue.report.blocks import content as ready
from facevalue.report.blocks.view import View
from facevalue.report.data import Album, AnyExample, Sentence, WholeSet


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
        out: list[ready.Content] = [ready.TextContent(section.lead)] if section.lead else []
        if section.each_model and len(view.models) > 1:
            listed = view.shown_models if section.large else view.models
            by_model = ((model, self.shown(section.blocks, view.at(model))) for model in listed)
            for place, (model, children) in enumerate(pair for pair in by_model if pair[1]):
                out.append(
                    ready.PartContent(model, children, fold="closed" if place else "open", class_="numbers model-part")
                )
        else:
            model = view.models[0] if section.each_model and view.models else view.model
            out += self.shown(section.blocks, view.at(model))
        if section.large and view.left_out:
            out.append(ready.TextContent(view.left_out, "small"))
        alone = section.alone if len(view.models) == 1 else ""
        return ready.SectionContent(section.id, section.title, alone or section.heading or section.title, out)

    def shown(self, declared: Sequence[blocks.Block], view: View) -> list[ready.Content]:
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
                return wordlists.word_lists(block, view, self.sentences)
            case blocks.Pictures():
                rows: list[ready.Content] = [answers.pictures(e) for e in self.examples if isinstance(e, Album)]
                return [ready.TextContent(block.heading, "h3"), ready.TextContent(block.lead), *rows] if rows else []
            case blocks.Widest():
                return [answers.widest(e) for e in self.examples if isinstance(e, WholeSet)]
            case blocks.StoredAnswers():
                return answers.answers(block, view, self.examples)
            case blocks.Each():
                return self.each(block, view)
            case blocks.Fold():
                children = self.shown(block.blocks, view)
                only_text = all(isinstance(content, ready.TextContent) for content in children)
                fold = "open" if block.open else "closed"
                return (
                    []
                    if only_text
                    else [ready.PartContent(block.title, children, block.note, fold, class_=block.class_)]
                )
            case blocks.Side():
                children = self.shown(block.blocks, view)
                return [ready.SideContent(children)] if children else []
            case blocks.PerModel():
                by_model = ((model, self.shown(block.blocks, view.at(model))) for model in view.models)
                return [
                    ready.PartContent(block.title.replace("{model}", model), children)
                    for model, children in by_model
                    if children
                ]
            case blocks.Many():
                return self.shown(block.blocks if len(view.models) > 1 else block.one, view)
            case _:
                raise TypeError(f"no renderer for {type(block).__name__}")

    def each(self, block: blocks.Each, view: View) -> list[ready.Content]:
        """The same blocks for every cell of a breakdown."""
        groups: dict[tuple[str | None, ...], list[Estimate]] = {}
        for of in block.cells:
            for e in _cells(block, of, view):
                groups.setdefault(tuple(e[name] for name in block.over), []).append(e)
        keys = [key for key, estimates in groups.items() if not block.nonzero or any(e.value for e in estimates)]
        if block.order == "found":
            keys.sort(key=lambda key: -sum(view.found(e) for e in groups[key]))
        if block.order == "crossed":
            keys.sort(key=_crossed)
        out: list[ready.Content] = []
        for key in keys:
            cell_view = view.at(bound=dict(zip(block.over, key, strict=True)))
            children = self.shown(block.blocks, cell_view)
            if children:
                if not block.title:
                    out += children
                    continue
                out.append(self._cell(block, cell_view, groups[key][0], children, first=not out, crossed=_crossed(key)))
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
    return list(made(frame.unique(over, keep="first", maintain_order=True) if over else frame.head(1)))


def _crossed(key: tuple[str | None, ...]) -> bool:
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


def own(block: blocks.Own, view: View) -> list[ready.Content]:
    """The contents of a study's own block."""
    return [content for built in block.build(view) for content in _made(built, view)]


def _made(content: contents.Made, view: View) -> list[ready.Content]:
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
        case contents.ShareBar():
            return [bars.one_bar(content, view)]
        case contents.Table():
            return [intervals.lines(view, content.title, content.heads, content.rows)] if content.rows else []
        case contents.Links():
            figure = plots.links(content)
            return [] if figure is None else [figure]
        case contents.Marks():
            return [ready.Panels([_panel(content)])]
        case contents.Folded():
            marks = [_panel(o) for o in content.contents if isinstance(o, contents.Marks)]
            inner = [c for o in content.contents if not isinstance(o, contents.Marks) for c in _made(o, view)]
            inner += [ready.Panels(marks)] if marks else []
            return [ready.PartContent(content.title, inner, content.note, "open" if content.open else "closed")]


def _entry(entry: contents.Entry) -> ready.TableCell:
    word, icon = intervals.said_verdict(entry.judged)
    return ready.TableCell(
        word or entry.text, entry.small, (), entry.sort, entry.strong, icon, quiet=entry.quiet, of=entry.of,
        class_=cells.step(entry.shade) if entry.shade is not None else "",
    )  # fmt: skip


def _panel(chart: contents.Marks) -> ready.Panel:
    looks = bars.classes(len(chart.keys), ordered=False)
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
            row_marks.append((plots.ring(f"{look} biased" if mark.ringed else look, mark.size, mark.said),
                          f"{mark.letter} {mark.text}"))  # fmt: skip
        rows.append((title, row_marks))
    return ready.Panel(chart.title, tuple(keys.values()), chart.heads, rows)


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
    blocks.Say: lambda block, _view: [ready.TextContent(block.text, block.how)],
    blocks.Own: own,
}
