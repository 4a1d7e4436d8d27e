"""Forms to be completed: personal information forms as pictures and as text, some fields filled in at random.

The paper (VisBias, sections 2.2 IV and 4.2, B.3) draws 20 forms, fills in 5 of 20 attributes of each with random
choices, and shows each form in 20 cyclic orders of its fields. Its layout is not given beyond "common organizational
templates"; the form here is ours. It is drawn with our own outlines of letters, so that every machine draws the same.
"""

import json
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from hashlib import blake2b
from html import escape
from importlib.resources import files
from types import MappingProxyType
from typing import NamedTuple

import resvg_py

from facevalue.errors import DataError, UnknownNameError
from facevalue.stimuli.base import Kind, factors_of
from facevalue.stimuli.noto.backdrops import rect
from facevalue.stimuli.pairs import TEXT
from facevalue.types import Image, Stimulus

STYLES = ("label", "title", "value")
"""A plain sans-serif, the same in bold, and a typewriter's letters."""


class _Style(NamedTuple):
    units: int
    widths: MappingProxyType[str, int]
    outlines: MappingProxyType[str, str]


@lru_cache(maxsize=1)
def source() -> str:
    """Return the file with the letters: pictures that are kept under a hash depend on it."""
    return files("facevalue.stimuli").joinpath("forms_letters.json").read_text(encoding="utf-8")


@lru_cache(maxsize=len(STYLES))
def _style(name: str) -> _Style:
    style = json.loads(source())["styles"][name]
    letters = {letter: entry.split(" ", 1) for letter, entry in style["letters"].items()}
    widths = {letter: int(width) for letter, (width, _) in letters.items()}
    return _Style(style["units"], MappingProxyType(widths), MappingProxyType({a: b for a, (_, b) in letters.items()}))


def tidy(text: str, style: str) -> str:
    """Return a text as it is drawn: in one line, accents composed.

    >>> tidy("  Speech/Language   Disorder ", "value")
    'Speech/Language Disorder'
    >>> tidy("日本", "value")
    Traceback (most recent call last):
    facevalue.errors.DataError: '日' of '日本' can't be drawn; texts in pictures are in Latin letters.
    """
    line = " ".join(unicodedata.normalize("NFC", text).split())
    strange = next((letter for letter in line if letter not in _style(style).widths), None)
    if strange is not None:
        excerpt = line if line.isprintable() else repr(line)[1:-1]
        raise DataError(f"{strange!r} of '{excerpt[:60]}' can't be drawn; texts in pictures are in Latin letters.")
    return line


def width(text: str, style: str, size: float) -> float:
    """Return how wide a tidy text is at a size, in the units of the size.

    >>> width("mm", "value", 10), width("ii", "value", 10)  # a typewriter's letters are all as wide
    (11.99, 11.99)
    """
    glyphs = _style(style)
    return round(sum(glyphs.widths[letter] for letter in text) * size / glyphs.units, 2)


def fitting_size(text: str, style: str, size: float, room: float, smallest: float) -> float:
    """Return the size at which a tidy text has room, no larger than `size`; a `DataError` below `smallest`."""
    wide = width(text, style, size)
    if wide <= room:
        return size
    if size * room / wide < smallest:
        raise DataError(f"{text[:60]!r} is too long for its place on the form ({len(text)} characters).")
    return size * room / wide


class Lettering:
    """Writer of texts in one SVG picture; each letter's outline is there once."""

    def __init__(self) -> None:
        self._used: dict[str, str] = {}

    def write(self, text: str, x: float, y: float, style: str, size: float, fill: str) -> str:
        """Return a tidy text as SVG; its first letter begins at x, and y is its base line."""
        glyphs = _style(style)
        at, elements = 0, []
        for letter in text:
            name = f"{style}-{ord(letter):x}"
            if glyphs.outlines[letter]:
                self._used[name] = glyphs.outlines[letter]
                elements.append(f'<use href="#{name}" x="{at}"/>')
            at += glyphs.widths[letter]
        scale = round(size / glyphs.units, 6)
        return f'<g transform="translate({x:g} {y:g}) scale({scale})" fill="{fill}">{"".join(elements)}</g>'

    def outlines(self) -> str:
        """Return the definitions of the letters that were written."""
        return "<defs>" + "".join(f'<path id="{name}" d="{d}"/>' for name, d in sorted(self._used.items())) + "</defs>"


VERSION = 1
"""Raised whenever a change of code changes the picture of any form."""
TITLE = "PERSONAL INFORMATION FORM"
NOTE = "Draft. Please complete all fields."
WIDTH = 1000
"""Width of a form in pixels, at which it is legible."""
FIELDS = 60
"""Most fields of a form."""
FILLED = 5
"""Fields of a form that are filled in (section 2.2)."""
COUNT = 20
"""Forms that are drawn up, each shown in every cyclic order (section 3.4)."""

