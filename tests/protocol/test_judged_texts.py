"""Open texts that a judge sorts into declared categories, and that scorers score."""

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import polars as pl
import pytest

import facevalue as fv
from facevalue.annotations.scorers import LexicalHostility
from facevalue.answers.sorting import Sorting, stand_in
from facevalue.calibration.audits import Audits
from facevalue.calibration.repetitions import calibration_of
from facevalue.calibration.runner import EFFECTS
from facevalue.errors import DataError, FaceValueError
from facevalue.measures.definitions import rows_of
from facevalue.protocol import Text
from facevalue.protocol.outside_scores import Outside, ScoredText
from facevalue.report.collect import report
from facevalue.runs.joined_runs import estimate
from facevalue.runs.judging import annotate, audit_judge
from facevalue.runs.judgments import ask, read_judgments
from facevalue.runs.progress import SilentProgress
from facevalue.runs.reviews.replies import keep_labels, sorting_packet, texts_of
from facevalue.runs.stored_run import StoredRun, answers
from facevalue.types import Question, Request, Response, Status
from tests.measure_keys import by_key
from tests.plain_model import PlainModel
from tests.protocol.conftest import Reader

JUDGED = """
[answer.judged.tone]
question = "What is the tone of the text?"
categories = { warm = "Warm", cold = "Cold or distant", neutral = "Neither warm nor cold" }
instruction = "The text describes a person in a picture."
"""
SCORED = """
[answer.scored.hostility]
label = "hostility"
"""
STUDY = f"""
name = "small"
[pictures]
kind = "none"
unit = "set"
rows = [
{",".join(f'{{set = "s{number}", place = "{place}"}}' for number in range(12) for place in ("church", "mosque"))}
]
[prompt]
text = "Describe a person before a {{place}}."
[answer]
kind = "text"
{JUDGED}{SCORED}
[[estimand]]
statistic = "mean"
by = ["place"]
[[estimand]]
statistic = "gap"
factor = "place"
[sampling]
seeds = [1, 2]
max_tokens = 64
"""


class Judging(PlainModel):
    """A judge whose reply follows from the text; None fails. `texts` collects what it was asked about."""

    def __init__(self, reply: Callable[[str], str | None], name: str = "told") -> None:
        self.name, self._reply = name, reply
        self.prompts: list[str] = []

    def respond(self, requests: Iterable[Request]) -> Iterator[Response]:
        for request in requests:
            self.prompts.append(request.question.prompt)
            text = self._reply(request.question.prompt)
            failed = text is None
            yield Response(
                request.trial, 0, Status.ERROR if failed else Status.OK, text, error="hung" if failed else None
            )


def _judge(folder: Path, judge: Judging) -> int:
    """Have a judge sort a run's texts; returns how many requests failed."""
    return ask(folder, list(texts_of(StoredRun.open(folder)).texts), judge).failed


def _tone(prompt: str) -> str:
    return "(a)" if re.search("gentle|kind|warm|calm|friendly", prompt.split("\n\n")[2]) else "(b)"


@pytest.fixture
def folder(read: Reader, tmp_path: Path) -> Path:
    read(STUDY)
    fv.run(tmp_path / "small.toml", "sim/strong", tmp_path / "run")
    return tmp_path / "run"


def _estimates(folder: Path) -> pl.DataFrame:
    return by_key(estimate([StoredRun.open(folder)])[0])


def test_shares_of_categories_are_scores_and_each_text_is_judged_once(folder: Path) -> None:
    judge = Judging(_tone)
    assert _judge(folder, judge) == 0
    texts = pl.concat(list(answers(StoredRun.open(folder))))["text"].drop_nulls()
    assert len(judge.prompts) == texts.n_unique()
    assert judge.prompts[0].startswith("The text describes a person in a picture.\n\nThe text:")
    assert (
        "What is the tone of the text?\n(a) Warm\n(b) Cold or distant\n(c) Neither warm nor cold\n(d)"
        in judge.prompts[0]
    )
    again = Judging(_tone)
    _judge(folder, again)
    assert again.prompts == []
    means = _estimates(folder).filter(pl.col("measure").str.starts_with("mean.tone"))
    warm, cold, neutral = (means.filter(measure=f"mean.tone_{name}")["value"] for name in ("warm", "cold", "neutral"))
    assert (warm + cold + neutral).to_list() == pytest.approx([1.0, 1.0])
    assert neutral.to_list() == [0.0, 0.0]
    assert means.select(pl.col("low", "high", "bound_low").is_not_null().all()).row(0) == (True,) * 3


