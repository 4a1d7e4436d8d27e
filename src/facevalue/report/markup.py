"""HTML and SVG elements as escaped markup."""

import re

from markupsafe import Markup, escape

_OPTION = re.compile(r"--[a-z][a-z-]*")


def tag(name: str, *children: str | Markup, **attributes: object) -> Markup:
    """Build an element; attributes and text are escaped, attributes that are None left out.

    Examples
    --------
    >>> tag("a", "1 < 2", class_="x", data_v=3)
    Markup('<a class="x" data-v="3">1 &lt; 2</a>')
    """
    pairs = ((key.rstrip("_").replace("_", "-"), value) for key, value in attributes.items() if value is not None)
    opening = "".join(f' {key}="{escape(value)}"' for key, value in pairs)
    body = "".join(escape(child) for child in children)
    return Markup(f"<{name}{opening}>{body}</{name}>")  # noqa: S704 names are ours, all else is escaped


def unbroken(text: str) -> Markup:
    """A text, escaped, in which options of commands stay on one line.

    Examples
    --------
    >>> unbroken("see facevalue plan --detect, <now>")
    Markup('see facevalue plan <span class="nowrap">--detect</span>, &lt;now&gt;')
    """
    return Markup(_OPTION.sub(r'<span class="nowrap">\g<0></span>', str(escape(text))))  # noqa: S704 it was escaped
