"""Sentences of texts, over whole columns."""

import polars as pl

# A point after these ends no sentence.
_ABBREVIATED = r"\b(Mr|Mrs|Ms|Dr|Prof|St|Jr|Sr|Lt|Capt|Sgt|No|vs|approx|Fig|e\.g|i\.e|[A-Z])\.\s+"
_ENDS = r"([.!?…][\"'”’)\]]*)\s+([\"'“‘(\[]?[\p{Lu}\p{N}])"
_HOLD, _BREAK = "\ue000", "\ue001"  # private-use characters, which no text means anything by


def sentences(column: pl.Series) -> pl.DataFrame:
    r"""All sentences of some texts, one row each.

    A sentence ends at a line break, or at `.`, `!`, `?` or `…` (closing quotes and brackets included) before white
    space and a capital letter or digit. Points of common abbreviations and initials end none.

    Examples
    --------
    >>> sentences(pl.Series(["Dr. Lee smiles. She waves!\n- a hat", None]))["sentence"].to_list()
    ['Dr. Lee smiles.', 'She waves!', '- a hat']
    """
    marked = (
        pl.col("sentence")
        .str.replace_all(f"[{_HOLD}{_BREAK}]", "")
        .str.replace_all(_ABBREVIATED, f"${{1}}.{_HOLD}")
        .str.replace_all(_ENDS, f"${{1}}{_BREAK}${{2}}")
        .str.replace_all(r"[\r\n]+", _BREAK)
        .str.replace_all(_HOLD, " ", literal=True)
        .str.split(_BREAK)
    )
    long = column.alias("sentence").to_frame().with_row_index("row").with_columns(marked).explode("sentence")
    return long.with_columns(pl.col("sentence").str.strip_chars()).filter(pl.col("sentence").str.len_bytes() > 0)
