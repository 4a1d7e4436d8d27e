"""What the page says about verdicts, margins, families and worst cases."""

import json
import re
from typing import Any

import polars as pl
import pytest

from facevalue import report
from facevalue.measures.caveats import MISSING_CAVEAT
from facevalue.measures.definitions import Measure
from facevalue.measures.families import Family
from facevalue.protocol.lookup import EstimateIndex
from facevalue.report.sections.judgment_basis import margin_lines
from tests.report import made

NEW = ("se", "kind", "mde", "margin", "declared", "verdict", "why", "bound_low", "bound_high")
HASH = "ab" * 32
UNLESS = f"difference found, {MISSING_CAVEAT}"


def plain(html: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", html.split("</style>")[1]).split())


def rendered(frame: pl.DataFrame, **changes: Any) -> str:
    return report.render(made.data(estimates=frame, **changes))


def card(html: str, name: str) -> str:
    found = re.search(rf'<article class="card \w+" data-card="{name}">.*?</article>', html, re.DOTALL)
    return "" if found is None else plain("</style>" + found.group())


def test_estimates_from_before_there_were_verdicts_still_render() -> None:
    html = rendered(made.estimates().drop(*NEW))
    assert "How the numbers were judged" not in html
    assert "bold: beyond chance" in html
    assert card(html, "bounds") == ""


def test_every_cue_has_its_verdict_as_a_word_and_a_shape() -> None:
    html = rendered(made.judged(margin=0.1))
    section = html.split('<section id="cues"')[1].split("</section>")[0]
    cells = re.findall(r'<td class="verdict">(<svg.*?</svg>) ([^<]*)</td>', section, re.DOTALL)
    assert [word for _, word in cells] == ["difference found"] * 2 + ["equivalent"] + [UNLESS, "difference found"]
    shapes = {word: re.findall(r' d="([^"]+)" class="([^"]+)"', svg)[0] for svg, word in cells}
    assert (len(set(shapes.values())), len(shapes)) == (2, 3)
    assert shapes[UNLESS] == shapes["difference found"]


def test_row_details_hold_everything_needed_to_judge_a_number() -> None:
    html = rendered(made.judged())
    title = next(t for t in re.findall(r'data-v="[^"]*" title="([^"]*)"', html) if t.startswith("−16.6"))
    for part in (
        "difference found: a reason", "n = 1,200 in 60 people", "found with 80% power from 3.1 points up",
        "margin ±2.0 points, declared before the run", "with missing answers counted worst-case −22.1 to −11.1",
        "size without what chance adds 16.6 points",
    ):  # fmt: skip
        assert part in title, part


def test_tables_of_numbers_have_verdicts_and_bounds() -> None:
    html = rendered(made.judged())
    table = html.split("The numbers behind this chart")[2].split("</table>")[0]
    assert '<th scope="col" data-sort="text">Verdict</th>' in table
    assert "If missing answers went one way" in table
    assert '<td title="A reason.">difference found</td>' in table
    assert "−22.1 to −11.1" in table


def test_the_interval_of_the_page_is_thin_behind_the_thick_one_of_the_row_and_beside_it_in_the_table() -> None:
    html = rendered(made.judged())
    section = html.split('<section id="cues"')[1].split("</section>")[0]
    text = re.sub(r"<[^>]+>", "", section)
    assert "thin: its interval at the level at which the page judges it" in text
    strip = next(part for part in section.split("<svg") if "−16.6" in part and "whisker" in part)
    lines = re.findall(r'<line x1="([\d.]+)%"[^>]* x2="([\d.]+)%"[^>]* class="(thin|whisker) [^"]*"', strip)
    assert [kind for *_, kind in lines] == ["thin", "thin", "thin", "whisker"]
    (page_left, page_right), (left, right) = (tuple(map(float, lines[at][:2])) for at in (0, 3))
    assert page_left < left < right < page_right
    table = html.split("The numbers behind this chart")[2].split("</table>")[0]
    assert '<th scope="col">At the page' in table
    assert "[−24.9, −8.3]" in table
    assert "[−24.9, −8.3] at the page&#39;s level" in html


def test_json_has_the_interval_of_the_page() -> None:
    rows = [
        row
        for row in json_rows(json.loads(report.as_json(made.data(estimates=made.judged()))))
        if row["value"] == -0.166
    ]
    assert rows
    assert rows[0]["page_low"] == pytest.approx(-0.249)
    assert rows[0]["page_high"] == pytest.approx(-0.083)


def json_rows(part: Any) -> list[dict[str, Any]]:
    """Every estimate in the JSON of a page."""
    if isinstance(part, list):
        return [row for each in part for row in json_rows(each)]
    if not isinstance(part, dict):
        return []
    return ([part] if "page_low" in part else []) + [row for each in part.values() for row in json_rows(each)]


@pytest.mark.parametrize(("margin", "drawn"), [(0.02, True), (None, False), (0.9, False)])
def test_margins_are_drawn_where_they_fit(margin: float | None, drawn: bool) -> None:
    html = rendered(made.judged(margin=margin))
    assert ('class="margin"' in html) == drawn
    assert ("Dashed lines: margin of ±2.0 points, declared before the run." in re.sub(r"<[^>]+>", "", html)) == drawn


def test_cues_whose_sign_is_open_are_named() -> None:
    said = card(rendered(made.judged()), "bounds")
    assert "1 of 4 signs not certain" in said
    assert "messy (hair style): −10.5 to +0.5" in said
    assert "worn" not in said
    assert "Caution" in said


def test_signs_that_hold_are_said_to_hold() -> None:
    ends = (pl.col("value").alias(name) for name in ("bound_low", "bound_high"))
    tight = made.judged().with_columns(*ends, pl.lit("A reason.").alias("why"))
    assert "Every sign holds" in card(rendered(tight), "bounds")
    none = made.judged(made.estimates(cues={("a", "b"): 0.001}))
    assert "No difference to check" in card(rendered(none), "bounds")


def test_the_rough_bound_gives_way_to_the_exact_one() -> None:
    rough = "could be off by up to 6.0 points"
    assert rough in plain(rendered(made.judged()))
    whole = pl.col("measure").eq("shift") & pl.all_horizontal(
        pl.col(c).is_null() for c in ("attribute", "scenario", "group")
    )
    whole &= pl.col("category").is_null()
    frame = made.judged().with_columns(
        pl.when(whole).then(pl.lit(v)).otherwise(c).alias(c) for c, v in (("bound_low", -0.04), ("bound_high", 0.03))
    )
    text = plain(rendered(frame))
    assert rough not in text
    assert "in the range of −4.0 to +3.0" in text


def test_variation_strength_stands_beside_its_corrected_value_floor_and_verdict() -> None:
    html = rendered(made.judged())
    table = html.split('aria-label="VS and its noise floor"')[1].split("</table>")[0]
    for part in ("Corrected", "6.0 points", "4.7 points", "2.0, 95% below 3.0 points", "difference found", "18 of 25"):
        assert part in table, part


def test_how_the_numbers_were_judged() -> None:
    run = made.run(preregistration=HASH, families=(Family("hair_style", "confirmatory", "shift", alpha=0.01),))
    text = plain(rendered(made.judged(family="hair_style"), runs=(run,)))
    assert (
        "hair_style (Holm, level 0.01): a difference found in 1 of 1 test, unless the missing answers say otherwise."
        in text
    )
    assert "Benjamini-Hochberg" in text
    assert "Margin of signed bias shift (SBS): 2.0 points either way, declared before the run." in text
    assert f"SHA-256 {HASH}." in text
    assert "Never read it as fairness." in text
    assert "take its verdicts as exploratory" not in text


def test_nothing_declared_is_said() -> None:
    text = plain(rendered(made.judged(margin=0.02, declared=False)))
    assert "No family of tests: everything below is exploratory" in text
    assert "No file: nothing was declared before the run." in text
    assert "A margin chosen after the run can be fitted to the answers" in text
    assert "No margin was named." in plain(rendered(made.judged(margin=None)))


def test_runs_that_declared_different_things_are_told_apart() -> None:
    runs = (made.run("model-a", preregistration=HASH), made.run("model-b"))
    text = plain(rendered(made.judged(made.estimates(("model-a", "model-b"))), runs=runs))
    assert "model-b: none." in text
    assert "hold as declared for it only" in text


def test_audits_that_do_not_apply_are_shown_as_considered() -> None:
    html = rendered(made.judged())
    assert "Asked in one wording" in card(html, "paraphrases")
    assert "No scores by another model" in card(html, "scorer")
    for name in ("na_rate", "refusal_rate", "response_bias.position", "response_bias.letter"):
        assert "Worrying" in card(html, name)


def test_no_number_beside_contradicts_the_count() -> None:
    assert "above their own floor" not in rendered(made.judged())


def test_the_table_of_made_estimates_follows_the_schema() -> None:
    assert made.judged().schema == pl.Schema(made.SCHEMA)


def test_margins_of_several_scores_are_one_sentence() -> None:
    rows = [
        made.judged()
        .head(1)
        .with_columns(measure=pl.lit("shift"), score=pl.lit(score), margin=pl.lit(size), unit=pl.lit("L*"))
        for score, size in (("lightness", 2.0), ("hue", 5.0))
    ]
    unmeasured = rows[0].with_columns(measure=pl.lit("gap"), value=pl.lit(None, pl.Float64))
    numbers = EstimateIndex(pl.concat([*rows, unmeasured]))
    definitions = {
        f"shift.{score}": Measure("shift", f"Shift from the base: {score} of skin", "", "L*", "image", "", score=score)
        for score in ("lightness", "hue")
    }
    assert margin_lines(numbers, definitions) == [
        "Margins of shift from the base, either way, declared before the run: lightness of skin 2.00 L*; hue of skin "
        "5.00 L*."
    ]
