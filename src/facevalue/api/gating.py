"""Gate in Python: runs held against limits."""

from collections.abc import Mapping, Sequence
from os import PathLike

from facevalue.api.calls import place_of, stored_runs
from facevalue.api.run import Run
from facevalue.arguments import checked, checked_path
from facevalue.limits.declared import read_limits, stated_limits
from facevalue.limits.gated import Gate
from facevalue.limits.gated import gate as held
from facevalue.runs.audit_folder import waiting_runs, whole_runs_of

Place = Run | str | PathLike[str]


@checked
def gate(
    runs: Place | Sequence[Place],
    limits: str | PathLike[str] | Sequence[Mapping[str, object]],
    *,
    baseline: Place | Sequence[Place] = (),
    allow_incomplete: bool = False,
) -> Gate:
    """Hold runs against limits: whether all lie within, some beyond, or nobody can tell yet.

    Parameters
    ----------
    runs:
        A run, an audit, which stands for its runs, or several.
    limits:
        The file of limits, or its tables, each as a mapping with the same keys.
    baseline:
        What changes are taken against: a run, an audit, or several, of which one is of each study.
    allow_incomplete:
        Whether a run that has not ended may lie within, by what was asked; else there is not enough data.

    Returns
    -------
    The gate: its `outcome` is the worst of all limits, and `cells` has each estimate with its own.

    Raises
    ------
    DataError
        An unknown study, measure, label or level; a limit that is about nothing, or that nothing can lie beyond.
    RunError
        A run that cannot be read, or a baseline that does not go with it.

    Examples
    --------
    >>> import facevalue as fv
    >>> gate = fv.gate("runs/first", [{"measure": "shift", "by": ["variation"], "absolute": 0.2}])
    >>> gate.within, str(gate.outcome)
    (False, 'not enough data')
    """
    is_file = isinstance(limits, str | PathLike)
    declared = read_limits(checked_path(limits)) if is_file else stated_limits(limits)  # type: ignore[arg-type]
    run_places, compared = _place_list(runs), _place_list(baseline)
    waiting = waiting_runs(place_of(place) for place in run_places if not isinstance(place, Run))
    return held(
        list(stored_runs(run_places)), declared, list(stored_runs(compared, whole_runs_of)), waiting,
        allow_incomplete=allow_incomplete,
    )  # fmt: skip


def _place_list(places: Place | Sequence[Place]) -> Sequence[Place]:
    return [places] if isinstance(places, Run | str | PathLike) else places
