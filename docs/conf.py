"""How Sphinx builds the documentation site: `make docs`."""

import re
import sys
from fnmatch import fnmatch
from importlib import import_module
from pathlib import Path

from docutils import nodes
from pygments.lexers.special import TextLexer
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS.parent))

import facevalue  # noqa: E402 - of this checkout

project = "FaceValue"
author = "The FaceValue developers"
copyright = "The FaceValue developers. Apache-2.0"
release = version = facevalue.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_design",
    "sphinx_copybutton",
]
source_suffix = {".md": "markdown"}
myst_enable_extensions = ["colon_fence", "html_image"]
myst_heading_anchors = 6
nitpick_ignore_regex = [("py:.*", ".*")]  # types of other packages have no page here

smartquotes = False  # options begin with two hyphens
default_role = "code"  # docstrings write code between single backticks
autodoc_typehints = "description"
autodoc_member_order = "bysource"
napoleon_google_docstring = False
napoleon_use_ivar = True
copybutton_exclude = ".linenos, .gp, .go"

html_theme = "furo"
html_title = "FaceValue"
html_copy_source = html_show_sourcelink = html_show_sphinx = False
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
EXTRA = DOCS.parent / "build" / "docs-extra"
EXTRA.mkdir(parents=True, exist_ok=True)  # the gallery writes its reports into it; Sphinx wants it before
html_extra_path = [str(EXTRA)]


class Generated(SphinxDirective):
    """What a function of `tools.site` writes: `MODULE.FUNCTION`; `MODULE` alone is its `page`."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Parse it where the directive stands."""
        module, _, function = self.arguments[0].partition(".")
        text = getattr(import_module(f"tools.site.{module}"), function or "page")()
        return self.parse_text_to_nodes(text, allow_section_headings=True)


def leave(app: Sphinx, docname: str, source: list[str]) -> None:
    """Make links to files of the repository that are no pages downloads, and folders plain text."""
    page = Path(app.srcdir, docname)

    def mended(link: re.Match[str]) -> str:
        text, address = link.groups()
        target = (page.parent / address).resolve()
        if "://" in address or target.is_relative_to(app.srcdir) or not target.exists():
            return link[0]
        return text if target.is_dir() else f"[{text}](path:{address})"

    source[0] = re.sub(r"(?<!!)\[([^\]]*)\]\(([^)#\s]+)\)", mended, source[0])


def list_the_rest(app: Sphinx, docname: str, source: list[str]) -> None:
    """Write out `*` in the lists of an index: pages of its folder that none of its lists has, as new ones are."""
    if not docname.endswith("/index"):
        return
    folder = Path(app.srcdir, docname).parent
    listed = {line.strip("<> ").split("<")[-1] for line in source[0].splitlines()} - {"*"}
    pages = sorted(page.stem for page in folder.glob("*.md") if page.stem != "index")
    rest = [page for page in pages if not any(fnmatch(page, pattern) for pattern in listed if pattern)]
    source[0] = re.sub(r"^\*$", "\n".join(rest), source[0], flags=re.MULTILINE)


def link_pages(_app: Sphinx, _what: str, _name: str, _owner: object, _options: object, lines: list[str]) -> None:
    """Make the paths of pages that a docstring names links to them."""
    lines[:] = [re.sub(r"\bdocs/([\w/-]+)\.md", r":doc:`/\1`", line) for line in lines]


def setup(app: Sphinx) -> None:
    """Register what is ours."""
    app.add_directive("generated", Generated)
    app.add_lexer("csv", TextLexer)
    app.connect("source-read", leave)
    app.connect("source-read", list_the_rest)
    app.connect("autodoc-process-docstring", link_pages)