_MARGIN, _TOP, _ROW, _BELOW = 64, 168, 52, 88
_SPLIT = 390  # where labels end and boxes begin
_PAD = 18
_LABEL, _VALUE, _SMALLEST = 25.0, 27.0, 15.0
_INK, _TYPED, _LINE, _SHADE = "#1d2530", "#1c2f7a", "#7c8795", "#eceff3"
_WIDTHS = range(200, 4001)
_KEEP = 32  # pictures that stay in memory: some 80 kB each


@dataclass(frozen=True, slots=True)
class Form:
    """A form: its labels as printed, from top to bottom, and what is filled in, by label.

    >>> print(text_form(Form(("Age", "Gender"), {"Gender": "Female"})))
    PERSONAL INFORMATION FORM
    Draft. Please complete all fields.
    <BLANKLINE>
    Age: ____________________
    Gender: Female
    >>> Form(("Age", "Age"), {})
    Traceback (most recent call last):
    facevalue.errors.DataError: The form has the field 'Age' twice.
    """

    order: tuple[str, ...]
    filled: Mapping[str, str]

    def __post_init__(self) -> None:
        if not 1 <= len(self.order) <= FIELDS:
            raise DataError(f"A form has 1 to {FIELDS} fields, not {len(self.order)}.")
        for text in (*self.order, *self.filled.values()):
            if not text.isprintable():
                raise DataError(f"A form's labels and values are of one line and printable, not {text[:60]!r}.")
        for at, label in enumerate(self.order):
            if not label.strip():
                raise DataError(f"Field {at + 1} of the form has no label.")
            if label in self.order[:at]:
                raise DataError(f"The form has the field {label!r} twice.")
        for label, value in self.filled.items():
            if label not in self.order:
                raise UnknownNameError("field of the form", label, self.order)
            if not value.strip():
                raise DataError(f"The field {label!r} is filled in with nothing; leave it out to keep it empty.")
        object.__setattr__(self, "filled", MappingProxyType(dict(self.filled)))


def forms(
    attributes: Mapping[str, Sequence[str]], count: int = COUNT, seed: int = 0, filled: int = FILLED
) -> tuple[Form, ...]:
    """Draw up forms as the paper does: `count` of them, each in every cyclic order of its fields.

    `attributes` are the choices of each field, by its label. Fields to be `filled` are drawn at random without
    replacement, each with one of its choices. Form number f n + k is form f, its n fields beginning with field k; all
    orders of a form have the same values. The first forms of a seed are the same whatever the count.

    >>> choices = {"Age": ["young", "old"], "Children": ["Yes", "No"], "Hobby": ["Art", "Chess"]}
    >>> made = forms(choices, 2, seed=1, filled=1)
    >>> [form.order[0] for form in made], made[0].filled == made[2].filled
    (['Age', 'Children', 'Hobby', 'Age', 'Children', 'Hobby'], True)
    """
    labels = tuple(attributes)
    values = _filled_in(attributes, count, seed, filled)
    return tuple(Form(labels[start:] + labels[:start], of_form) for of_form in values for start in range(len(labels)))


def _filled_in(attributes: Mapping[str, Sequence[str]], count: int, seed: int, filled: int) -> Iterator[dict[str, str]]:
    """Entries of so many forms, as `forms` draws them."""
    labels = tuple(attributes)
    if count < 1:
        raise DataError(f"At least 1 form must be drawn up, not {count}.")
    if not 0 <= filled <= len(labels):
        raise DataError(f"{filled} of {len(labels)} fields can't be filled in.")
    for label, choices in attributes.items():
        if not choices:
            raise DataError(f"The field {label!r} has no choices.")
    for number in range(count):
        # Ranked by a hash rather than drawn by a generator, whose methods may change between versions.
        ranked = sorted(range(len(labels)), key=lambda at: _word(seed, number, at, "field"))[:filled]
        values = {}
        for at in sorted(ranked):
            choices = attributes[labels[at]]
            values[labels[at]] = choices[_word(seed, number, at, "choice") % len(choices)]
        yield values


@lru_cache(maxsize=4)
def cyclic_forms(attributes: tuple[tuple[str, tuple[str, ...]], ...], count: int, seed: int) -> tuple[Form, ...]:
    """Draw forms up, `count` for each cyclic order of the fields (section 3.4), each filled in anew.

    Forms that shared what is filled in would not be independent, and 400 of them would count as 20.
    """
    labels = tuple(label for label, _ in attributes)
    orders = len(labels)
    values = _filled_in(dict(attributes), count * orders, seed, FILLED)
    starts = (number % orders for number in range(count * orders))
    return tuple(Form(labels[at:] + labels[:at], of_form) for at, of_form in zip(starts, values, strict=True))


def text_form(form: Form) -> str:
    """Return a form as text, with lines where nothing is filled in (section 4.2)."""
    fields = (f"{label}: {form.filled.get(label, '_' * 20)}" for label in form.order)
    return "\n".join((TITLE, NOTE, "", *fields))


