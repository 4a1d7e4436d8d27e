"""The same command goes on; anything else is refused with the reason."""

from pathlib import Path

import polars as pl
import pytest

from facevalue.errors import ModelError, RunError
from facevalue.protocol.study import Study
from facevalue.runs import RunSettings, SilentProgress, run
from facevalue.store import read_manifest, read_responses
from facevalue.store.shards import shard_paths
from facevalue.types import Option
from tests.runs.tiny import OPTIONS, TinyModel, TinySource, fails, for_a_while, tiny_study

SMALL = RunSettings(flush_rows=4)


class Notes(SilentProgress):
    def __init__(self) -> None:
        self.said: list[str] = []

    def note(self, message: str) -> None:
        self.said.append(message)


def half(study: Study, folder: Path, trials: int = 6) -> None:
    with pytest.raises(ModelError):
        run(study, TinyModel(for_a_while(trials * study.repeats, fails(ModelError))), folder, SMALL)


def test_a_resumed_run_equals_one_in_one_go(tmp_path: Path) -> None:
    study = tiny_study(seeds=(1, 2, 3))
    half(study, tmp_path / "two")
    summary = run(study, TinyModel(ahead=4), tmp_path / "two")
    run(study, TinyModel(), tmp_path / "one")
    assert (summary.skipped, summary.asked) == (18, 18)
    assert read_responses(tmp_path / "two").equals(read_responses(tmp_path / "one"))
    sessions = read_manifest(tmp_path / "two").sessions
    assert [session.asked for session in sessions] == [18, 18]


@pytest.mark.parametrize(
    ("study", "model", "settings", "said"),
    [
        (tiny_study(faces=5), TinyModel(), SMALL, "--faces: 4 in the folder, 5 asked"),
        (tiny_study(version=2), TinyModel(), SMALL, "study version: 1 in the folder, 2 asked"),
        (tiny_study(seeds=(2,)), TinyModel(), SMALL, r"seeds: 11 in the folder, 2 asked"),
        (tiny_study(), TinyModel(name="other"), SMALL, "model: tiny in the folder, other asked"),
        (tiny_study(), TinyModel(facts={"hash": "x"}), SMALL, "model hash: nothing in the folder, x asked"),
        (tiny_study(), TinyModel(), RunSettings(sample=5), "sample: the whole design in the folder, 5 asked"),
        (tiny_study(), TinyModel(probabilities="full"), RunSettings(exact=True), "exact probabilities asked"),
    ],
)
def test_changed_settings_are_refused(
    tmp_path: Path, study: Study, model: TinyModel, settings: RunSettings, said: str
) -> None:
    half(tiny_study(), tmp_path)
    before = (tmp_path / "run.toml").read_text()
    with pytest.raises(RunError, match=said):
        run(study, model, tmp_path, settings)
    assert model.asked == []
    assert (tmp_path / "run.toml").read_text() == before


@pytest.mark.parametrize(
    "study",
    [
        tiny_study(source=TinySource("v2")),
        tiny_study(wording="Is that person"),
        tiny_study(options=(*OPTIONS, Option("(c)", "neither", "none"))),
    ],
)
def test_a_changed_image_or_prompt_is_refused(tmp_path: Path, study: Study) -> None:
    half(tiny_study(), tmp_path)
    model = TinyModel()
    with pytest.raises(
        RunError, match=r"image or prompt has changed .* 6 of 6 .* trial \d+ \(block all, face f\d, scenario s0\)"
    ):
        run(study, model, tmp_path)
    assert model.asked == []


