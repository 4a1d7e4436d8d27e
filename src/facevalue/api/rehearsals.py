"""Rehearsals of what is planned or run, where they are short."""

from typing import TYPE_CHECKING

from facevalue.protocol.protocol import Protocol

if TYPE_CHECKING:
    from facevalue.measures.families import Preregistration
    from facevalue.protocol.study import Study


def rehearse(
    protocol: Protocol, study: "Study", *, exact: bool = False, declared: "Preregistration | None" = None
) -> None:
    """Rehearse a declared study, as of `report.rehearsal.rehearse`.

    One with `build=`, as the published ones, is not: even a few of its answers have so many estimates that it takes
    seconds.
    """
    if protocol.build is None:
        from facevalue.report import rehearsal  # noqa: PLC0415 - slow to import

        rehearsal.rehearse(protocol, study, exact=exact, declared=declared)
