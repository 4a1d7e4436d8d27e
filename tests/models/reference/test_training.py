"""How the reference model is trained: shared pictures, losses, stages that stop and go on, what is published."""

import json
import os
import shutil
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest

from facevalue.models.reference.adapter import FOLDER
from facevalue.models.reference.network import Network, read_weights
from facevalue.models.reference.replies import Tokens
from facevalue.studies.stylisticbias.tables import whitelist
from reference.truth import (
    PERSONAS,
    SCENARIOS,
    TERMS,
    TRAITS,
    VARIATIONS,
    JudgedPerson,
    PlantedTruth,
    people,
)

os.environ.setdefault("HF_HUB_OFFLINE", "1")
torch: Any = pytest.importorskip("torch", reason="torch is not installed: pip install '.[hf]'")
pytest.importorskip("transformers", reason="transformers is not installed: pip install '.[hf]'")

from safetensors.torch import load_file, save_file  # noqa: E402

from reference import material, measure, publish, reading, scenes, teach, words  # noqa: E402
from reference.choices import COLD, Choices  # noqa: E402
from reference.level import Level  # noqa: E402
from reference.material import Material, Pictures  # noqa: E402
from reference.network import features  # noqa: E402
from reference.pack import decode  # noqa: E402
from reference.portraits import CHANGES, SIDE, Portraits, facts, training_jobs  # noqa: E402
from reference.probe import Probe  # noqa: E402
from reference.reading import AT_ONCE, begin, loss_of  # noqa: E402
from reference.rows import LEFT, ONE, RIGHT, Row  # noqa: E402
from reference.scenes import Shown  # noqa: E402
from reference.teach import Pupil, Stage  # noqa: E402

torch.set_num_threads(1)
TRUTH = PlantedTruth()
SMALL = {
    "PICTURES": 4, "QUESTIONS": 2, "LONG": 1, "LONG_QUESTIONS": 2, "TWO_PICTURES": 2, "TWO_QUESTIONS": 2, "EMPTY": 1,
    "EMPTY_QUESTIONS": 2, "REVISED": 2, "WORD_PAIRS": 2, "LISTS": 1, "REPEATED": 1, "REPEATED_QUESTIONS": 2,
}  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def _one_tokenizer() -> Iterator[None]:
    """Learn the tokenizer once; every pupil would learn it anew."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(words, "tokenizer", cache(words.tokenizer))
        yield


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make steps small."""
    for name, size in SMALL.items():
        monkeypatch.setattr(teach, name, size)
    monkeypatch.setattr(reading, "AT_ONCE", 8)


def pixels(count: int, seed: int = 1) -> Any:
    return torch.from_numpy(np.random.default_rng(seed).integers(0, 256, (count, SIDE, SIDE, 3), dtype=np.uint8))


@cache
def pupil() -> Pupil:
    """A pupil with random weights so large that attention is not even; to be looked at only."""
    made = Pupil(TRUTH, 3)
    with torch.no_grad():
        for layer in made.model.model.language_model.layers:
            for part in (layer.self_attn.q_proj, layer.self_attn.k_proj, layer.self_attn.v_proj, layer.mlp.up_proj):
                part.weight.mul_(8.0)
    made.model.eval()
    return made


@cache
def tokens(count: int = 2) -> Any:
    with torch.no_grad():
        return features(pupil().tower, pixels(count))


ASKED = (
    "Is the person in the picture funny? Answer with only yes or no.",
    "Which of these two individuals is shy?\nChoose one of these options: old man; young man.",
    "Hello there! What is it?",
)


@cache
def plain() -> list[list[Any]]:
    """What transformers' own forward pass says of every question about every picture."""
    image = pupil().model.config.image_token_index
    values = pixels(2).permute(0, 3, 1, 2).float() / 127.5 - 1.0
    out: list[list[Any]] = []
    with torch.no_grad():
        for one in values:
            out.append([])
            for text in ASKED:
                ids = pupil().writer.prompt(text)
                whole = torch.tensor([[pupil().model.begin, *[image] * tokens().shape[1], *ids]])
                said = pupil().model(input_ids=whole, pixel_values=one[None], output_hidden_states=True)
                states = [state[0, -len(ids) :] for state in said.hidden_states]
                out[-1].append((said.logits[0, -len(ids) :], states))
    return out


