"""Words of groups, a row for each group."""

from collections.abc import Sequence

from facevalue.protocol.contents import Entry, Made, Paragraph, Rows
from facevalue.protocol.look import Look, Of
from facevalue.protocol.lookup import Estimate

_Words = set[tuple[str | None, ...]]
MOST = 24
"""Words of a group that are shown."""
_BY = ("subset", "group", "word")


def word_tables(look: Look) -> Sequence[Made]:
    """Of each subset, the words of each group, those with the largest scores first."""
    found: dict[str, dict[str, list[Estimate]]] = {}
    for e in look.rows(Of("pmi", _BY, order="value")):
        found.setdefault(str(e["subset"]), {}).setdefault(str(e["group"]), []).append(e)
    alone: dict[tuple[str, str], list[Estimate]] = {}
    for e in look.rows(Of("pmi_least", _BY, order="value")):
        alone.setdefault((str(e["subset"]), str(e["group"])), []).append(e)
        found.setdefault(str(e["subset"]), {}).setdefault(str(e["group"]), [])
    clear: _Words = {(e["subset"], e["group"], e["word"]) for e in look.rows(Of("pmi_strict", _BY)) if look.found(e)}
    out: list[Made] = []
    for subset, groups in found.items():
        rows = tuple(
            (
                Entry(look.title("group", group)),
                Entry(_listed(words, clear)),
                Entry(_listed(alone.get((subset, group), []), clear)),
            )
            for group, words in groups.items()
        )
        title = look.title("subset", subset)
        out += [Paragraph(title, "h3"), Rows(title, ("Group", "Words (how often)", "Words that no other has"), rows)]
    return out


def _listed(words: Sequence[Estimate], clear: _Words) -> str:
    shown = [f"{e['word']}{'*' if (e['subset'], e['group'], e['word']) in clear else ''} ({e.n})" for e in words[:MOST]]
    more = f" and {len(words) - MOST:,} more" if len(words) > MOST else ""
    return ", ".join(shown) + more if shown else "–"