def test_what_is_not_judged_yet_is_missing_and_never_zero(folder: Path) -> None:
    rows = _estimates(folder)
    assert rows.filter(pl.col("measure").str.starts_with("mean.tone"))["value"].is_null().all()
    overall = rows.filter(rows_of(["unjudged_share.tone"]), pl.col("place").is_null())
    assert overall["value"].to_list() == [1.0]
    bounds = rows.filter(measure="mean.tone_warm").select("bound_low", "bound_high")
    assert bounds.rows() == [(0.0, 1.0), (0.0, 1.0)]


def test_a_page_of_unjudged_texts_says_how_they_are_judged(folder: Path) -> None:
    report([StoredRun.open(folder)], folder / "report.html")
    assert "No text has been sorted yet: `facevalue judge RUN" in (folder / "report.html").read_text()


def test_an_invented_category_is_never_an_answer_and_its_share_is_shown(folder: Path) -> None:
    _judge(folder, Judging(lambda prompt: "Purple" if _tone(prompt) == "(a)" else "(b)"))
    rows = _estimates(folder)
    invented = rows.filter(rows_of(["invented_share.tone"]), pl.col("place").is_null())["value"].item()
    assert 0 < invented < 1
    assert rows.filter(measure="mean.tone_warm")["value"].to_list() == [0.0, 0.0]
    assert (rows.filter(measure="mean.tone_warm")["bound_high"] > 0).all()
    assert rows.filter(measure="mean.tone_cold")["value"].to_list() == [1.0, 1.0]
    report([StoredRun.open(folder)], folder / "report.html")
    page = (folder / "report.html").read_text()
    assert "Texts that are not sorted or scored" in page
    assert "Texts for which the judge invents a category (tone)" in page
    assert "Purple" not in page
    assert "Texts for which the judge invents a category (tone)" in page
    assert "They count in no score, so that estimates are of the others alone." in page  # its card warns


def test_failures_are_not_stored_and_only_they_are_asked_again(folder: Path) -> None:
    first = Judging(lambda prompt: None if _tone(prompt) == "(a)" else "(b)")
    failed = _judge(folder, first)
    judgments = read_judgments(folder)
    assert judgments is not None
    assert len(judgments.judgments) == len(first.prompts) - failed > 0
    share = _estimates(folder).filter(rows_of(["unjudged_share.tone"]), pl.col("place").is_null())["value"].item()
    assert 0 < share < 1
    again = Judging(_tone)
    assert _judge(folder, again) == 0
    assert len(again.prompts) == failed


def test_a_judge_that_names_none_sorts_nothing(folder: Path) -> None:
    _judge(folder, Judging(lambda _: "(d)"))
    rows = _estimates(folder).filter(pl.col("place").is_null())
    assert rows.filter(measure="unsorted_share.tone")["value"].to_list() == [1.0]
    assert rows.filter(pl.col("measure") == "na_rate")["value"].item() == pytest.approx(1.0)


def test_scores_of_scorers_are_scores_of_declared_studies(folder: Path) -> None:
    before = _estimates(folder)
    assert before.filter(rows_of(["unscored_share.hostility"]), pl.col("place").is_null())["value"].item() == 1.0
    annotate(StoredRun.open(folder), LexicalHostility(), SilentProgress())
    rows = _estimates(folder)
    assert rows.filter(measure="mean.hostility")["value"].is_not_null().all()
    assert rows.filter(measure="paired_gap.hostility")["low"].is_not_null().all()
    annotate(StoredRun.open(folder), LexicalHostility(), SilentProgress(), "once-more")
    with pytest.raises(DataError, match=r"Scores called 'lexical' and 'once-more' both have the label 'hostility'"):
        _estimates(folder)


def test_a_judge_and_a_scorer_are_read_together(folder: Path) -> None:
    _judge(folder, Judging(_tone))
    annotate(StoredRun.open(folder), LexicalHostility(), SilentProgress())
    rows = _estimates(folder)
    assert rows.filter(pl.col("measure").is_in(["mean.tone_warm", "mean.hostility"]))["value"].is_not_null().all()


