"""Units of object storage: damage, mix-ups and strangers among them are named."""

import random
from dataclasses import replace

import polars as pl
import pytest
from obstore.store import MemoryStore

from facevalue.errors import RunError
from facevalue.parquet import read_table_of
from facevalue.store.objects import Objects
from facevalue.store.remote import UnitFacts, checked, encoded, listed_units, read_run, unit_facts
from facevalue.store.writer import to_frame
from facevalue.types import Response, Status
from tests.store.faulty import URL

KEY = f"responses/{0:012d}-{39:012d}-0123456789abcdef.parquet"
NAME = f"{URL}/{KEY}"
FACTS = UnitFacts(KEY, "run", 0, 0, 40, 40, 0, 0, 0, 0, 0, 400, 80, 0)


def frame() -> pl.DataFrame:
    rows = [Response(i, 0, Status.OK, f"(a) {i}" + "0" * 70, (0.25, 0.75), 10, 2, 1.0) for i in range(40)]
    return to_frame(rows, pl.Series(range(40), dtype=pl.UInt64).to_numpy())


def test_a_unit_comes_back_as_it_was_written() -> None:
    data = encoded(frame(), FACTS)
    assert checked(data, KEY, NAME, "run") == FACTS
    assert read_table_of(data).equals(frame())


def test_every_flipped_bit_and_every_cut_is_found() -> None:
    data, rng = encoded(frame(), FACTS), random.Random(5)
    for at in rng.sample(range(len(data)), 400):
        flipped = bytearray(data)
        flipped[at] ^= 1 << rng.randrange(8)
        with pytest.raises(RunError, match=f"^{NAME} is damaged"):
            checked(bytes(flipped), KEY, NAME, "run")
    for at in rng.sample(range(len(data)), 50):
        with pytest.raises(RunError, match=f"^{NAME} is damaged"):
            checked(data[:at], KEY, NAME, "run")


def test_a_unit_of_another_run_or_under_another_name_is_refused() -> None:
    data = encoded(frame(), FACTS)
    with pytest.raises(RunError, match=r"belongs to another run \(run\) than this one \(mine\)"):
        checked(data, KEY, NAME, "mine")
    other = KEY.replace("0123", "9999")
    with pytest.raises(RunError, match="was stored as"):
        checked(data, other, f"{URL}/{other}", "run")


def test_what_a_unit_says_of_itself_is_read_from_its_end_and_sealed() -> None:
    objects = Objects(URL, MemoryStore())
    data = encoded(frame(), FACTS)
    objects.create(KEY, data)
    assert unit_facts(objects, KEY, "run") == FACTS
    assert unit_facts(objects, KEY.replace("0123", "4567"), "run") is None
    at = data.rindex(b'"rows":40')
    objects.overwrite(KEY, data[:at] + b'"rows":41' + data[at + 9 :])
    with pytest.raises(RunError, match="is damaged"):
        unit_facts(objects, KEY, "run")


def test_a_text_that_looks_like_a_digest_is_none() -> None:
    """Replies are untrusted, and may stand in the statistics near the end of a file."""
    said = "facevalue.sha256\x18\x40" + "0" * 64 + ' facevalue.unit0123456789abcdef{"rows":7}'
    rows = [Response(i, 0, Status.ERROR, said, None, 1, 1, 1.0, said) for i in range(40)]
    data = encoded(to_frame(rows, pl.Series(range(40), dtype=pl.UInt64).to_numpy()), replace(FACTS, errors=40))
    assert checked(data, KEY, NAME, "run").errors == 40


def test_a_strange_key_is_named() -> None:
    objects = Objects(URL, MemoryStore())
    objects.create("responses/notes.txt", b"")
    with pytest.raises(RunError, match=rf"^{URL}/responses/notes.txt is nothing that FaceValue wrote"):
        listed_units(objects)


@pytest.mark.parametrize("data", [b"", b"[]", b"\xff", b'{"sha256": 1}', b'{"sha256": "x", "format": 2}'])
def test_a_damaged_run_json_is_named(data: bytes) -> None:
    objects = Objects(URL, MemoryStore())
    objects.create("run.json", data)
    with pytest.raises(Exception, match=rf"^{URL}/run.json is not") as told:
        read_run(objects)
    assert "\n" not in str(told.value)
