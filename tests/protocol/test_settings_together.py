"""Settings that would be ignored beside others are refused, in one sentence."""

from pathlib import Path

import pytest

from facevalue import studies
from facevalue.errors import SettingError
from facevalue.types import OptionValue


@pytest.mark.parametrize(
    ("study", "given", "says"),
    [
        ("stylisticbias", {"faces": "4", "manifest": "m.csv"}, "--faces has no effect beside --manifest: leave out"),
        ("stylisticbias", {"faces_seed": 2, "folders": "f"}, "--faces-seed has no effect beside --folders"),
        ("stylisticbias", {"folders": "f", "manifest": "m.csv"}, "--folders has no effect beside --manifest"),
        ("stylisticbias", {"root": "f"}, "--root has no effect without --manifest or --folders: give one too"),
        ("stylisticbias", {"kind": "photographs"}, "--kind has no effect without --manifest or --folders"),
        ("vignette", {"people": 2, "folder": "f"}, "--people has no effect beside --folder"),
        ("vignette", {"people": 2, "drawings": "none"}, "--people has no effect beside --drawings none"),
        ("vignette", {"drawings": "none", "pata": "f"}, "--drawings has no effect beside --pata"),
        ("vignette", {"pairs": 2}, "--pairs has no effect without --manifest, --folder or --pata"),
        ("vignette", {"roles": "r.json", "paradigm": ["perception"]}, "--roles has no effect without --paradigm dec"),
        ("visbias", {"root": "f"}, "--root has no effect without --folder or --manifest"),
        ("visbias", {"manifest": "m.csv", "folder": "f"}, "--manifest has no effect beside --folder"),
        ("visbias", {"species_root": "f"}, "--species-root has no effect without --species: give it too"),
        ("visbias", {"species_root": "f", "species": "drawn"}, "--species-root has no effect beside --species drawn"),
        ("visbias", {"forms": 2, "task": ["mcq"]}, "--forms has no effect without --task form or --task text-form"),
        ("visbias", {"race": ["white"], "task": ["form"]}, "--race has no effect without --task mcq, --task yesno or"),
        ("visbias", {"temperature": 1.0, "task": ["description"]}, "--temperature has no effect without --task mcq"),
    ],
)
def test_what_would_be_ignored_is_refused(study: str, given: dict[str, OptionValue], says: str) -> None:
    with pytest.raises(SettingError, match=says):
        studies.protocol(study).study(given)


@pytest.mark.parametrize("name", studies.STUDIES)
def test_settings_name_settings_that_there_are(name: str) -> None:
    settings = {setting.name: setting for setting in studies.STUDIES[name].settings}
    for setting in settings.values():
        for other in (*setting.needs, *setting.excludes):
            named, _, value = other.partition("=")
            assert named in settings
            assert not value or value in (settings[named].choices or settings[named].help)


def test_a_value_is_found_however_it_is_spelled_and_an_empty_list_is_all() -> None:
    assert studies.protocol("visbias").study({"forms": 1, "task": ["Text_Form"]}).design.size == 20
    assert studies.protocol("visbias").study({"forms": 1}).design.size > 20


def test_a_folder_of_sets_has_no_other_root(tmp_path: Path) -> None:
    text = (
        'name = "own"\n[pictures]\nkind = "folder"\ncue = "hat"\nbase = "none"\npath = "sets"\n[prompt]\n'
        'text = "Kind?"\n[answer]\nkind = "yes-no"\n[[estimand]]\nstatistic = "mean"\n'
    )
    (tmp_path / "own.toml").write_text(text)
    with pytest.raises(SettingError, match="--root has no effect beside --folder"):
        studies.protocol(str(tmp_path / "own.toml")).study({"root": "x"})


def test_a_stored_run_is_built_with_what_it_was_asked_with() -> None:
    table = studies.protocol("stylisticbias").study({"faces": "2", "attributes": ["eyewear"]}).manifest
    again = studies.protocol("stylisticbias").study({"faces": "2", "root": "gone"}, table)
    assert again.manifest is table


@pytest.mark.parametrize("text", ["1000000", "1000000M,2F"])
def test_too_many_faces_are_told_how_many_there_can_be(text: str) -> None:
    with pytest.raises(Exception, match="too many faces: at most 999,999"):
        studies.protocol("stylisticbias").study({"faces": text})
