"""Questionnaires about statements: a page for a browser or for paper, or a table for spreadsheets."""

import base64
import csv
import hashlib
import io
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

import polars as pl
from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from facevalue.store.files import write_whole

_NAME = "questionnaire"


def item_id(prefix: str, item: Sequence[str]) -> str:
    """Name of an item that follows from what it says alone, so that ratings fit it whenever it is asked.

    Examples
    --------
    >>> item_id("q", ["age", "0-17"])
    'q-f48351d966'
    """
    return f"{prefix}-" + hashlib.blake2b("\x1f".join(item).encode(), digest_size=5).hexdigest()


def write(items: pl.DataFrame, scale: Sequence[str], package: str, path: Path) -> None:
    """Write a questionnaire: a page where the file's name ends in .html, else a table for spreadsheets."""
    if path.suffix == ".html":
        write_page(items, scale, package, path)
    else:
        write_table(items, path)


def write_table(items: pl.DataFrame, path: Path) -> None:
    """Write `rater`, `item` and `statement` of items, and `rating` to be filled in, as CSV."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(("rater", "item", "statement", "rating"))
    writer.writerows(("", item, statement, "") for item, statement in items.select("item", "statement").rows())
    write_whole(path, text.getvalue().encode("utf-8-sig"))  # with a mark, by which spreadsheets know UTF-8


def write_page(items: pl.DataFrame, scale: Sequence[str], package: str, path: Path) -> None:
    """Write a page that needs no network, from the template of a package (`rated.html`), in our style.

    Nothing a rater chooses leaves the page. Only the package's script may run, whatever a statement says.
    """
    write_filled(package, "rated.html", path, items=items.to_dicts(), scale=scale)


def write_filled(package: str, template: str, path: Path, **values: object) -> None:
    """Write a page from a template of a package, which extends ours: these values, our style, script and policy."""
    style, script = (
        files(__package__).joinpath("templates", f"{_NAME}.{kind}").read_text(encoding="utf-8")
        for kind in ("css", "js")
    )
    templates = Environment(
        loader=ChoiceLoader([PackageLoader(package), PackageLoader(__package__)]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    page = templates.get_template(template).render(
        style=Markup(style),  # noqa: S704 our own files
        script=Markup(script),  # noqa: S704 our own files
        policy=_policy(style, script),
        **values,
    )  # fmt: skip
    write_whole(path, page.encode())


def _policy(style: str, script: str) -> str:
    """A policy under which only these style and script run, and nothing is fetched or sent: pictures are inside."""
    hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii") for text in (style, script)]
    return (
        f"default-src 'none'; style-src 'sha256-{hashes[0]}'; script-src 'sha256-{hashes[1]}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