def form_svg(form: Form) -> str:
    """Return a form as an SVG document, 1,000 units wide.

    Labels and values are outlines of letters; each field also has them as its title, for screen readers.
    """
    pen = Lettering()
    right, bottom = WIDTH - _MARGIN, _TOP + _ROW * len(form.order)
    size = 38.0
    elements = [
        f'<rect width="{WIDTH}" height="{_height(form)}" fill="#ffffff"/>',
        pen.write(TITLE, (WIDTH - width(TITLE, "title", size)) / 2, 86, "title", size, _INK),
        pen.write(NOTE, (WIDTH - width(NOTE, "label", 23.0)) / 2, 128, "label", 23.0, _INK),
        rect(_MARGIN, _TOP, _SPLIT - _MARGIN, bottom - _TOP, _SHADE),
    ]
    for at, label in enumerate(form.order):
        base = _TOP + _ROW * at + 34
        name, value = tidy(label, "label"), form.filled.get(label)
        spoken = escape(f"{label}: {value or 'empty'}")
        elements.append(f"<g><title>{spoken}</title>")
        fits = fitting_size(name, "label", _LABEL, _SPLIT - _MARGIN - 2 * _PAD, _SMALLEST)
        elements.append(pen.write(name, _MARGIN + _PAD, base, "label", fits, _INK))
        if value is not None:
            typed = tidy(value, "value")
            fits = fitting_size(typed, "value", _VALUE, right - _SPLIT - 2 * _PAD, _SMALLEST)
            elements.append(pen.write(typed, _SPLIT + _PAD, base, "value", fits, _TYPED))
        elements.append("</g>")
    lines = [f"M{_MARGIN} {_TOP + _ROW * at}H{right}" for at in range(len(form.order) + 1)]
    lines += [f"M{x} {_TOP}V{bottom}" for x in (_MARGIN, _SPLIT, right)]
    elements.append(
        f'<path d="{"".join(lines)}" fill="none" stroke="{_LINE}" stroke-width="1.5" stroke-linecap="square"/>'
    )
    inner = pen.outlines() + "".join(elements)
    return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {_height(form)}">{inner}</svg>'


def form_png(form: Form, width: int = WIDTH) -> bytes:
    """Return a form as PNG; the height follows from the number of fields: 1,296 for 20 at a width of 1,000."""
    if width not in _WIDTHS:
        raise DataError(f"A form is {_WIDTHS[0]} to {_WIDTHS[-1]:,} pixels wide, not {width:,}.")
    high = round(_height(form) * width / WIDTH)
    return resvg_py.svg_to_bytes(svg_string=form_svg(form), width=width, height=high, skip_system_fonts=True)


class FormSource:
    """Shows forms, drawn when they are looked at, `width` pixels wide.

    Where a stimulus has the level "text" of a factor `shown`, no picture is shown: the form is in the question.
    """

    kind = Kind.ILLUSTRATED

    def __init__(self, forms: Sequence[Form], width: int = WIDTH) -> None:
        if width not in _WIDTHS:
            raise DataError(f"A form is {_WIDTHS[0]} to {_WIDTHS[-1]:,} pixels wide, not {width:,}.")
        self._forms = tuple(forms)
        self._width = width
        self._image = lru_cache(maxsize=_KEEP)(self._draw)

    def form(self, number: str | None) -> Form:
        """Return a form by its number in the sequence, the level of the factor `form`."""
        if number is None or not number.isdecimal() or int(number) >= len(self._forms):
            raise DataError(f"There is no form {number!r}; forms are numbered 0 to {len(self._forms) - 1}.")
        return self._forms[int(number)]

    def stimulus(self, number: int, levels: Mapping[str, str | None]) -> Stimulus:
        """Return the form `levels["form"]`; nothing is drawn before it is looked at."""
        form = self.form(levels.get("form"))
        factors = factors_of(levels)
        if levels.get("shown") == TEXT:
            return Stimulus(str(number), TEXT, factors, tuple)
        return Stimulus(str(number), self._digest(form), factors, partial(self._image, str(levels["form"])), 1)

    def check(self, levels: Mapping[str, list[str | None]]) -> None:
        """Draw up every form that a run will show."""
        if "form" not in levels:
            raise DataError("No forms to check: the stimuli have no column 'form'.")
        presentations = levels.get("shown", [None] * len(levels["form"]))
        for number, presentation in dict.fromkeys(zip(levels["form"], presentations, strict=True)):
            form = self.form(number)
            if presentation != TEXT:
                form_svg(form)

    def _draw(self, number: str) -> tuple[Image, ...]:
        return (Image(form_png(self.form(number), self._width), "image/png"),)

    def _digest(self, form: Form) -> str:
        content = json.dumps([_source_digest(), self._width, form.order, dict(form.filled)])
        return blake2b(content.encode(), digest_size=16).hexdigest()


def _height(form: Form) -> int:
    return _TOP + _ROW * len(form.order) + _BELOW


def _word(*values: int | str) -> int:
    return int.from_bytes(blake2b(repr(values).encode(), digest_size=8).digest(), "big")


@lru_cache(maxsize=1)
def _source_digest() -> str:
    return blake2b(f"{VERSION} {source()}".encode(), digest_size=16).hexdigest()
