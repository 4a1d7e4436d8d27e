"""Forms: the protocol's 400, what is filled in, how they are drawn, and what is refused."""

import hashlib
import io
from collections import Counter
from xml.etree import ElementTree as ET

import numpy as np
import PIL.Image
import pytest
from hypothesis import given
from hypothesis import strategies as st

from facevalue.errors import DataError, UnknownNameError
from facevalue.stimuli.forms import VERSION, Form, FormSource, form_png, form_svg, forms, text_form
from facevalue.studies.visbias.parsing import attributes

TABLES = {table: {a.title: a.categories.names for a in attributes(table)} for table in ("paper", "released")}
LABELS = tuple(TABLES["paper"])


def opened(data: bytes) -> np.ndarray:
    with PIL.Image.open(io.BytesIO(data)) as image:
        return np.asarray(image.convert("RGB")).astype(int)


def row(picture: np.ndarray, at: int) -> np.ndarray:
    """The box of the field in this row, without its borders."""
    return picture[168 + 52 * at + 3 : 168 + 52 * (at + 1) - 3, 394:932]


def test_the_protocol_has_400_forms_with_5_of_20_fields_filled_in() -> None:
    made = forms(TABLES["paper"], 20, seed=3)
    assert len(made) == 400
    assert {len(form.filled) for form in made} == {5}
    assert all(value in TABLES["paper"][label] for form in made for label, value in form.filled.items())


def test_each_form_is_shown_in_every_cyclic_order_with_the_same_values() -> None:
    made = forms(TABLES["paper"], 20, seed=3)
    for base in range(20):
        orders = made[20 * base : 20 * base + 20]
        assert [form.order for form in orders] == [LABELS[k:] + LABELS[:k] for k in range(20)]
        assert len({tuple(sorted(form.filled.items())) for form in orders}) == 1
    assert len({tuple(sorted(form.filled.items())) for form in made}) == 20


def test_the_seed_decides_and_the_count_does_not() -> None:
    assert forms(TABLES["paper"], 3, seed=1) == forms(TABLES["paper"], 9, seed=1)[:60]
    assert forms(TABLES["paper"], 3, seed=1) != forms(TABLES["paper"], 3, seed=2)


def test_fields_and_choices_are_drawn_evenly() -> None:
    """4,000 forms: each field is in 5 of 20 (SD 27 of 1,000), each answer to a yes-no field half the time (SD 16)."""
    made = forms(TABLES["paper"], 4000, seed=5)[::20]
    fields = Counter(label for form in made for label in form.filled)
    assert max(abs(count - 1000) for count in fields.values()) < 5 * 27
    said = Counter(form.filled["Has Children"] for form in made if "Has Children" in form.filled)
    assert abs(said["Yes"] - said["No"]) < 5 * 32


@pytest.mark.parametrize(
    ("order", "filled", "says"),
    [
        (("Age", "Age"), {}, "'Age' twice"),
        ((), {}, "1 to 60"),
        (("Age", " "), {}, "no label"),
        (("Age",), {"Age": " "}, "filled in with nothing"),
        (("Age",), {"Age": "a\nb"}, "printable"),
        (("Age\x00",), {}, "printable"),
    ],
)
def test_a_form_with_doubled_or_empty_fields_is_refused(
    order: tuple[str, ...], filled: dict[str, str], says: str
) -> None:
    with pytest.raises(DataError, match=says):
        Form(order, filled)


def test_a_value_for_an_unknown_field_names_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'Gender'"):
        Form(("Age", "Gender"), {"Gendre": "Male"})


def test_attributes_without_choices_and_too_many_filled_fields_are_refused() -> None:
    with pytest.raises(DataError, match="no choices"):
        forms({"Age": []}, 1, 1, 1)
    with pytest.raises(DataError, match="3 of 1 fields"):
        forms({"Age": ["old"]}, 1, 1, 3)
    with pytest.raises(DataError, match="At least 1 form"):
        forms({"Age": ["old"]}, 0, 1, 1)


@pytest.mark.parametrize("table", TABLES)
def test_every_choice_of_every_table_has_room_on_the_form(table: str) -> None:
    longest = {label: max(choices, key=len) for label, choices in TABLES[table].items()}
    assert form_svg(Form(LABELS, longest)).count("<use") > 500


