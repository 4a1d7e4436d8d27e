"""Offers of studies beyond the common commands, and the error for a study that lacks one."""

from typing import TYPE_CHECKING

from facevalue import studies
from facevalue.errors import SettingError
from facevalue.printable import join_names
from facevalue.protocol import Protocol
from facevalue.studies.registry import StudyEntry, list_entries

if TYPE_CHECKING:
    from facevalue.protocol.making import Making


def offering(command: str, *, all_packages: bool = False) -> dict[str, StudyEntry]:
    """The studies that offer a command, by name; those of other packages too if they shall be imported.

    Examples
    --------
    >>> list(offering("annotate"))
    ['counterfactuals', 'cultural-counterfactuals']
    """
    listed_studies = studies.available()[0] if all_packages else list_entries()
    return {name: listed for name, listed in listed_studies.items() if command in listed.extras.commands}


def example(command: str) -> str:
    """The name of a study that offers a command."""
    return next(iter(offering(command)))


def find_offering(study: str, command: str, noun: str) -> Protocol:
    """Look up a study that must offer a command."""
    protocol = studies.protocol(study)
    if command not in protocol.extras.commands:
        raise SettingError(lacking(protocol.name, command, noun))
    return protocol


def lacking(study: str, command: str, noun: str) -> str:
    """Say that a study does not offer a command, and which do.

    Examples
    --------
    >>> lacking("vignette", "demo", "demo")
    'vignette offers no demo; stylisticbias does.'
    """
    others = list(offering(command, all_packages=True))
    if not others:
        return f"{study} offers no {noun}."
    return f"{study} offers no {noun}; {join_names(others)} {'do' if len(others) > 1 else 'does'}."


def making_of(protocol: Protocol) -> "Making":
    """Making of pictures that a study offers.

    Raises
    ------
    SettingError
        It has nothing made; says which studies have.
    """
    if protocol.extras.making is None:
        raise SettingError(lacking(protocol.name, "make", "pictures to be made"))
    return protocol.extras.making()


def making_offer(name: str) -> "Making | None":
    """Making that a study by its name offers; None for a file of one's own, which is not known here."""
    offer = studies.protocol(name).extras.making if name in studies.STUDIES else None
    return None if offer is None else offer()
