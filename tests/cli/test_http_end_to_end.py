"""The command against servers: what arrives there, what is stored here, and what happens when things break."""

import base64
import hashlib
import importlib.util
import io
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import NamedTuple

import numpy as np
import PIL.Image
import polars as pl
import pytest

from facevalue.cli import main
from facevalue.runs.requests import stimulus_columns
from facevalue.runs.stored_run import StoredRun
from facevalue.store import scan_responses
from tests.models.misbehaving import Exchange, Json, Misbehaving

KEY = "sk-End/To+End=="
STUDY = ("--faces", "2", "--attributes", "eyewear", "--seeds", "1")
ONE = ("--scenario", "wealthy")
"""24 requests: 2 faces x (as they are, glasses, sunglasses) x 4 orderings."""
TWO = ("--scenario", "wealthy,polite")
"""48 requests."""

needs_llamacpp = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("xllamacpp", "gguf")),
    reason="xllamacpp or gguf is not installed: pip install '.[servers]'",
)


class Outcome(NamedTuple):
    """What a command did."""

    status: int
    out: str
    err: str


Command = Callable[..., Outcome]
Asked = tuple[str, str, int]
"""Picture (a data URI), prompt and seed: what tells requests apart."""


@pytest.fixture
def facevalue(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> Iterator[Command]:
    """Run a command line in a folder of its own; a key is set, and afterwards is found nowhere."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FACEVALUE_API_KEY", KEY)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("COLUMNS", "200")
    said: list[str] = []

    def command(*args: str) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["facevalue", *args])
        with pytest.raises(SystemExit) as end:
            main()
        captured = capfd.readouterr()
        said.extend(captured)
        assert "Traceback" not in captured.out + captured.err
        code = end.value.code
        return Outcome(code if isinstance(code, int) else 0, captured.out, captured.err)

    yield command
    texts = [*said, *map(_content, filter(Path.is_file, tmp_path.rglob("*")))]
    assert len(texts) > 4
    for text in texts:
        assert not re.search(r"sk-End|To(\+|%2B|\\u002b)End", text, re.IGNORECASE)


def _content(path: Path) -> str:
    """Everything in a file as text; tables are unpacked."""
    raw = path.read_bytes().decode("latin-1")
    return raw + (pl.read_parquet(path).write_json() if path.suffix == ".parquet" else "")


@pytest.fixture
def server() -> Iterator[Misbehaving]:
    with Misbehaving().served() as served:
        served.otherwise = judge
        yield served


def judge(exchange: Exchange) -> None:
    """Answer by what is seen: the favourable pole, always shown as "wealthy" or "polite", for half of the pictures."""
    shown, prompt, _ = asked(exchange.body)
    options = re.search(r"picture (\(.\)) (\w+) or (\(.\)) (\w+)\?", prompt)
    if options is None:
        exchange.say("(a)")
        return
    first = options[2] in ("wealthy", "polite")
    exchange.say(options[1] if first == favours(shown) else options[3])


def favours(picture: str) -> bool:
    """Whether the favourable pole is chosen for a picture."""
    return hashlib.sha256(picture.encode()).digest()[0] % 2 == 0


def asked(body: Json) -> Asked:
    """Read what a request shows, says and is drawn with."""
    content = body["messages"][-1]["content"]
    if isinstance(content, str):
        return "", content, body["seed"]
    pictures = [part["image_url"]["url"] for part in content[:-1]]
    return "".join(pictures), content[-1]["text"], body["seed"]


def is_probe(exchange: Exchange) -> bool:
    """Whether a request only finds out what the server can do."""
    return asked(exchange.body)[1] == "Answer with (a) or (b)."


def of_study(server: Misbehaving) -> list[Json]:
    """Bodies of the requests that are the study's own."""
    return [exchange.body for exchange in server.asked if not is_probe(exchange)]


def expected(folder: Path) -> dict[int, Asked]:
    """What each trial of a run should show and say, from the study alone."""
    study = StoredRun.open(folder).study
    trials = np.arange(study.design.size)
    frame = study.design.trials(trials)
    levels = frame.select(stimulus_columns(study)).to_dicts()
    out = {}
    for trial, number, row, question in zip(
        trials.tolist(), study.design.stimulus_numbers(trials).tolist(), levels, study.ask(frame), strict=True
    ):
        (image,) = study.source.stimulus(number, row).load()
        data = base64.b64encode(image.data).decode()
        out[trial] = (f"data:{image.media_type};base64,{data}", question.prompt, study.draws.seeds[0])
    return out


def stored(folder: Path) -> pl.DataFrame:
    """The responses of a run."""
    return scan_responses(folder).collect()


def run(facevalue: Command, server: Misbehaving | str, *args: str) -> Outcome:
    spec = server if isinstance(server, str) else server.spec
    return facevalue("run", "stylisticbias", "--model", spec, "--out", "run", "--no-sight-check", *STUDY, *args)


def test_what_arrives_is_what_the_study_says_and_comes_back_as_measures(
    facevalue: Command, server: Misbehaving
) -> None:
    assert run(facevalue, server, *ONE).status == 0
    sent = of_study(server)
    trials = expected(Path("run"))
    assert Counter(map(asked, sent)) == Counter(trials.values())
    assert len(sent) == len(set(trials.values())) == 24
    for body in sent:
        (message,) = body.pop("messages")
        assert message["role"] == "user"
        assert [part["type"] for part in message["content"]] == ["image_url", "text"]
        assert body == {"model": "tiny-llava", "temperature": 0.2, "top_p": 1.0, "max_tokens": 16, "seed": 1}
    pictures = {picture for picture, _, _ in trials.values()}
    assert len(pictures) == 6
    for picture in pictures:
        head, _, data = picture.partition(",")
        assert head == "data:image/png;base64"
        with PIL.Image.open(io.BytesIO(base64.b64decode(data, validate=True))) as image:
            assert image.format == "PNG"
            image.load()
            assert min(image.size) >= 224
    assert {re.search(r"\(.\) \w+ or \(.\) \w+", prompt)[0] for _, prompt, _ in trials.values()} == {  # type: ignore[index]
        "(a) wealthy or (b) poor",
        "(b) wealthy or (a) poor",
        "(a) poor or (b) wealthy",
        "(b) poor or (a) wealthy",
    }

    rows = stored(Path("run"))
    assert rows["status"].unique().to_list() == ["ok"]
    assert (rows["prompt_tokens"].sum(), rows["completion_tokens"].sum()) == (24 * 7, 24 * 2)
    assert facevalue("measure", "run").status == 0
    kept = pl.read_parquet("run/estimates.parquet").filter(
        (pl.col("measure") == "shift")
        & pl.col("variation").is_not_null()
        & pl.all_horizontal(pl.col("scenario", "category", "dimension", "group").is_null())
    )
    assert dict(kept.select("variation", "value").iter_rows()) == pytest.approx(shifts(Path("run"), trials))
    assert facevalue("report", "run").status == 0
    assert Path("run/report.html").stat().st_size > 10_000


def shifts(folder: Path, trials: dict[int, Asked]) -> dict[str, float]:
    """How far each variation moves `judge`, worked out by hand."""
    frame = StoredRun.open(folder).study.design.trials(np.array(list(trials)))
    phi: dict[tuple[str, str | None], float] = {}
    for row, (picture, _, _) in zip(frame.to_dicts(), trials.values(), strict=True):
        phi[row["identity"], row["variation"]] = float(favours(picture))
    by_variation: dict[str, list[float]] = {}
    for (identity, variation), value in phi.items():
        if variation is not None:
            by_variation.setdefault(variation, []).append(value - phi[identity, None])
    return {variation: sum(values) / len(values) for variation, values in by_variation.items()}


def test_hiccups_are_tried_again_and_nothing_else_is(facevalue: Command, server: Misbehaving) -> None:
    number, answered, failed = count(1), [], []

    def every_tenth_fails(exchange: Exchange) -> None:
        if is_probe(exchange):
            judge(exchange)
        elif (n := next(number)) % 10:
            answered.append(asked(exchange.body))
            judge(exchange)
        else:
            failed.append(n)
            if n % 20:
                exchange.error(500, f"you sent {exchange.headers}")
            else:
                exchange.error(429, f"too many from {exchange.headers['authorization']}", {"retry-after-ms": "1"})

    server.otherwise = every_tenth_fails
    assert run(facevalue, server, *TWO).status == 0
    assert failed == [10, 20, 30, 40, 50]
    assert Counter(answered) == Counter(expected(Path("run")).values())
    rows = stored(Path("run"))
    assert (rows.height, rows["status"].unique().to_list()) == (48, ["ok"])
    again = run(facevalue, server, *TWO)
    assert (again.status, len(of_study(server))) == (0, 53)
    assert "0 asked" in again.err


def test_a_server_that_dies_is_one_message_and_the_same_command_goes_on(
    facevalue: Command, server: Misbehaving
) -> None:
    number, judged = count(1), []

    def dying(exchange: Exchange) -> None:
        n = 0 if is_probe(exchange) else next(number)
        if n == 6:
            exchange.error(400, f"not from you: {exchange.headers}")
        elif n == 12:
            server.die()
        else:
            judged.append(asked(exchange.body))
            judge(exchange)

    server.otherwise = dying
    outcome = run(facevalue, server, *TWO, "--concurrency", "3", "--retries", "0")
    assert outcome.status == 3
    assert outcome.err.count("Error:") == 1
    assert re.search(r"20 requests in a row.*run the same command again", " ".join(outcome.err.split()))
    trials = expected(Path("run"))
    before = stored(Path("run"))
    answered = {trials[trial] for trial in before.filter(pl.col("status") == "ok")["trial"]}
    assert answered <= set(judged)
    assert 8 <= len(answered) <= 48 - 20
    assert before["error"].str.contains(r"\[key\]").sum() == 1

    with Misbehaving().served(server.port) as second:
        second.otherwise = judge
        assert second.spec == server.spec
        assert run(facevalue, second, *TWO).status == 0
        times = Counter(map(asked, of_study(second)))
    assert set(times.values()) == {1}
    assert set(times) == set(trials.values()) - answered
    after = stored(Path("run"))
    assert (after.height, after["status"].unique().to_list()) == (48, ["ok"])


@needs_llamacpp
def test_llamacpp(facevalue: Command, tmp_path_factory: pytest.TempPathFactory) -> None:
    from tests.models import tiny_llava
    from tests.models.llama_server import serving

    with serving(*tiny_llava.write(tmp_path_factory.mktemp("tiny-llava")), 2, KEY) as url:
        for exact in (False, True):
            folder = Path("exact" if exact else "sampled")
            args = ("--out", str(folder), *STUDY, *ONE, "--concurrency", "2", *(["--exact"] if exact else []))
            assert facevalue("run", "stylisticbias", "--model", f"{url}#tiny-llava", *args).status == 0
            rows = stored(folder)
            assert rows.height == 24
            assert set(rows["status"]) <= {"ok", "truncated"}
            assert rows["probs"].is_not_null().all() == exact
            if exact:
                both = rows["probs"].list.sum()
                assert rows["probs"].list.len().unique().to_list() == [2]
                assert 0 < both.min() <= both.max() <= 1 + 1e-6  # type: ignore[operator]
            assert facevalue("measure", str(folder)).status == 0
            kept = pl.read_parquet(folder / "estimates.parquet")
            assert kept.filter(pl.col("measure") == "shift")["value"].is_not_null().any()