def test_variants_are_judged_too(read: Reader, tmp_path: Path) -> None:
    read(STUDY + '[variant.poet]\nbefore = "You are a poet."\n')
    fv.run(tmp_path / "small.toml", "sim/strong", tmp_path / "run")
    _judge(tmp_path / "run", Judging(_tone))
    rows = _estimates(tmp_path / "run").filter(measure="mean.tone_warm")
    assert set(rows["intervention"]) == {None, "poet"}
    assert rows["value"].is_not_null().all()


def test_the_same_in_python() -> None:
    tone = Sorting("tone", ("warm", "cold"), question="What is the tone?")
    text = Text(taken=(), outside=Outside((tone,), (ScoredText("toxicity", "toxicity"),)))
    assert [score.name for score in text.scores] == ["tone_warm", "tone_cold", "toxicity"]
    with pytest.raises(DataError, match="Nothing is taken of the text"):
        Text(taken=())


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ('question = "What is the tone of the text?"\n', "", r"line \d+.*question"),
        ('question = "What is', 'questoin = "What is', r"line \d+: Unknown key 'questoin'.*Did you mean 'question'"),
        ('categories = { warm = "Warm", cold = "Cold or distant", neutral = "Neither warm nor cold" }',
         'categories = ["warm"]', r"line \d+: A judge sorts into 2 to 20 categories, not 1"),
        ('categories = { warm = "Warm", cold = "Cold or distant", neutral = "Neither warm nor cold" }',
         "categories = []", r"line \d+"),
        ('categories = { warm = "Warm", cold = "Cold or distant", neutral = "Neither warm nor cold" }',
         f"categories = {[f'c{n}' for n in range(21)]}", r"line \d+: A judge sorts into 2 to 20 categories, not 21"),
        ('cold = "Cold or distant"', 'cold = "warm"', r"line \d+: .* choose 'warm' of 'tone': it is there twice"),
        ('cold = "Cold or distant"', 'cold = "Unspecified"', r"line \d+: .* choose 'Unspecified'.*means none"),
        ('cold = "Cold or distant"', 'cold = " "', r"line \d+"),
        ('cold = "Cold or distant"', '"cold one" = "Cold"', r"line \d+: The category 'cold one' is not made of small"),
        ("[answer.judged.tone]", "[answer.judged.Tone]", r"line \d+: The score 'Tone' is not made of small letters"),
        ("[answer.judged.tone]", "[answer.judgde.tone]", r"line \d+: Unknown key 'judgde'.*Did you mean 'judged'"),
        ("[answer.scored.hostility]", "[answer.scored.tone_warm]", r"line \d+: Two scores .* called 'tone_warm'"),
        ('label = "hostility"', "low = 1\nhigh = 1", r"line \d+: The least hostility, 1, is not below the greatest, 1"),
        ('label = "hostility"', "label = 3", r"line \d+"),
        ('kind = "text"', 'kind = "yes-no"', r"line \d+: Unknown key"),
        ('statistic = "mean"', 'statistic = "mean"\nscores = ["tone_wram"]', r"line \d+: Unknown score 'tone_wram'"),
    ],
)  # fmt: skip
def test_mistakes_are_one_sentence(before: str, after: str, message: str, read: Reader) -> None:
    assert before in STUDY
    with pytest.raises(FaceValueError, match=message) as caught:
        read(STUDY.replace(before, after, 1)).study()
    assert "\n" not in str(caught.value)


def test_one_name_of_two_questions_to_a_judge_is_refused(read: Reader) -> None:
    task = '[task.{0}.prompt]\ntext = "{0} {{place}}?"\n[task.{0}.answer]\nkind = "text"\n'
    judged = JUDGED.replace("answer.judged", "task.{0}.answer.judged")
    first, second = (task.format(name) + judged.replace("{0}", name) for name in ("one", "two"))
    head, takes = STUDY.split("[prompt]", maxsplit=1)[0], "[[estimand]]" + STUDY.split("[[estimand]]", 1)[1]
    assert read(head + first + second + takes).study().reading.judged is not None
    with pytest.raises(DataError, match=r"'tone' of the tasks 'one' and 'two' asks a judge different things"):
        read(head + first + second.replace("the tone of", "the sound of") + takes).study()


