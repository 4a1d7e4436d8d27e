"""Variants that a study of one's own declares: asked on the same trials, their changes estimated, mistakes named."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from facevalue.calibration.repetitions import audits_of
from facevalue.errors import DataError, FaceValueError
from facevalue.measures.definitions import NO_INTERVENTION
from facevalue.models.registry import load
from facevalue.protocol import Ask, Portraits, Protocol, Variant, choice, yes_or_no
from facevalue.protocol.toml_tables import builtin
from facevalue.protocol.variants import add_interventions
from facevalue.report.collect import report
from facevalue.runs import run
from facevalue.runs.joined_runs import estimate
from facevalue.runs.plan import plan
from facevalue.runs.stored_run import StoredRun
from facevalue.statistics import Estimand, Mean
from facevalue.types import Question
from tests.protocol.conftest import Reader

HIRE = """name = "hire"
[pictures]
kind = "portraits"
people = "6"
[pictures.cues]
eyewear = ["thick-rimmed"]
[prompt]
text = "Would you invite this person? Answer with only {options}."
[answer]
kind = "choice"
options = { invite = "invite", decline = "decline" }
favourable = "invite"
[[estimand]]
statistic = "shift"
by = ["variation"]
[[estimand]]
statistic = "mean"
"""
BLUNT = '[variant.blunt]\nprompt = "An interview? Say only {options}."\n'
REFERENCE = '[variant.formal]\noptions = { invite = "yes, send a letter" }\n'
FAIR = '[variant.fair]\nbefore = "Be fair."\n'
BARE = '[variant.no-picture]\npicture = "none"\n'
TASKS = """
[task.invite.prompt]
text = "Would you invite this person?"
[task.invite.answer]
kind = "yes-no"
[task.pay.prompt]
text = "What would this person earn? A number."
[task.pay.answer]
kind = "rating"
"""
TWO = HIRE[: HIRE.index("[prompt]")] + TASKS + HIRE[HIRE.index("[[estimand]]") :]


def question(protocol: Protocol, variant: str) -> Question:
    study = protocol.study()
    trials = study.design.trials(np.arange(study.design.size))
    return study.ask(trials.filter(pl.col("intervention") == variant)[:1])[0]


def test_each_variant_asks_the_plain_trials_again_in_its_way(read: Reader) -> None:
    plain, protocol = read(HIRE).study(), read(HIRE + BLUNT + REFERENCE + FAIR + BARE)
    assert protocol.study().design.size == 5 * plain.design.size
    assert question(protocol, "plain").prompt == plain.ask(plain.design.trials([0]))[0].prompt
    assert question(protocol, "blunt").prompt == "An interview? Say only (a) invite or (b) decline."
    assert [option.text for option in question(protocol, "formal").options] == ["yes, send a letter", "decline"]
    assert question(protocol, "fair").prompt.startswith("Be fair. Would you")


def test_replies_are_read_with_the_options_of_their_variant(read: Reader) -> None:
    study = read(HIRE + REFERENCE).study()
    trials = study.design.trials(np.arange(study.design.size))
    reply = {"status": pl.lit("ok"), "repeat": pl.lit(0), "probs": pl.lit(None, pl.List(pl.Float32))}
    answers = study.answer(trials.with_columns(**reply, text=pl.lit("Yes, send a letter.")))
    assert answers["trial"].equals(trials["trial"])
    share = answers.group_by("intervention").agg(pl.col("share").mean(), pl.col("na").is_null().all())
    assert set(share.rows()) == {("plain", None, False), ("formal", 1.0, True)}


def test_changes_are_estimated_and_reported_and_plans_count_them(read: Reader, tmp_path: Path) -> None:
    study = read(HIRE + BLUNT + BARE).study()
    assert plan(study).asked == 3 * 6 * 2 * 2
    run(study, load("sim/strong"), tmp_path / "run")
    stored = StoredRun.open(tmp_path / "run")
    assert stored.plain().study.design.size == study.design.size // 3
    report([stored], tmp_path / "report.html")
    estimates = estimate([stored])[0]
    values = {
        (row["versus"], row["intervention"]): row["value"]
        for row in estimates.filter(measure="mean").iter_rows(named=True)
    }
    for variant in ("blunt", "no-picture"):
        change = values[None, variant] - values[None, None]
        assert values[NO_INTERVENTION, variant] == pytest.approx(change, abs=1e-12)
    page = (tmp_path / "report.html").read_text()
    assert "Asked in other ways" in page
    varied = page.split('id="variants"')[1].split("</section>")[0]
    assert varied.count("model-part") == 1  # of the plain question: a variant has no variants, and no empty part
    assert "blunt: asked as “An interview? Say only {options}.”. no-picture: nothing is shown." in page


def test_interventions_are_asked_besides(read: Reader) -> None:
    study = read(HIRE + BLUNT).study()
    both = add_interventions(study, [builtin()["no-image"]])
    assert [variant.name for variant in both.changes.variants] == ["blunt", "no-image"]
    assert both.design.size * 2 == study.design.size * 3
    assert [block.name for block in both.design.blocks][:4] == [block.name for block in study.design.blocks]
    with pytest.raises(DataError, match="Two variants are called 'blunt'"):
        add_interventions(study, [Variant("blunt", before="Quick.")])
    with pytest.raises(DataError, match=r"only the study itself can do: .* \[variant.short\]"):
        add_interventions(study, [Variant("short", prompt="Invite?")])


def test_a_variant_may_be_of_one_task(read: Reader) -> None:
    protocol = read(TWO + '[variant.short]\ntasks = ["invite"]\nprompt = "Invite?"\n')
    blocks = {block.constants["intervention"]: block.constants["task"] for block in protocol.study().design.blocks}
    assert blocks == {"plain": "pay", "short": "invite"}
    assert question(protocol, "short").prompt == "Invite?"
    assert not protocol.study({"task": ["pay"]}).changes.variants


def test_calibration_is_of_the_study_as_it_is(read: Reader) -> None:
    plain = read(HIRE).study()
    read(HIRE + BLUNT, "varied.toml")
    assert audits_of(str(read.folder / "varied.toml"), 1).study.design.size == plain.design.size


def test_they_are_declared_in_python_too() -> None:
    protocol = Protocol(
        name="hire",
        title="Who is invited?",
        stimuli=Portraits(cues={}, people="4"),
        ask=Ask(("Is this {options}?",), choice({"a": "good", "b": "bad"}, "a", "both")),
        estimands=(Estimand(Mean()),),
        variants=(Variant("fine", options={"a": "fine"}), Variant("blank", picture="blank")),
    )
    assert protocol.study().design.size == 3 * 4 * 2
    assert question(protocol, "fine").prompt == "Is this (a) fine or (b) bad?"
    with pytest.raises(DataError, match="'fine' words options anew, and the answer is no choice"):
        Protocol(
            name="hire", title="", stimuli=Portraits(cues={}), ask=Ask(("Hire?",), yes_or_no()),
            estimands=(Estimand(Mean()),), variants=(Variant("fine", options={"yes": "Sure"}),),
        )  # fmt: skip


@pytest.mark.parametrize(
    ("study", "variant", "line", "message"),
    [
        (HIRE, '[variant.x]\npromt = "Who?"\n', 2, "Did you mean 'prompt'?"),
        (HIRE, '[variant.x]\npicture = "blnk"\n', 1, "Did you mean 'blank'?"),
        (HIRE, "[variant.x]\ncipher = 1\n", 2, "'cipher' is true or false, not 1."),
        (HIRE, '[variant.x]\ntitle = "X"\n', 1, "'x' does nothing: give a text, turns, a picture"),
        (HIRE, '[variant.X_y]\nbefore = "A"\n', 1, "cannot be called 'X_y': a name has up to 40 lower-case"),
        (HIRE, '[variant.plain]\nbefore = "A"\n', 1, "is not 'plain'"),
        (HIRE, '[variant.x]\nprompt = "Is this one for us?"\n', 1, "each wording of the prompt needs {options}"),
        (HIRE, '[variant.x]\nprompt = "A {job}? {options}"\n', 1, "Unknown slot of the prompt 'job'"),
        (HIRE, '[variant.x]\noptions = { invit = "yes" }\n', 1, "Unknown option 'invit'. Did you mean 'invite'?"),
        (HIRE, '[variant.x]\noptions = { invite = "decline" }\n', 1, "one wording, 'decline'"),
        (HIRE, '[variant.x]\ntasks = ["invite"]\nbefore = "A"\n', 1, "names tasks, and the study asks one question"),
        (HIRE, "[variant]\nx = 3\n", 2, "'x' is a table, not 3."),
        (TWO, '[variant.x]\nprompt = "Who?"\n', 1, "is one wording of 2 tasks: name one, tasks = ['invite']."),
        (TWO, '[variant.x]\ntasks = ["invit"]\nbefore = "A"\n', 1, "Unknown task 'invit'. Did you mean 'invite'?"),
        (HIRE, '[variant.x]\nturns = [["user", "Hi."]]\n', 1, "end with the user's"),
        (
            HIRE.replace("[answer]", 'paraphrases = ["Invited? {options}"]\n[answer]'),
            '[variant.x]\nprompt = "So? {options}"\n', 1, "of a question that has 2: make it one of the paraphrases",
        ),
    ],
)  # fmt: skip
def test_a_mistake_is_one_sentence_with_its_line(
    study: str, variant: str, line: int, message: str, read: Reader
) -> None:
    place = f"small.toml: line {len(study.splitlines()) + line}: "
    with pytest.raises(FaceValueError) as error:
        read(study + variant).study()
    text = str(error.value)
    assert text.startswith(place)
    assert message in text
    assert text.count("small.toml") == 1
