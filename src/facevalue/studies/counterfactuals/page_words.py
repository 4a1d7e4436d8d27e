"""Words of groups, a row for each group."""

from collections.abc import Mapping, Sequence

from facevalue.protocol.contents import Entry, Made, Paragraph, Rows
from facevalue.protocol.look import Look, Of
from facevalue.protocol.lookup import Estimate

_Words = set[tuple[str | None, ...]]
MOST = 24
"""Words of a group that are shown."""
_BY = ("subset", "group", "word")


def word_tables(look: Look) -> Sequence[Made]:
    """Of each subset, the words of each group, those with the largest scores first."""
    words_by_group: dict[str, dict[str, list[Estimate]]] = {}
    for e in look.rows(Of("pmi", _BY, order="value")):
        words_by_group.setdefault(str(e["subset"]), {}).setdefault(str(e["group"]), []).append(e)
    alone: dict[tuple[str, str], list[Estimate]] = {}
    for e in look.rows(Of("pmi_least", _BY, order="value")):
        alone.setdefault((str(e["subset"]), str(e["group"])), []).append(e)
        words_by_group.setdefault(str(e["subset"]), {}).setdefault(str(e["group"]), [])
    clear: _Words = {(e["subset"], e["group"], e["word"]) for e in look.rows(Of("pmi_strict", _BY)) if look.found(e)}
    flagged: _Words = {(e["subset"], e["group"], e["word"]) for e in look.rows(Of("stereotype_flag", _BY)) if e.value}
    judged = {(e["subset"], e["group"]): e for e in look.rows(Of("stereotype_share", ("subset", "group")))}
    marks = {"*": clear, "†": flagged}
    out: list[Made] = [Paragraph(line) for line in _of_judge(look)]
    for subset, groups in words_by_group.items():
        rows = []
        for group, words in groups.items():
            lists = (words, alone.get((subset, group), []))
            entries = [Entry(look.title("group", group)), *(Entry(_listed(some, marks)) for some in lists)]
            share = judged.get((subset, group))
            if judged:
                entries.append(
                    Entry("–" if share is None else f"{(share.value or 0.0) * (share.n or 0):.0f} of {share.n}")
                )
            rows.append(tuple(entries))
        title = look.title("subset", subset)
        heads = ("Group", "Words (how often)", "Words that no other has", *(["Called stereotypes"] if judged else []))
        out += [Paragraph(title, "h3"), Rows(title, heads, tuple(rows))]
    return out


def _of_judge(look: Look) -> list[str]:
    """What marks mean, where a judge looked through the words, and how far people agree with it."""
    if not look.rows(Of("stereotype_share", ("subset", "group"))):
        return []
    invented = sum(e.value or 0.0 for e in look.rows(Of("stereotype_invented", ("subset", "group"))))
    notes = [f"† A judge model calls the word stereotypical or offensive (section D.2). It also named {invented:.0f} "
            "words that are not listed, which are not used."]  # fmt: skip
    scores = [(name.replace("f1", "F1"), look.one(f"judge_{name}")) for name in ("precision", "recall", "f1")]
    agreed = [f"{name} {e.value:.2f} (n = {e.n})" for name, e in scores if e is not None and e.value is not None]
    return [*notes, *([f"Against the majority of people: {', '.join(agreed)}."] if agreed else [])]


def _listed(words: Sequence[Estimate], marks: Mapping[str, _Words]) -> str:
    def marked(e: Estimate) -> str:
        own = "".join(mark for mark, some in marks.items() if (e["subset"], e["group"], e["word"]) in some)
        return f"{e['word']}{own} ({e.n})"

    marked_words = [marked(e) for e in words[:MOST]]
    more = f" and {len(words) - MOST:,} more" if len(words) > MOST else ""
    return ", ".join(marked_words) + more if marked_words else "–"