def packed(layers: int | None = None) -> tuple[Any, list[Any]]:
    """The same from the decoder that goes over each picture once, and what it leaves from halfway up."""
    rows = [pupil().writer.prompt(text) for text in ASKED]
    longest = max(map(len, rows))
    ids = torch.tensor([row + [pupil().pad] * (longest - len(row)) for row in rows])
    language = pupil().model.model.language_model
    middle: list[Any] = []
    with torch.no_grad():
        embedded = language.embed_tokens(ids)[None].expand(2, -1, -1, -1)
        return decode(language, begin(pupil().model, tokens()), embedded, middle, layers), middle


def test_a_picture_shared_by_questions_gives_the_logits_of_a_forward_pass_for_each() -> None:
    language = pupil().model.model.language_model
    with torch.no_grad():
        logits = pupil().model.lm_head(language.norm(packed()[0]))
    for picture, asked in enumerate(plain()):
        for question, (wanted, _) in enumerate(asked):
            torch.testing.assert_close(logits[picture, question, : len(wanted)], wanted, atol=1e-5, rtol=1e-5)
    assert (plain()[0][0][0] - plain()[1][0][0]).abs().max() > 1e-3  # what is shown makes a difference


def test_layers_stop_where_they_are_told_and_the_middle_is_the_state_halfway_up() -> None:
    count = len(pupil().model.model.language_model.layers)
    for layers in range(1, count):
        hidden, middle = packed(layers)
        for picture, asked in enumerate(plain()):
            for question, (_, states) in enumerate(asked):
                own = hidden[picture, question, : len(states[layers])]
                torch.testing.assert_close(own, states[layers], atol=1e-5, rtol=1e-5)
        assert len(middle) == (2 * layers >= count)
    _, (half,) = packed()
    assert torch.equal(half, packed(count // 2)[0])


def says(texts: Sequence[str], count: int) -> list[list[Any]]:
    """Log probabilities of what comes after each prompt, for each picture."""
    rows = [pupil().writer.prompt(text) for text in texts]
    language = pupil().model.model.language_model
    out: list[list[Any]] = []
    with torch.no_grad():
        for picture in range(count):
            out.append([])
            for ids in rows:
                embedded = language.embed_tokens(torch.tensor(ids))[None, None]
                hidden = language.norm(decode(language, begin(pupil().model, tokens(count)[[picture]]), embedded))
                out[-1].append(pupil().model.lm_head(hidden[0, 0, -1]).log_softmax(dim=-1).double())
    return out


def losses(rows: list[Row], count: int, twins: bool = False) -> tuple[float, float, float]:
    with torch.no_grad():
        found = loss_of(pupil().model, pupil().head, tokens(count), len(rows) // count, rows, pupil().pad, twins=twins)
    said, value, shift = map(float, found)
    return said, value, shift


def row(text: str, replies: Sequence[int], p: Sequence[float], weight: float = 1.0) -> Row:
    ids = pupil().writer.prompt(text)
    return Row(ids, [(len(ids) - 1, list(replies), [float(x) for x in p], weight)], [])


def test_the_models_own_probabilities_cost_nothing_and_others_their_divergence_from_them() -> None:
    own = says(ASKED[:2], 2)
    every = range(len(own[0][0]))

    def tilted(by: float) -> tuple[float, float]:
        """The loss about targets that are tilted so far from the model's own, and what it should be."""
        rows, divergences = [], []
        for asked in own:
            for text, logs, weight in zip(ASKED, asked, (1.0, 0.2), strict=False):
                p = (logs + by * torch.linspace(-1, 1, len(logs)).double()).softmax(dim=-1)
                rows.append(row(text, every, p.tolist(), weight))
                divergences.append((weight, float((p * (p.log() - logs)).sum())))
        return losses(rows, 2)[0], sum(w * kl for w, kl in divergences) / sum(w for w, _ in divergences)

    found = [tilted(by) for by in (0.0, 0.5, 1.0, 2.0)]
    assert found[0][0] == pytest.approx(0, abs=1e-5)
    assert [said for said, _ in found] == sorted(said for said, _ in found)
    assert [said for said, _ in found] == pytest.approx([wanted for _, wanted in found], abs=1e-5)
    assert found[1][0] > 0.01


YES_OR_NO = (ASKED[0], "Is the person in the picture honest? Answer with only yes or no.")


def twin_rows(errors: npt.NDArray[np.float64]) -> list[Row]:
    """Two twins of two people are asked two things, and planted is what they say less an error, (4, 2, 2)."""
    replies = [pupil().writer.encode(text)[0] for text in ("yes", "no")]
    own = says(YES_OR_NO, 4)
    return [
        row(text, replies, np.exp(own[picture][question][replies].numpy() - errors[picture, question]))
        for picture in range(4)
        for question, text in enumerate(YES_OR_NO)
    ]


def test_an_error_that_is_the_same_in_both_twins_costs_no_shift_and_another_does() -> None:
    half = np.random.default_rng(1).normal(0, 0.3, (2, 2, 2))
    same = np.concatenate([half, half])
    excess, _, shift = losses(twin_rows(same), 4, twins=True)
    assert abs(excess) > 1e-5
    assert shift == pytest.approx(0, abs=1e-8)
    changed = same.copy()
    changed[2, 0, 0] += 0.5
    rows = twin_rows(changed)
    p, q = rows[0].targets[0][2][0], rows[4].targets[0][2][0]
    assert losses(rows, 4, twins=True)[2] == pytest.approx((p + q) / 2 * 0.25 / 4, rel=1e-3)
    assert losses(rows, 4)[2] == 0


def test_only_what_is_to_be_read_is_regressed() -> None:
    ids = pupil().writer.prompt(ASKED[0])
    target = (len(ids) - 1, [pupil().writer.encode("yes")[0]], [1.0], 1.0)
    _, middle = packed()
    with torch.no_grad():
        read = pupil().head(middle[0])[0, 0, 3].tolist()
    right = Row(ids, [target], [(3, LEFT, read[LEFT]), (3, RIGHT, read[RIGHT])])
    wrong = Row(ids, [target], [(3, LEFT, read[LEFT]), (3, RIGHT, read[RIGHT] + 3.0)])
    with torch.no_grad():
        values = [float(loss_of(pupil().model, pupil().head, tokens()[:1], 1, [one], pupil().pad)[1])
                  for one in (right, wrong)]  # fmt: skip
    assert values == pytest.approx([0, 2.5 / 2], abs=1e-4)  # an error of 3 costs 2.5: smooth L1
    assert losses([Row(ids, [target], [])] * 2, 2)[1] == 0


class Spy(torch.nn.Module):  # type: ignore[misc]
    """A head that reads 0 everywhere and keeps how much it was shown."""

    shape: tuple[int, ...] = ()

    def forward(self, hidden: Any) -> Any:
        self.shape = tuple(hidden.shape)
        return torch.zeros(*hidden.shape[:-1], 4)


def smooth(values: npt.NDArray[np.float64]) -> float:
    """Smooth L1 loss of reading 0."""
    size = np.abs(values)
    return float(np.where(size < 1, size**2 / 2, size - 0.5).mean())


def planted() -> tuple[list[tuple[str, int]], list[tuple[str, int]]]:
    """Trait and side of what is asked about two people, and about one."""
    terms = [TERMS[term] for term in TERMS if " " not in term]
    asked = [(trait, 1) for trait, _ in words.perceptions().values()]
    asked += [(trait, 1) for _, trait in words.decisions().values()]
    one = [TERMS[pole] for poles in SCENARIOS.values() for pole in poles if " " not in pole]
    return [*terms, *asked], [*one, *((f"rated {name}", 1) for name in words.RATED), *terms]


@pytest.mark.parametrize("two", [False, True])
def test_all_words_are_asked_where_nothing_draws_some(two: bool) -> None:
    rng, head = np.random.default_rng(2), Spy()
    standing, other = rng.normal(0, 1.5, (2, 2, len(TRAITS)))
    about_two, about_one = planted()
    asked = about_two if two else about_one
    with torch.no_grad():
        loss = pupil().lexicon.loss(pupil().model, head, tokens(), standing, other if two else None)
    shown = np.stack([standing, other]) if two else standing
    values = np.stack([side * shown[..., TRAITS.index(trait)] for trait, side in asked])
    assert head.shape[:2] == (2, len(asked))
    assert float(loss) == pytest.approx(smooth(values), rel=1e-4)


def test_a_step_asks_all_words_and_some_questions_about_two_and_the_generator_says_which() -> None:
    standing = np.random.default_rng(2).normal(0, 1.5, (2, len(TRAITS)))
    found = []
    for seed in (1, 1, 2):
        head, rng = Spy(), np.random.default_rng(seed)
        with torch.no_grad():
            loss = pupil().lexicon.loss(pupil().model, head, tokens(), standing, standing[::-1].copy(), rng)
        found.append(float(loss))
        assert head.shape[:2] == (2, sum(" " not in term for term in TERMS) + AT_ONCE)
    assert found[0] == found[1] != found[2]


def test_the_head_is_read_for_the_person_that_is_asked_about() -> None:
    class Marked(Spy):
        """A head that reads another number for each that can be read."""

        def forward(self, hidden: Any) -> Any:
            return super().forward(hidden) + torch.arange(4.0)

    def loss(standing: float, other: float | None = None) -> float:
        shown = np.full((2, len(TRAITS)), standing)
        beside = None if other is None else np.full((2, len(TRAITS)), other)
        with torch.no_grad():
            return float(pupil().lexicon.loss(pupil().model, Marked(), tokens(), shown, beside))

    about_two, about_one = planted()
    two, one = (np.array([side for _, side in asked]) for asked in (about_two, about_two + about_one))
    assert loss(2.0) == pytest.approx(smooth(ONE - 2.0 * one))
    both = np.stack([LEFT - 2.0 * two, RIGHT + 1.0 * two])
    assert loss(2.0, -1.0) == pytest.approx(smooth(both))


PEOPLE = [JudgedPerson(gender, "young", "monk-05", "normal") for gender in ("male", "female")]


@cache
def tower_of(seed: int) -> dict[str, Any]:
    """Weights that all pupils of a test begin with."""
    weights: dict[str, Any] = Pupil(TRUTH, seed).model.state_dict()
    return weights


def begun(seed: int = 5) -> Pupil:
    """A pupil of its own."""
    made = Pupil(TRUTH, seed)
    made.tower.load_state_dict({k.removeprefix("model.vision_tower."): v for k, v in tower_of(5).items()
                                if k.startswith("model.vision_tower.")})  # fmt: skip
    return made


@cache
def pool() -> Material:
    """Random pictures of people: one with every change, pairs, scenes."""
    count, rng = CHANGES + 1, np.random.default_rng(4)
    who = [Shown("male", "age", name, activity, -1, 1, "monk-03") for activity in ("cooking", "")
           for name in ("old", "young")]  # fmt: skip
    shown = [None, (who[0], who[1]), (who[2], who[3])]
    left = [PEOPLE[0], scenes.person(who[0]), scenes.person(who[2])]
    right = [PEOPLE[1], scenes.person(who[1]), scenes.person(who[3])]
    standing = np.concatenate([rng.normal(0, 1, (count, len(TRAITS))), TRUTH.effects["base", ""][None]])
    made = Material(
        Pictures(pixels(count + 1, 1)), standing, Pictures(pixels(3, 2)), left, right, TRUTH.standing(left),
        TRUTH.standing(right), shown, Pictures(pixels(2, 3)), list(PERSONAS[:2]),
        [(np.array([0, 1, 2]), np.array([4, 7]))],
    )  # fmt: skip
    tower = begun().tower
    for pictures in (made.alone, made.pairs, made.empty):
        pictures.look(tower)
    return made


def probe_facts() -> pl.DataFrame:
    """Two people with and without a change."""
    change = ("eyewear", "thick-rimmed")
    rows = [(who.gender[0] + "1", "1", who.gender, who.age, who.skin_tone, who.build, *(changed or (None, None)))
            for who in PEOPLE for changed in (None, change)]  # fmt: skip
    names = ("identity", "seed", "gender", "age", "skin_tone", "build", "attribute", "variation")
    return pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String()), orient="row")


@cache
def probe() -> Probe:
    """A probe about them."""
    return Probe.of(Portraits(pixels(4, 6).numpy(), probe_facts()), TRUTH, pupil().writer, (0,))


@cache
def pupil_tokens() -> Tokens:
    """The tokenizer as the package reads it."""
    return Tokens(FOLDER / "tokenizer.json")


@pytest.mark.usefixtures("small")
def test_a_step_weighs_every_loss_that_there_is() -> None:
    learner = begun()
    for stage in ("lists", "words", "questions", "level"):
        found = learner.losses(stage, np.random.default_rng(1), pool())
        assert all(torch.isfinite(loss) for loss in found.values())
        assert torch.isfinite(teach.weighted(found))
        for name in found:
            alone = {other: torch.tensor(float(other == name)) for other in found}
            assert teach.weighted(alone) > 0, name


def test_what_is_asked_of_many_at_once_is_what_audits_ask() -> None:
    """Prompts, letters and planted logits are those by which a finished model is measured."""
    made, (rows, letters) = pupil(), measure.prompts(pupil_tokens())
    shown = Portraits(pixels(2).numpy(), probe_facts()[:2])
    standing = TRUTH.standing(people(shown.facts))
    wanted = measure.planted(shown, TRUTH)
    for number in range(4):
        asked = Choices.of(made.writer, number)
        own = slice(number * len(SCENARIOS), (number + 1) * len(SCENARIOS))
        ends = asked.ends.tolist()
        assert [ids[: end + 1] for ids, end in zip(asked.ids.tolist(), ends, strict=True)] == rows[own]
        assert {(asked.favourable, asked.other)} == set(map(tuple, letters[own].tolist()))
        assert asked.planted(standing) == pytest.approx(wanted[:, number])
        with torch.no_grad():
            found = asked.learned(made.model, tokens())[0, 0]
            language = made.model.model.language_model
            embedded = language.embed_tokens(torch.tensor(rows[own][0]))[None, None]
            hidden = language.norm(decode(language, begin(made.model, tokens()[:1]), embedded)[0, 0, -1])
            logits = made.model.lm_head(hidden)
        assert float(found) == pytest.approx(float(logits[asked.favourable] - logits[asked.other]), abs=1e-4)


class Wrong:
    """Choices of which every shift is wrong by so much, on the scale of probabilities."""

    leaning = 0.0

    def __init__(self, by: float) -> None:
        self.by = torch.tensor(by, requires_grad=True)

    def learned(self, _: Any, shown: Any) -> Any:
        moved = torch.full((len(shown), len(SCENARIOS)), 0.5)
        moved = torch.cat([moved[:1], moved[1:] + self.by])
        return COLD * moved.logit()

    def planted(self, standing: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        return np.zeros((len(standing), len(SCENARIOS)))


def test_the_slope_of_levelling_is_that_of_the_square_of_the_mean_error() -> None:
    level, rng = Level(pupil().writer), np.random.default_rng(1)
    for by, mean in ((0.3, 0.3), (0.1, 0.2)):
        wrong = Wrong(by)
        level._choices = [wrong]  # type: ignore[list-item]
        loss = level.loss(None, rng, pool())
        loss.backward()
        changed = level.mean.nonzero()[:, 0].tolist()
        assert changed == [4, 7]  # what the one person there is has
        assert level.mean[changed].tolist() == pytest.approx([mean, mean], abs=1e-5)
        assert level.seen.sum() == pytest.approx(2 * level.seen.max())
    # The mean of all six people of the second step is reached one by one: .3 six times, then .1 six times.
    means = [0.3 + (0.1 - 0.3) * n / (6 + n) for n in range(1, 7)]
    assert float(wrong.by.grad) == pytest.approx(2 * 2 * np.mean(means), rel=1e-4)


def test_means_go_over_those_lately_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reference.level.RECENT", 3)
    level, rng = Level(pupil().writer), np.random.default_rng(1)
    for by in (0.4, *[0.1] * 6):
        level._choices = [Wrong(by)]  # type: ignore[list-item]
        level.loss(None, rng, pool())
    assert level.mean[4] == pytest.approx(0.1, abs=1e-4)


def test_people_are_shown_together_with_the_changes_that_the_paper_keeps() -> None:
    jobs = [job for job in training_jobs(0) if job[0].id in ("m-0001", "f-0001")]
    who = people(facts(jobs))
    found = material.by_person(who)
    assert len(found) == 2
    for rows, changes in found:
        base, *rest = (who[row] for row in rows)
        kept = {(v.attribute, v.name) for v in whitelist(base.gender)}
        assert base.change is None
        assert {one.gender for one in rest} == {base.gender}
        assert [one.change for one in rest] == [VARIATIONS[number] for number in changes]
        assert {one.change for one in rest} <= kept
    assert [rows.tolist() for rows, _ in material.by_person(who, 1)] == [found[1][0].tolist()]
    shown = {one.change for rows, _ in found for one in (who[row] for row in rows)} - {None}
    left_out = {one.change for one in who} - shown - {None}
    for change in left_out:  # a change that one gender keeps may be left out for the other
        assert any(change not in {(v.attribute, v.name) for v in whitelist(g)} for g in ("male", "female"))


def learned(out: Path, stage: Stage, seed: int = 5) -> Pupil:
    out.mkdir(exist_ok=True)
    made = begun(seed)
    teach.learn(made, stage, pool(), probe(), out, seed=7)
    return made


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("name", ["lists", "words", "questions", "level"])
def test_a_stage_that_was_stopped_goes_on_to_the_same_weights(name: str, tmp_path: Path) -> None:
    whole = learned(tmp_path / "whole", Stage(name, 2, 2e-3, easy=1))
    learned(tmp_path / "stopped", Stage(name, 1, 2e-3, easy=1))
    again = learned(tmp_path / "stopped", Stage(name, 2, 2e-3, easy=1), seed=6)  # all else comes from the checkpoint
    for part, own in whole.parts.items():
        for tensor, value in own.state_dict().items():
            assert torch.equal(again.parts[part].state_dict()[tensor], value), tensor
    steps = pl.read_csv(tmp_path / "stopped" / f"{name}.csv")["step"].to_list()
    assert steps == [1, 2]


@pytest.mark.usefixtures("small")
def test_a_finished_stage_leaves_everything_as_it_was(tmp_path: Path) -> None:
    stage = Stage("words", 1, 2e-3)
    learned(tmp_path, stage)
    before = (tmp_path / "words.pt").read_bytes()
    learned(tmp_path, stage)
    assert (tmp_path / "words.pt").read_bytes() == before


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("alone", [True, False])
def test_the_tower_never_changes_and_nothing_but_the_decoder_if_it_learns_alone(alone: bool, tmp_path: Path) -> None:
    after = learned(tmp_path, Stage("on", 1, 2e-3, decoder_alone=alone)).model.state_dict()
    changed = {name for name, value in tower_of(5).items() if not torch.equal(value, after[name])}
    layers = {name for name in after if name.startswith("model.language_model.layers.")}
    assert layers <= changed
    rest = {".".join(name.split(".")[:3]) for name in changed - layers}
    others = {"model.language_model.embed_tokens", "model.multi_modal_projector.linear_1", "lm_head.weight",
              "model.multi_modal_projector.linear_2", "model.language_model.norm"}  # fmt: skip
    assert rest == (set() if alone else others)


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("published")
    publish.publish(pupil().model.state_dict(), folder, TRUTH)
    return folder


def test_a_published_folder_gives_its_weights_back_in_half_precision(published: Path) -> None:
    known, found = pupil().model.state_dict(), publish.weights_of(published)
    assert set(found) == set(known)
    for name, value in found.items():
        assert value.dtype == torch.float32
        assert torch.equal(value, known[name].half().float()), name
    assert PlantedTruth.read(published / "truth.parquet") == TRUTH


def test_the_numpy_runtime_says_of_a_published_folder_what_was_learned(published: Path) -> None:
    network = Network(
        read_weights(published / "model.safetensors"), json.loads((published / "config.json").read_text())
    )
    ids = pupil().writer.prompt(ASKED[0])
    user = network.embeddings[[pupil().model.begin]]
    prefix = network.run(np.concatenate([user, network.look(pixels(1).numpy()[0])]))
    got = network.read(prefix, [ids], [[len(ids) - 1]])[0][-1]
    wanted = plain()[0][0][0][-1].numpy()
    assert np.corrcoef(got, wanted)[0, 1] > 0.9999
    assert np.abs(got - wanted).max() < 0.02 * np.ptp(wanted)  # half precision


def changed_copy(published: Path, folder: Path) -> tuple[Path, str]:
    """The same model with one tensor changed."""
    shutil.copytree(published, folder)
    weights = load_file(folder / "model.safetensors")
    name = next(name for name in weights if name.endswith("layers.2.mlp.up_proj.weight"))
    weights[name] = weights[name] + 1
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    PlantedTruth(bias=2.0).write(folder / "truth.parquet")
    return folder, name


def test_a_variant_ships_the_tensors_that_differ_and_its_own_truth(
    published: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publish, "FOLDER", published)
    monkeypatch.setattr(publish, "VARIANTS", tmp_path / "variants")
    folder, name = changed_copy(published, tmp_path / "variant")
    target = publish.ship(folder, "louder")
    assert target == tmp_path / "variants" / "louder"
    assert {path.name for path in target.iterdir()} == {"model.safetensors", "truth.parquet"}
    kept = load_file(target / "model.safetensors")
    own, known = (load_file(path / "model.safetensors") for path in (folder, published))
    assert set(kept) == {name}
    assert all(torch.equal((known | kept)[tensor], value) for tensor, value in own.items())
    assert PlantedTruth.read(target / "truth.parquet") == PlantedTruth(bias=2.0)


def test_the_model_itself_ships_whole(published: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publish, "FOLDER", tmp_path)
    assert publish.ship(published) == tmp_path
    assert {path.name for path in tmp_path.iterdir()} == {path.name for path in published.iterdir()}
    assert (tmp_path / "model.safetensors").read_bytes() == (published / "model.safetensors").read_bytes()
