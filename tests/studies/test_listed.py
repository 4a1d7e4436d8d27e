"""What lists say of studies that are files is what these files, once they are understood, say."""

from dataclasses import replace

import pytest

from facevalue.studies.registry import DECLARED, STUDIES, StudyEntry, available, list_entries


@pytest.mark.parametrize("name", DECLARED)
def test_the_head_of_a_file_says_what_its_protocol_says(name: str) -> None:
    head, protocol = StudyEntry.from_file(name), StudyEntry.from_protocol(STUDIES[name])
    assert head.extras.commands == protocol.extras.commands
    without = [replace(study, extras=replace(study.extras, making=None)) for study in (head, protocol)]
    assert without[0] == without[1]
    assert head.title


def test_what_a_listed_study_has_made_is_that_of_its_protocol() -> None:
    making = [name for name in DECLARED if StudyEntry.from_file(name).extras.making]
    assert making
    for name in making:
        listed, protocol = StudyEntry.from_file(name).extras.making, STUDIES[name].extras.making
        assert listed is not None
        assert protocol is not None
        assert listed() == protocol()


def test_all_studies_are_listed_in_their_order() -> None:
    assert list(list_entries()) == list(STUDIES)
    assert list(available()[0])[-len(STUDIES) :] == list(STUDIES)