def test_one_changed_image_among_two_hundred_is_found(tmp_path: Path) -> None:
    half(tiny_study(faces=60), tmp_path, trials=170)
    shown = int(read_responses(tmp_path).group_by(pl.col("trial") // 3).len().filter(pl.col("len") == 3)["trial"][0])

    class OneChanged(TinySource):
        def stimulus(self, number, levels):  # type: ignore[no-untyped-def]
            self.content = "v2" if number == shown else "v1"
            return super().stimulus(number, levels)

    with pytest.raises(RunError, match=rf"3 of 170 .*face f{shown}\b"):
        run(tiny_study(faces=60, source=OneChanged()), TinyModel(), tmp_path)


def test_other_images_in_the_table_are_refused(tmp_path: Path) -> None:
    half(tiny_study(), tmp_path)
    base = tiny_study()
    study = type(base)(**{**vars(base), "manifest": base.manifest.with_columns(pl.lit("z").alias("set"))})
    with pytest.raises(RunError, match="lists other images"):
        run(study, TinyModel(), tmp_path)


def test_categories_in_the_table_are_compared_as_text(tmp_path: Path) -> None:
    base = tiny_study()
    kinds = pl.Series("kind", ["a", "b", "a", "b"], dtype=pl.Enum(["a", "b"]))
    study = type(base)(**{**vars(base), "manifest": base.manifest.with_columns(kinds)})
    half(study, tmp_path)
    text = type(base)(**{**vars(base), "manifest": study.manifest.with_columns(pl.col("kind").cast(pl.String))})
    assert run(text, TinyModel(), tmp_path).complete


@pytest.mark.parametrize("keep", [0, 10, -5])
def test_a_shard_cut_short_is_set_aside_and_asked_again(tmp_path: Path, keep: int) -> None:
    study = tiny_study()
    run(study, TinyModel(), tmp_path / "whole")
    folder = tmp_path / "run"
    half(study, folder, trials=8)
    path = shard_paths(folder)[0]
    rows = pl.read_parquet(path)["trial"].to_list()
    kept = set(read_responses(folder)["trial"].to_list()) - set(rows)
    path.write_bytes(path.read_bytes()[:keep])
    notes, model = Notes(), TinyModel()
    summary = run(study, model, folder, progress=notes)
    assert sorted(r.trial for r in model.asked) == sorted(set(range(12)) - kept)
    assert path.with_name(path.name + ".broken").exists()
    assert notes.said == list(summary.warnings)
    assert "is cut short or damaged" in notes.said[0]
    assert read_responses(folder).equals(read_responses(tmp_path / "whole"))


def test_a_leftover_of_a_kill_is_ignored(tmp_path: Path) -> None:
    study = tiny_study()
    half(study, tmp_path)
    (tmp_path / "responses" / ".part-00000099.parquet.tmp").write_bytes(b"PAR1 and then the power went")
    assert run(study, TinyModel(), tmp_path).asked == 6
    assert not list((tmp_path / "responses").glob(".*"))


def test_responses_without_settings_are_refused(tmp_path: Path) -> None:
    half(tiny_study(), tmp_path)
    (tmp_path / "run.toml").unlink()
    with pytest.raises(RunError, match="it is unknown of what"):
        run(tiny_study(), TinyModel(), tmp_path)


def test_responses_of_another_run_are_refused(tmp_path: Path) -> None:
    half(tiny_study(), tmp_path / "small")
    half(tiny_study(faces=99), tmp_path / "large", trials=290)
    shard = shard_paths(tmp_path / "large")[-1]
    shard.rename(shard_paths(tmp_path / "small")[0].with_name("part-00000099.parquet"))
    with pytest.raises(RunError, match="belongs to another run"):
        run(tiny_study(), TinyModel(), tmp_path / "small")


def test_a_foreign_run_toml_is_refused(tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text("[tool]\nname = 'x'\n")
    with pytest.raises(RunError, match="has format None"):
        run(tiny_study(), TinyModel(), tmp_path)


def test_an_unreadable_table_of_images(tmp_path: Path) -> None:
    half(tiny_study(), tmp_path)
    (tmp_path / "manifest.parquet").write_bytes(b"")
    with pytest.raises(RunError, match=r"manifest\.parquet is not the table of pictures that the run began with"):
        run(tiny_study(), TinyModel(), tmp_path)


@pytest.mark.parametrize("name", ["run[1]", "a*b", "what?", "run[v2]/deep"])
def test_a_folder_whose_name_looks_like_a_pattern_is_only_itself(tmp_path: Path, name: str) -> None:
    """`run[1]` as a pattern means `run1`: neither is ever taken for the other, to read or to set aside."""
    study, folder = tiny_study(), tmp_path / name
    other = tmp_path / name.replace("[1]", "1").replace("*", "x").replace("?", "x").replace("[v2]", "v")
    half(study, other)
    before = {path.name: path.read_bytes() for path in shard_paths(other)}
    half(study, folder, trials=9)
    summary = run(study, TinyModel(), folder, SMALL)
    assert (summary.skipped, summary.asked, summary.complete) == (9, 3, True)
    assert read_responses(folder).height == 12
    assert read_responses(other).height == 6
    assert {path.name: path.read_bytes() for path in shard_paths(other)} == before
