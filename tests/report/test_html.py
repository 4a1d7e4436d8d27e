import re
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import polars as pl
import pytest

from facevalue import report
from facevalue.errors import RunError
from facevalue.report.sections.headline import page_of
from facevalue.stimuli.base import Kind
from tests.report import made
from tests.report.made import sections

SECTIONS = sections(page_of("stylisticbias"))
SCRIPT = "<script>alert(1)</script>"
QUOTE = '"onload="alert(1)'
VOID = {"meta", "link", "img", "br", "input"}


class Page(HTMLParser):
    """Every element with its attributes, its text, and whether tags are balanced."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.texts: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in ("style", "script"):
            self.texts.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())


def page(data: report.ReportData) -> Page:
    parsed = Page(report.render(data))
    assert parsed.open == [], "unbalanced elements"
    return parsed


def ids(parsed: Page) -> list[str]:
    return [str(attrs["id"]) for tag, attrs in parsed.elements if tag == "section"]


ALL_NA: dict[tuple[str, str], float | None] = dict.fromkeys(made.CUES)
VARIANTS: dict[str, Callable[[], report.ReportData]] = {
    "one model": made.data,
    "two models": lambda: made.data(("model-a", "model-b")),
    "six models": lambda: made.data(tuple(f"model-{c}" for c in "abcdef")),
    "no dimension": lambda: made.data(estimates=made.estimates(groups={})),
    "no example": lambda: made.data(examples=()),
    "exact": lambda: made.data(runs=(made.run(exact=True),)),
    "all N/A": lambda: made.data(estimates=made.estimates(cues=ALL_NA)),
    "no estimate": lambda: made.data(estimates=made.estimates().clear()),
    "judged": lambda: made.data(estimates=made.judged(family="hair_style")),
    "judged, two models": lambda: made.data(
        ("model-a", "model-b"), estimates=made.judged(made.estimates(("model-a", "model-b")))
    ),
    "judged, all N/A": lambda: made.data(estimates=made.judged(made.estimates(cues=ALL_NA))),
    "bare": lambda: made.data(runs=(report.RunFacts("model-a"),), statement=None, prompts=(), examples=()),
}


@pytest.mark.parametrize("name", VARIANTS)
def test_every_report_has_the_same_sections(name: str) -> None:
    parsed = page(VARIANTS[name]())
    assert ids(parsed) == [section for section, _ in SECTIONS]
    linked = {str(attrs.get("href")) for tag, attrs in parsed.elements if tag == "a"}
    assert linked == {f"#{section}" for section, _ in SECTIONS}


@pytest.mark.parametrize("name", VARIANTS)
def test_nothing_is_fetched_and_nothing_unsaid_runs(name: str) -> None:
    parsed = page(VARIANTS[name]())
    for tag, attrs in parsed.elements:
        assert "style" not in attrs
        assert not any(key.startswith("on") for key in attrs), (tag, attrs)
        for key in ("src", "href", "srcset", "action", "data", "poster"):
            value = attrs.get(key)
            assert value is None or value.startswith(("data:", "#")), (tag, value)
        assert tag not in ("iframe", "object", "embed", "form", "base")
    text = report.render(VARIANTS[name]())
    assert "url(" not in text
    assert "@import" not in text
    policy = next(str(a["content"]) for _, a in parsed.elements if a.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'; img-src data:;")
    assert "unsafe" not in policy
    assert "*" not in policy


@pytest.mark.parametrize("name", VARIANTS)
def test_missing_numbers_are_never_shown_as_numbers(name: str) -> None:
    text = page(VARIANTS[name]()).text
    assert not re.search(r"\b(nan|NaN|inf|None|null)\b", text)


def test_all_na_shows_no_effect_of_zero() -> None:
    parsed = page(made.data(estimates=made.estimates(cues=ALL_NA)))
    assert "The model gave no valid answer, so nothing can be compared: not measurable." in parsed.text
    assert "100.0%" in parsed.text
    for zero in (" 0.0 points", "+0.0", " 0.0%"):
        assert zero not in parsed.text.split("Definitions, limits")[0]


def test_null_cells_are_dashes_with_a_reason() -> None:
    cues: dict[tuple[str, str], float | None] = dict(made.CUES) | {("eyewear", "sunglasses"): None}
    parsed = page(made.data(estimates=made.estimates(cues=cues)))
    cells = [attrs for tag, attrs in parsed.elements if tag == "td" and attrs.get("class") == "none"]
    assert {str(a["title"]) for a in cells} == {"not measurable", "not applicable: no such pictures"}
    assert "1 more could not be measured." in parsed.text


@pytest.mark.parametrize("evil", [SCRIPT, QUOTE, "</style><b>", "{{ 7 * 7 }}", "</title><b>", "\u202eevil&amp;"])
def test_untrusted_texts_stay_texts(evil: str) -> None:
    hostile = made.data(
        ("model-a", evil),
        runs=(
            made.run(folder=evil, settings={evil: evil}, versions={evil: evil}, sample=evil),
            made.run(evil),
        ),
        statement=report.DataStatement(1, 1, {evil: {evil: 1}}, evil, evil, evil),
        prompts=(report.PromptExample(evil, evil, evil, evil),),
        examples=(made.example(title=evil, prompt=evil, base_answer=evil, variant_answer=evil, model=evil),),
        estimates=made.estimates(
            ("model-a", evil), cues={(evil, evil): 0.2, ("eyewear", evil): -0.1}, groups={evil: (evil, "b")}
        ),
        titles={"group": {evil: evil}},
    )
    parsed = page(hostile)
    assert [tag for tag, _ in parsed.elements if tag in ("script", "style")] == ["style", "script"]
    assert not any(key.startswith("on") for _, attrs in parsed.elements for key in attrs)
    assert evil.split(maxsplit=1)[0] in parsed.text
    assert "49" not in [t.strip() for t in parsed.texts]


def test_secrets_are_not_shown() -> None:
    text = report.render(made.data())
    assert "sk-very-secret" not in text
    assert "(not shown)" in text


def test_of_places_the_name_alone_is_shown() -> None:
    data = made.data(runs=(made.run(settings={"weights": "/home/ann/clip"}, asked_model="hf//home/ann/gemma"),))
    places = {"manifest": "../ann/list.csv", "root": "/home/ann/faces", "choices": ['sources="C:\\\\ann\\\\old.csv"']}
    text = report.render(replace(data, study=replace(data.study, options=places)))
    assert not re.search(r"\bann\b", text)
    for name in ("list.csv", "faces", "old.csv", "clip", "hf/gemma"):
        assert f"{name}</dd>" in text.replace("&#34;", "").replace("&quot;", "")


def test_pictures_are_decoded_and_anything_else_is_left_out() -> None:
    bad = made.example(base_image=b"<svg onload='alert(1)'/>", variant_image=None, media_type="text/html")
    text = report.render(made.data(examples=(bad,)))
    assert text.count("no picture to show") == 2
    good = report.render(made.data())
    assert good.count('src="data:image/webp;base64,') == 2


def test_size_stays_handable() -> None:
    image = made.picture()
    examples = tuple(made.example(base_image=image, variant_image=image) for _ in range(20))
    text = report.render(made.data(tuple(f"model-{c}" for c in "abcdef"), examples=examples))
    assert len(text.encode()) < 2_000_000


@pytest.mark.parametrize("name", ["one model", "two models", "no dimension", "exact", "judged"])
def test_every_row_of_numbers_has_an_interval_or_says_why_not(name: str) -> None:
    text = report.render(VARIANTS[name]())
    rows = re.findall(
        r'<td class="num">([^<]*)</td><td class="nowrap">([^<]*)</td>(?:<td title="[^"]*">[^<]*</td>)?'
        r'<td class="num">[\d,–]+</td><td class="num">[\d,–]+</td>',
        text,
    )
    assert len(rows) >= 10
    for value, interval in rows:
        assert interval.startswith("[") or interval.startswith("no interval: ") or interval == "not measurable", value
    strips = re.findall(r'<td class="num" data-v="[^"]*" title="([^"]*)">', text)
    assert strips
    assert all("n = " in title and "[" in title for title in strips)


def test_colours_and_significance_follow_table_12() -> None:
    parsed = page(made.data())
    cells = [a for tag, a in parsed.elements if tag == "td" and str(a.get("title", "")).startswith(("+12.0", "−16.6"))]
    assert {str(a["class"]) for a in cells} - {"num"} == {"up2 sure", "down2 sure"}
    weak = [a for tag, a in parsed.elements if tag == "td" and str(a.get("title", "")).startswith("+1.0 points ")]
    assert "zero unsure" in {str(a["class"]) for a in weak if a.get("class") != "num"}


@pytest.mark.parametrize("kind", list(Kind))
def test_the_kind_of_pictures_is_stated(kind: Kind) -> None:
    text = page(made.data(kind=kind)).text
    assert ("say nothing about photographs" in text) == (kind is Kind.ILLUSTRATED)
    assert ("test data" in text) == (kind is Kind.SYNTHETIC)


@pytest.mark.parametrize("model", ["reference", "reference/bias-2"])
def test_a_planted_bias_is_said_to_be_nobodys(model: str) -> None:
    assert "its bias was drawn at random and is published with it" in page(made.data((model,))).text
    assert "drawn at random" not in page(made.data(("hf/referenced",))).text


def test_what_the_reference_model_says_of_photographs_means_nothing() -> None:
    text = page(made.data(("reference",), kind=Kind.PHOTOGRAPHS)).text
    assert "what it says of other pictures means nothing" in text


def test_a_simulation_is_called_one() -> None:
    assert "A simulation that sees no pictures" in page(made.data(("sim/default",))).text


def test_an_unfinished_run_says_so() -> None:
    text = page(made.data(runs=(made.run(asked=400, ended=None),))).text
    assert "400 of 1,000 requests" in text
    assert "not ended" in text


def test_write_puts_the_whole_file_in_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "report.html"
    report.write(target, made.data())
    whole = target.read_text(encoding="utf-8")
    assert whole.rstrip().endswith("</html>")

    def fail(self: Path, other: Path) -> Path:
        raise OSError("disk full")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(RunError, match="disk full"):
        report.write(target, made.data())
    assert target.read_text(encoding="utf-8") == whole
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]


def test_rendering_is_deterministic() -> None:
    made_once = made.data()
    assert report.render(made_once) == report.render(made_once)


def test_estimates_without_new_columns_still_render() -> None:
    frame = made.estimates().drop("other_model", "floor", "floor_high")
    assert "floor" in report.render(made.data(estimates=frame))
    assert isinstance(frame, pl.DataFrame)


def test_a_value_without_interval_says_why_once() -> None:
    frame = made.estimates().with_columns(
        pl.lit(None, pl.Float64).alias("low"),
        pl.lit("none").alias("method"),
        pl.lit("fewer than two clusters").alias("detail"),
    )
    text = page(made.data(estimates=frame)).text
    assert "no interval: fewer than two clusters" in text
    assert "no interval: no interval" not in text


def test_a_cue_changes_sides_only_if_both_sides_are_significant() -> None:
    def reversed_cues(q: float) -> str:
        frame = made.estimates().with_columns(
            pl.when(pl.col("family") == "t", pl.col("group") == "male", pl.col("variation") == "formal")
            .then(-pl.col("value"))
            .when(pl.col("family") == "t", pl.col("group") == "female", pl.col("variation") == "formal")
            .then(pl.lit(0.05))
            .otherwise("value")
            .alias("value"),
            pl.when(pl.col("family") == "t").then(pl.lit(q)).otherwise("q").alias("q"),
        )
        return page(made.data(estimates=frame)).text

    assert "formal / evening wear (fashion), by gender: depth" in reversed_cues(0.01)
    assert "No cue shifts one group of people significantly up" in reversed_cues(0.2)


def test_an_exact_run_with_drawn_replies_says_so() -> None:
    parsed = page(made.data(runs=(made.run(exact=True, drawn=17),)))
    assert "Exact, in part drawn" in parsed.text
    assert "17 of" in parsed.text


def test_refusals_of_an_exact_run_are_not_measurable_and_no_fault() -> None:
    known = pl.col("measure") != "refusal_rate"
    frame = made.estimates().with_columns(pl.when(known).then(c).alias(c) for c in ("value", "low", "high"))
    parsed = page(made.data(runs=(made.run(exact=True),), estimates=frame))
    card = next(attrs for _, attrs in parsed.elements if attrs.get("data-card") == "refusal_rate")
    assert card["class"] == "card note"
    sampled = page(made.data(estimates=frame))
    card = next(attrs for _, attrs in sampled.elements if attrs.get("data-card") == "refusal_rate")
    assert card["class"] == "card problem"


def test_passwords_in_addresses_are_not_shown() -> None:
    text = report.render(made.data(runs=(made.run(settings={"url": "https://me:hush@host/v1"}),)))
    assert "hush" not in text
    assert "https://host/v1" in text


def test_two_models_are_compared_with_what_chance_shows_and_without_its_part() -> None:
    text = page(made.data(("model-a", "model-b"))).text
    said = "r = +0.90 (by chance up to 0.50 either way), without the part of chance +0.94"
    assert said in text.replace("+0.50", "0.50")
    assert "Size of the shifts whatever their direction" in text
    assert "By how much smaller the shifts are" in text


def test_models_within_noise_are_not_compared() -> None:
    frame = made.estimates(("model-a", "model-b")).with_columns(
        pl.when(pl.col("measure").str.starts_with("model_corr"))
        .then(pl.lit("not measurable: shifts of model-b are within what chance shows"))
        .otherwise(pl.col("detail"))
        .alias("detail"),
        pl.when(pl.col("measure").str.starts_with("model_corr"))
        .then(pl.lit("none"))
        .otherwise("method")
        .alias("method"),
        *(
            pl.when(~pl.col("measure").str.starts_with("model_corr")).then(pl.col(name)).alias(name)
            for name in ("value", "low", "high")
        ),
    )
    text = page(made.data(("model-a", "model-b"), estimates=frame)).text
    assert "r not measurable: shifts of model-b are within what chance shows" in text


def test_gaps_between_groups_are_counted_and_named() -> None:
    text = page(made.data(estimates=made.estimates(groups={"gender": ("female", "male")}))).text
    assert "Female less male" in text
    assert "Of 5 gaps, 2 were found to differ from zero." in text


def test_a_gallery_shows_a_face_and_its_cues() -> None:
    gallery = report.Album("Female", (("Base face", made.picture(64)), ("Eyewear: Sunglasses", made.picture(64))))
    parsed = page(made.data(examples=(gallery,)))
    pictures = [attrs["src"] for tag, attrs in parsed.elements if tag == "img"]
    assert len(pictures) == 2
    assert all(str(src).startswith("data:image/webp;base64,") for src in pictures)
    assert "Eyewear: Sunglasses" in parsed.text


def test_fashion_says_what_it_is_compared_with() -> None:
    plain = made.estimates()
    assert "compared with the base face, as in the paper" in page(made.data()).text
    framing = pl.DataFrame([made.row("framing_shift", "model-a", 0.05)], schema=plain.schema)
    text = page(made.data(estimates=pl.concat([plain, framing]))).text
    assert "That view alone shifts the judgment by +5.0 points [+3.5, +6.5]" in text


def test_a_page_of_refusals_alone_says_so_and_leaves_out_what_has_nothing_to_show() -> None:
    """Twenty places said "not measurable"."""
    run = made.run(planned=40, asked=40, valid=0, refused=40, errors=0)
    shown = page(made.data(estimates=made.estimates(cues=dict.fromkeys(made.CUES)), runs=(run,)))
    assert "The model refused every question: all 40 replies are refusals" in shown.text
    assert "missing" in ids(shown)
    assert "cues" not in ids(shown)
    mixed = page(made.data(runs=(made.run(planned=40, asked=40, valid=0, refused=30, errors=0),)))
    assert "75.0% of the replies are refusals, and the others name no answer" in mixed.text


def test_shares_that_are_all_none_are_a_sentence_and_no_chart() -> None:
    shares = pl.col("measure").is_in(["na_rate", "refusal_rate"])
    none = made.estimates().with_columns(
        pl.when(shares).then(0.0).otherwise(name).alias(name) for name in ("value", "low", "high")
    )
    text = page(made.data(estimates=none)).text
    assert re.search(r"Replies without a valid answer: 0\.0% in each of \d+ rows\.", text)


def test_checks_without_a_warning_are_folded_and_warnings_stay_open() -> None:
    html = report.render(made.data())
    folded = html[html.index('<details class="numbers checks">') :].partition("</details>")[0]
    assert 'class="card fine"' in folded
    assert 'class="card caution"' not in folded
    assert 'class="card problem"' not in folded
