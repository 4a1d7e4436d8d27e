"""Profile in Python: what several studies say of the same groups."""

from dataclasses import asdict
from os import PathLike
from pathlib import Path

import polars as pl

from facevalue.api.calls import stored_runs, unasked_of
from facevalue.api.run import Run
from facevalue.arguments import checked
from facevalue.errors import SettingError
from facevalue.report.profile import Profile, profile_of
from facevalue.report.profile.page import write
from facevalue.report.profile.rows import ComparisonRow, ContrastRow, comparisons, contrast_rows
from facevalue.report.profile.wording import answer


class AuditProfile:
    """A profile of runs: what all of their studies say, judged at one level. Made by `profile`.

    Examples
    --------
    >>> import facevalue as fv
    >>> built = fv.profile("runs/first")
    >>> built
    AuditProfile(['stylisticbias'])
    """

    def __init__(self, built: Profile) -> None:
        self._made = built

    @property
    def answer(self) -> str:
        """The profile in a few sentences.

        Examples
        --------
        >>> import facevalue as fv
        >>> fv.profile("runs/first").answer.endswith(".")
        True
        """
        return " ".join(answer(self._made))

    def comparisons(self) -> pl.DataFrame:
        """Return a row for every comparison: group, question, direction, size, interval, verdict at the audit's level.

        Examples
        --------
        >>> import facevalue as fv
        >>> fv.profile("runs/first").comparisons()["dimension"].unique().to_list()
        ['visual cue']
        """
        rows = [asdict(row) for row in comparisons(self._made)]
        return pl.DataFrame(rows, schema=_schema(ComparisonRow), orient="row")

    def side_by_side(self) -> pl.DataFrame:
        """Return what two kinds of question, two models, or a request with an intervention and without say of a group.

        Examples
        --------
        >>> import facevalue as fv
        >>> fv.profile("runs/first").side_by_side().columns[:4]
        ['model', 'first', 'second', 'group']
        """
        rows = [asdict(row) for row in contrast_rows(self._made)]
        return pl.DataFrame(rows, schema=_schema(ContrastRow), orient="row")

    @checked
    def save(self, path: str | PathLike[str]) -> Path:
        """Write the page and return its path.

        Raises
        ------
        SettingError
            The file's name does not end in .html.

        Examples
        --------
        >>> import facevalue as fv
        >>> fv.profile("runs/first").save("profile.html").stat().st_size > 10_000
        True
        """
        target = Path(path)
        if target.suffix.lower() != ".html":
            raise SettingError(f"{target.name} is not a .html file.")
        write(target, self._made)
        return target

    def __repr__(self) -> str:
        return f"AuditProfile({[study.name for study in self._made.studies]})"


@checked
def profile(*runs: Run | str | PathLike[str]) -> AuditProfile:
    """Set side by side what runs of several studies say of the same groups, and judge all of it at one level.

    Parameters
    ----------
    runs:
        Runs of any studies and of one or several models, their folders, or the folder of an audit.

    Raises
    ------
    RunError
        No run, the same run twice, runs of one study that were not asked the same, or no valid answer.

    Examples
    --------
    >>> import facevalue as fv
    >>> fv.profile("runs/first").answer.split(":")[0][-29:]
    'That is no proof of fairness.'
    """
    return AuditProfile(profile_of(list(stored_runs(runs)), unasked_of(runs)))


def _schema(row: type[ComparisonRow] | type[ContrastRow]) -> dict[str, pl.DataType]:
    """Types of columns, from those of a row's fields."""
    kinds = {"str": pl.String(), "bool": pl.Boolean(), "int": pl.Int64(), "float": pl.Float64()}
    texts = {name: str(kind) for name, kind in row.__annotations__.items()}
    return {
        name: pl.List(pl.String()) if "tuple" in text else next(kinds[k] for k in kinds if k in text)
        for name, text in texts.items()
    }
