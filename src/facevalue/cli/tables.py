"""Tables that studies make, in the terminal and as Markdown."""

from collections.abc import Sequence

from rich.table import Table as RichTable

from facevalue.protocol.offers import OfferedTable


def rich_table(table: OfferedTable) -> RichTable:
    """A table of a study's, for the terminal."""
    rendered = RichTable(title=table.title, header_style="bold", caption=table.caption)
    if not table.boxed:
        rendered.box, rendered.pad_edge, rendered.padding = None, False, (0, 1, 0, 0)
        rendered.title_justify = rendered.caption_justify = "left"
    for i, name in enumerate(table.columns):  # nothing is cut: what is too long goes on below
        rendered.add_column(name, justify="right" if i else "left", overflow="fold")
    for row in table.rows:
        rendered.add_row(*row)
    return rendered


def markdown(title: str, tables: Sequence[OfferedTable]) -> str:
    """Tables as a page of Markdown, each under a heading of its own.

    Examples
    --------
    >>> print(markdown("Audits", [OfferedTable("Families", ("family", "false"), [("cues", "0.050")], "of audits")]))
    # Audits
    <BLANKLINE>
    ## Families
    <BLANKLINE>
    | family | false |
    |---|---|
    | cues | 0.050 |
    <BLANKLINE>
    of audits
    <BLANKLINE>
    """
    lines = [f"# {title}", ""]
    for table in tables:
        rows = [table.columns, ("---",) * len(table.columns), *table.rows]
        written = ["| " + " | ".join(row) + " |" if row[0] != "---" else "|" + "|".join(row) + "|" for row in rows]
        lines += [f"## {table.title}", "", *written, "", *([table.caption, ""] if table.caption else [])]
    return "\n".join(lines)