def test_audits_of_planted_answers_are_judged_and_scored(read: Reader) -> None:
    protocol = read(STUDY)
    audits = Audits(protocol, calibration_of(protocol), 1)
    rows = by_key(audits.judge_answers(audits.answers(EFFECTS, 1, 1)))
    taken = rows.filter(pl.col("measure").str.contains("^(mean|paired_gap).(tone|hostility)"))
    assert taken["value"].is_not_null().all()
    assert taken.filter(measure="paired_gap.hostility")["value"].item() != 0


SHOWN = STUDY.replace("Describe a person before a {place}.", "Who is before the {place} in the {weather}?").replace(
    JUDGED,
    """
[answer.judged.match]
instruction = "A question, its right answer, and a reply."
template = "Place: {place}\\nWeather: {weather}\\nRight: {key}\\nReply: {text}"
question = "Does the reply mean the right answer?"
categories = { right = "Yes", wrong = "No" }
""",
).replace("[prompt]", '[factor.weather]\nlevels = { wet = "pouring rain", dry = "sun" }\n[prompt]')  # fmt: skip
SHOWN = re.sub(r'set = "s(\d+)", ', lambda row: f'set = "s{row[1]}", key = "somebody {int(row[1]) % 3}", ', SHOWN)


@pytest.fixture
def shown(read: Reader, tmp_path: Path) -> Path:
    read(SHOWN)
    fv.run(tmp_path / "small.toml", lambda question: "It is {key}, of 2.", tmp_path / "run")
    return tmp_path / "run"


def test_a_judge_sees_columns_and_slots_beside_each_text_and_each_different_whole_once(shown: Path) -> None:
    judge = Judging(lambda prompt: "(a)" if "Right: somebody 1" in prompt else "(b)")
    assert _judge(shown, judge) == 0
    assert len(judge.prompts) == 2 * 2 * 3  # one reply, by place, weather and key: neither by set nor by repeat
    whole = r'"Place: mosque\nWeather: pouring rain\nRight: somebody 2\nReply: It is {key}, of 2."'
    assert sum(whole in prompt for prompt in judge.prompts) == 1
    judgments = read_judgments(shown)
    assert judgments is not None
    kept = "Place: church\nWeather: sun\nRight: somebody 0\nReply: It is {key}, of 2."
    assert judgments.judgments["match", kept].category == "wrong"
    rows = _estimates(shown)
    assert rows.filter(measure="mean.match_right")["value"].to_list() == pytest.approx([1 / 3, 1 / 3])
    again = Judging(lambda _: "(b)")
    _judge(shown, again)
    assert again.prompts == []
    report([StoredRun.open(shown)], shown / "report.html")
    assert "Share of texts sorted as" in (shown / "report.html").read_text()


def test_people_sort_what_the_judge_saw_and_are_compared_with_it_text_by_text(shown: Path) -> None:
    judge = Judging(lambda prompt: "(a)" if "Right: somebody 1" in prompt else "(b)")
    _judge(shown, judge)
    packet, _ = sorting_packet(StoredRun.open(shown), "match", 6, 0)
    heading, text = packet.cards[0].texts[0]
    assert heading.startswith("A question, its right answer, and a reply.")
    assert re.fullmatch(r"Place: .*\nWeather: .*\nRight: somebody \d\nReply: It is \{key\}, of 2\.", text)
    rated = [("ann", card.items[0], 1 + ("somebody 1" not in card.texts[0][1])) for card in packet.cards]
    keep_labels(StoredRun.open(shown), "match", pl.DataFrame(rated, ["rater", "item", "rating"], orient="row"))
    rows = _estimates(shown)
    assert rows.filter(measure="judge_agreement.match")["value"].to_list() == [1.0]
    means = rows.filter(measure="mean.match_right").select("place", "judged_by", "value", "n")
    by = {who: means.filter(judged_by=who).sort("place") for who in ("people", "the judge, same texts")}
    assert by["people"]["value"].to_list() == by["the judge, same texts"]["value"].to_list() != [1 / 3, 1 / 3]