def test_values_are_drawn_in_their_own_boxes_and_the_others_stay_empty() -> None:
    form = forms(TABLES["paper"], 1, seed=3)[4]
    picture = opened(form_png(form))
    assert picture.shape == (1296, 1000, 3)
    for at, label in enumerate(form.order):
        dark = (row(picture, at).max(axis=2) < 200).sum()
        assert (dark > 100) if label in form.filled else (dark == 0)
        assert (picture[168 + 52 * at + 3 : 168 + 52 * (at + 1) - 3, 68:386].max(axis=2) < 120).sum() > 100


def test_two_values_make_two_pictures_that_differ_in_that_box_alone() -> None:
    one, other = (opened(form_png(Form(LABELS, {"Gender": value}))) for value in ("Female", "Male"))
    changed = (one != other).any(axis=2)
    at = LABELS.index("Gender")
    assert changed.any()
    changed[168 + 52 * at : 168 + 52 * (at + 1), 390:936] = False
    assert not changed.any()


def test_the_picture_does_not_depend_on_installed_fonts() -> None:
    """It is outlines alone, and these are the same everywhere; raise `forms.VERSION` with this."""
    svg = form_svg(forms(TABLES["paper"], 1, seed=3)[0])
    assert "<text" not in svg
    assert "font" not in svg
    assert (VERSION, hashlib.sha256(svg.encode()).hexdigest()[:16]) == (1, "d6acbb74b4ddac2b")


@given(st.text(st.characters(min_codepoint=33, max_codepoint=255), min_size=1, max_size=12))
def test_any_text_is_escaped_or_refused(text: str) -> None:
    try:
        svg = form_svg(Form((text,), {text: text}))
    except DataError:
        return
    titles = [node.text for node in ET.fromstring(svg).iter() if node.tag.endswith("title")]
    assert titles == [f"{text}: {text}"]


def test_texts_that_cannot_be_drawn_are_refused_in_plain_words() -> None:
    with pytest.raises(DataError, match="'日' of 'Age 日本'"):
        form_svg(Form(("Age 日本",), {}))


def test_text_too_long_for_its_box_is_refused() -> None:
    with pytest.raises(DataError, match="too long for its place"):
        form_svg(Form(("Age",), {"Age": "x" * 80}))


def test_a_wide_value_is_written_smaller() -> None:
    short, long = (form_svg(Form(("Age",), {"Age": "m" * n})) for n in (10, 40))
    assert short.count('scale(0.013184)" fill="#1c2f7a"') == 1
    assert 'scale(0.013184)" fill="#1c2f7a"' not in long


def test_the_form_as_text_has_the_same_fields_in_the_same_order() -> None:
    form = forms(TABLES["paper"], 1, seed=3)[7]
    lines = [line.split(": ", 1) for line in text_form(form).splitlines()[3:]]
    assert tuple(label for label, _ in lines) == form.order
    assert {label: value for label, value in lines if set(value) != {"_"}} == dict(form.filled)


def test_a_source_shows_forms_by_number_and_knows_their_digests_without_drawing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = forms(TABLES["paper"], 2, seed=3)
    source = FormSource(made)
    shown = source.stimulus(5, {"form": "25", "trial": "9"})
    assert (shown.key, dict(shown.factors)) == ("5", {"form": "25"})
    assert shown.load()[0].data == form_png(made[25])
    monkeypatch.setattr("facevalue.stimuli.forms.form_svg", None)
    digests = {FormSource(made, wide).stimulus(0, {"form": str(n)}).digest for n in range(40) for wide in (800, 1000)}
    assert len(digests) == 80
    assert FormSource(forms(TABLES["paper"], 2, seed=3)).stimulus(1, {"form": "25"}).digest == shown.digest


def test_the_text_form_shows_no_picture() -> None:
    source = FormSource(forms(TABLES["paper"], 1, seed=3))
    shown = source.stimulus(0, {"form": "0", "shown": "text"})
    assert (shown.digest, shown.load()) == ("text", ())
    source.check({"form": ["0"], "shown": ["text"]})


@pytest.mark.parametrize("number", ["400", "-1", "x", "", None, "²"])
def test_a_number_that_no_form_has_is_refused(number: str | None) -> None:
    source = FormSource(forms(TABLES["paper"], 1, seed=3))
    with pytest.raises(DataError, match="numbered 0 to 19"):
        source.stimulus(0, {"form": number})
    with pytest.raises(DataError, match="numbered 0 to 19"):
        source.check({"form": ["1", number]})


@pytest.mark.parametrize("width", [0, 199, 5000])
def test_widths_out_of_bounds_are_refused(width: int) -> None:
    with pytest.raises(DataError, match="pixels wide"):
        FormSource([], width)
    with pytest.raises(DataError, match="pixels wide"):
        form_png(Form(("Age",), {}), width)
