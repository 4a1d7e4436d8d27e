"""Words that mark groups, each with its numbers and a sentence in which it stands."""

from collections.abc import Mapping

from facevalue.measures.caveats import counted_caveats
from facevalue.protocol import blocks
from facevalue.protocol.look import Of
from facevalue.protocol.lookup import Estimate
from facevalue.report.blocks.content import Content, PartContent, TableCell, TableContent, TableHead, TextContent
from facevalue.report.blocks.intervals import said_verdict
from facevalue.report.blocks.view import View
from facevalue.report.data import Sentence
from facevalue.report.formatting import DASH, count, number, share_of_chance

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
        rows = [_row(block, view, e, sentences) for e in words[: block.most]]
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


def _row(block: blocks.WordLists, view: View, e: Estimate, sentences: Sentences) -> tuple[TableCell, ...]:
    rank = view.beside(block.rank, e)
    word, icon = said_verdict(e)
    quoted = sentences.get((e["dimension"], e["group"], e[block.word]))
    quote = TableCell(DASH, quiet=True) if quoted is None else TableCell("", marked=tuple(quoted.parts))
    return (
        TableCell(e[block.word] or "", strong=view.found(e), title=view.detail(e), of=e),
        TableCell(DASH if rank is None else number(rank.value, rank.written, bare=True)),
        TableCell(number(e.value, e.written, signed=True, bare=True)),
        TableCell(view.interval(e)),
        TableCell(count(e.n)),
        TableCell(DASH if rank is None else count(rank.n)),
        TableCell(share_of_chance(e.q)),
        TableCell(word or DASH, icon=icon),
        quote,
    )


def _size(e: Estimate | None) -> float:
    return 0.0 if e is None or e.value is None else abs(e.value)
