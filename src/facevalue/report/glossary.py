"""Words that not everyone knows: what each means, and where a page explains it."""

import re
import tomllib
from dataclasses import dataclass
from importlib.resources import files

from markupsafe import Markup


@dataclass(frozen=True, slots=True)
class Term:
    """A word of a page, what it means in plain language, and how it is written in texts."""

    name: str
    meaning: str
    written: str
    """Regular expression of the ways in which it is written, without regard to case."""

    @property
    def id(self) -> str:
        """Anchor of its definition."""
        return f"term-{re.sub(r'[^a-z0-9]+', '-', self.name.lower()).strip('-')}"


_FILE = files("facevalue.report").joinpath("templates", "glossary.toml")
TERMS = tuple(
    Term(entry["name"], " ".join(entry["meaning"].split()), entry["written"])
    for entry in tomllib.loads(_FILE.read_text(encoding="utf-8"))["term"]
)
"""Words that are explained where a section first uses them."""
_WRITTEN = "|".join(f"(?P<t{place}>{term.written})" for place, term in enumerate(TERMS)).replace("'", "(?:'|&#39;)")
_WORD = re.compile(rf"(?<![\w'-])(?:{_WRITTEN})(?![\w-])", re.IGNORECASE)
_OURS = re.compile(
    r'(?<!<blockquote tabindex="0">)(<p(?: class="[^"]*")?>|<th scope="col">)(.*?)(?=</p>|</th>)', re.DOTALL
)
"""Paragraphs and heads of tables that we wrote; replies stand in quotations."""
_TAG = re.compile(r"(<[^>]*>)")
_HEADING = re.compile(r"<(/?)h([34])\b")


def explained(html: str) -> Markup:
    """A section with the first use of each term as a button that shows what it means.

    Examples
    --------
    >>> str(explained("<p>A floor, a floor.</p>")).partition("<button ")[2]
    'type="button" class="term" popovertarget="term-noise-floor">floor</button>, a floor.</p>'
    """
    seen: set[str] = set()

    def marked(match: re.Match[str]) -> str:
        term = TERMS[int((match.lastgroup or "t0")[1:])]
        if term.id in seen:
            return match[0]
        seen.add(term.id)
        return f'<button type="button" class="term" popovertarget="{term.id}">{match[0]}</button>'

    def paragraph(match: re.Match[str]) -> str:
        pieces = _TAG.split(match[2])
        return match[1] + "".join(_WORD.sub(marked, p) if i % 2 == 0 else p for i, p in enumerate(pieces))

    return Markup(_OURS.sub(paragraph, html))  # noqa: S704 only buttons are added to what was escaped


def stepped(html: str) -> Markup:
    """A section whose headings go down one level at a time, however deep its blocks say they are.

    Examples
    --------
    >>> stepped("<h4>One</h4><h4>Two</h4><h3>Three</h3><h4>Four</h4>")
    Markup('<h3 class="minor">One</h3><h3 class="minor">Two</h3><h3>Three</h3><h4>Four</h4>')
    """
    has_third = False

    def heading(match: re.Match[str]) -> str:
        nonlocal has_third
        has_third |= match[2] == "3"
        if has_third:
            return match[0]
        return "</h3" if match[1] else '<h3 class="minor"'

    return Markup(_HEADING.sub(heading, html))  # noqa: S704 only levels of headings are changed


def readable(html: str) -> Markup:
    """A section as a page shows it."""
    return explained(stepped(html))


def definitions(html: str) -> Markup:
    """The definitions of the terms that a page's buttons show."""
    definition = Markup('<div popover id="{}" class="definition"><b>{}.</b> {}</div>')
    used = (term for term in TERMS if f'popovertarget="{term.id}"' in html)
    return Markup("\n").join(definition.format(term.id, term.name, term.meaning) for term in used)
