"""Names of models for people: their own, without a server's address or a file's folders, and no two alike."""

from collections.abc import Collection, Iterable, Mapping, Sequence

import polars as pl

from facevalue.runs.stored import StoredRun

_EDITED = " + "
"""Between a generator and its editor."""


def names_for_people(runs: Sequence[StoredRun]) -> dict[str, str]:
    """What the models of runs are called in tables, pages and charts, by their names in estimates.

    What users called their runs stays as it is.
    """
    labels = {run.model for run in runs if run.facts.name}
    return short_names((run.model for run in runs if run.model not in labels), labels) | {name: name for name in labels}


def renamed(estimates: pl.DataFrame, names: Mapping[str, str]) -> pl.DataFrame:
    """Estimates with their models called otherwise."""
    columns = [name for name in ("model", "other_model") if name in estimates.columns]
    return estimates.with_columns(pl.col(columns).replace(names))


def short_names(models: Iterable[str], taken: Collection[str] = ()) -> dict[str, str]:
    """Shorten names of models as far as they still differ from each other and from those that are taken.

    Examples
    --------
    >>> short_names(["http://10.0.0.7:8000/v1#org/gemma", "replay/runs/old/table.parquet", "sim/default"])
    {'http://10.0.0.7:8000/v1#org/gemma': 'gemma', 'replay/runs/old/table.parquet': 'table (replayed)', \
'sim/default': 'sim/default'}
    >>> list(short_names(["http://old:8000/v1#gemma", "http://new:8000/v1#gemma", "openai/gpt"], ["gpt"]).values())
    ['gemma (old:8000)', 'gemma (new:8000)', 'gpt (openai)']
    >>> list(short_names(["diffusers//home/ann/flux + http://new:8000/v1#edits", "reference//home/ann/mine"]).values())
    ['flux + edits', 'mine']
    """
    models = list(dict.fromkeys(models))
    forms = [{model: form(model) for model in models} for form in (_short, _identifier, _placed)]
    out: dict[str, str] = {}
    for model in models:
        unlike = (
            names[model]
            for names in forms
            if list(names.values()).count(names[model]) == 1 and names[model] not in (*taken, *out.values())
        )
        out[model] = next(unlike, model)
    return out


def _short(model: str) -> str:
    """The name alone: "gemma" of "http://10.0.0.7:8000/v1#org/gemma"; of a generator and an editor each."""
    if _EDITED in model:
        return _EDITED.join(map(_short, model.split(_EDITED)))
    kind, _, rest = model.partition("/")
    last = rest.rstrip("/").rpartition("/")[2]
    if kind in ("http:", "https:"):
        return rest.rpartition("#")[2].rpartition("/")[2] or model
    if kind == "replay" and last:
        return f"{last.removesuffix('.parquet').removesuffix('.csv').removesuffix('.table')} (replayed)"
    return last if (kind in ("hf", "openai", "vllm") or rest.startswith("/")) and last else model


def _identifier(model: str) -> str:
    """The name with its owner: "org/gemma"."""
    address, _, name = model.rpartition("#")
    return name if address else model.partition("/")[2] or model


def _placed(model: str) -> str:
    """The name with its host or folder: "gemma (10.0.0.7:8000)"."""
    address, _, name = model.rpartition("#")
    place = address.partition("//")[2].partition("/")[0] if address else model.rpartition("/")[0]
    return f"{name if address else _short(model)} ({place})" if place else model