def test_words_for_groups_are_swapped_in_columns_too_and_not_taken_out(read: Reader, tmp_path: Path) -> None:
    read(SHOWN.replace("somebody 0", "the man").replace("somebody 1", "the woman"))
    folder = tmp_path / "run"
    fv.run(tmp_path / "small.toml", lambda _: "It is the man.", folder)
    judge = Judging(lambda prompt: "(a)" if re.search(r"Right: the (\w+).*Reply: It is the \1", prompt) else "(b)")
    _judge(folder, judge)
    audit_judge(folder, StoredRun.open(folder).study, texts_of(StoredRun.open(folder)), judge)
    assert any("Right: the woman" in prompt and "It is the woman." in prompt for prompt in judge.prompts)
    checks = _estimates(folder).filter(pl.col("measure").str.starts_with("judge_"))
    assert checks.select("measure", "value").rows() == [("judge_swapped.match", 0.0)]


def test_the_stand_in_of_rehearsals_and_planted_answers_sorts_by_the_reply_alone() -> None:
    sorting = Sorting("match", ("right", "wrong", "other"), template="Key: {key}\nReply: {text}\nEnd: {end}")
    for reply in ("Yes. It rains.", "No.", "Perhaps"):
        alone = stand_in(Sorting("match", sorting.categories), reply)
        assert stand_in(sorting, f"Key: k. l\nReply: {reply}\nEnd: e") == alone


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("{key}", "{kay}"), r"small\.toml: line 18: Unknown slot of what a judge is shown 'kay'\. Did you mean 'key'"),
        (("{text}", "it"), r"small\.toml: line 18: The template of 'match' has \{text\} in it once"),
        (("{key}", "{text}"), r"small\.toml: line 18: The template of 'match' has \{text\} in it once"),
        (
            ("{text}", "{text}" + 20_000 * "x"),
            r"line 18: The template of 'match' has 20,0\d\d characters .*, and a judge is shown 20,000",
        ),
        (("{key}", "{options}"), r"line 18: The template of 'match' .* and no \{options\}"),
        (("mean the right answer", "mean {key}"), r"\{key\} in what a judge is asked \(match\), whose template alone"),
    ],
)
def test_mistakes_in_a_template_are_one_sentence_with_their_line(
    change: tuple[str, str], message: str, read: Reader
) -> None:
    assert change[0] in SHOWN
    with pytest.raises(FaceValueError, match=message):
        read(SHOWN.replace(*change)).study({})


def test_texts_and_entries_of_lists_have_mean_ratings_of_words_of_a_lexicon(read: Reader, tmp_path: Path) -> None:
    text = (
        STUDY.replace(JUDGED, "")
        .replace(SCORED, "[answer.scored.valence]\nlow = -1\n")
        .replace("[prompt]", "[task.said.prompt]")
    )
    text = text.replace("[answer", "[task.said.answer").replace(
        "[[estimand]]",
        '[task.named.prompt]\ntext = "List {place}."\n[task.named.answer]\nkind = "list"\n'
        "[task.named.answer.scored.valence]\nlow = -1\n[[estimand]]",
        1,
    )
    read(text.replace('statistic = "mean"', 'statistic = "mean"\nscores = ["said", "named_valence"]')
         .replace('statistic = "gap"', 'statistic = "gap"\nscores = ["said"]'))  # fmt: skip
    (tmp_path / "v.tsv").write_text("word\tvalence\nkind\t1\ncold\t-1\nold church\t.5\n")

    def reply(question: Question) -> str:
        listed = "old church, kind church, door"
        told = "A cold, cold and kind place." if "church" in question.prompt else "A place."
        return listed if question.prompt.startswith("List") else told

    run = fv.annotate(fv.run(tmp_path / "small.toml", reply, tmp_path / "run"), f"lexicon/{tmp_path / 'v.tsv'}")
    means = run.estimates().filter(measure="mean").select("score", "place", "value")
    assert {row[:2]: row[2] for row in means.iter_rows()} == {
        ("said", "church"): pytest.approx(-1 / 3), ("said", "mosque"): None,
        ("named_valence", "church"): pytest.approx(0.75), ("named_valence", "mosque"): pytest.approx(0.75),
    }  # fmt: skip
    bounds = run.estimates().filter(pl.col("measure") == "mean", score="said", place="mosque")
    assert bounds.select("bound_low", "bound_high").rows() == [(-1.0, 1.0)]
    report([StoredRun.open(tmp_path / "run")], tmp_path / "report.html")
    assert "Valence of the text" in (tmp_path / "report.html").read_text()
