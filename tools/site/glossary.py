"""Words that reports explain."""

from facevalue.report.html import TERMS
from tools.site.markdown import plain, table


def page() -> str:
    """Word and meaning, in the order of the alphabet."""
    rows = [(plain(term.name), plain(term.meaning)) for term in sorted(TERMS, key=lambda term: term.name.lower())]
    return "\n".join(table(("word", "meaning"), rows))
