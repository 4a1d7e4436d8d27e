"""Keeping portraits on disk, and choosing whom to draw."""

import os
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from facevalue.errors import DataError, UnknownNameError
from facevalue.stimuli.portraits import GENDERS, Identity, PortraitCache, key, sample_identities
from facevalue.stimuli.portraits import composition as cache_module
from facevalue.stimuli.portraits.levels import CELLS

ANNE = Identity("f-0001", 1, "female", "young", "monk-05", "normal")


def files(folder: Path) -> list[Path]:
    return sorted(p for p in folder.rglob("*") if p.is_file())


def test_a_picture_is_drawn_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = PortraitCache(tmp_path, size=48)
    first = cache.get(ANNE, ("eyewear", "sunglasses"))
    assert [p.stem for p in files(tmp_path)] == [key(ANNE, ("eyewear", "sunglasses"), None, 48)]
    monkeypatch.setattr(cache_module, "png", lambda *_: pytest.fail("drawn twice"))
    assert cache.get(ANNE, ("eyewear", "sunglasses")) == first
    assert PortraitCache(tmp_path, size=48).get(ANNE, ("eyewear", "sunglasses"), "portrait") == first


@pytest.mark.parametrize("damage", [b"", b"\x89PNG", "half", "flip", "other size"])
def test_a_damaged_file_is_drawn_again(tmp_path: Path, damage: bytes | str) -> None:
    cache = PortraitCache(tmp_path, size=48)
    whole = cache.get(ANNE)
    (path,) = files(tmp_path)
    if damage == "half":
        path.write_bytes(whole[: len(whole) // 2])
    elif damage == "flip":
        middle = len(whole) // 2
        path.write_bytes(whole[:middle] + bytes([whole[middle] ^ 255]) + whole[middle + 1 :])
    elif damage == "other size":
        path.write_bytes(PortraitCache(None, size=32).get(ANNE))
    else:
        assert isinstance(damage, bytes)
        path.write_bytes(damage)
    assert cache.get(ANNE) == whole
    assert path.read_bytes() == whole


def test_any_flipped_byte_is_found() -> None:
    whole = PortraitCache(None, size=48).get(ANNE)
    assert cache_module.is_whole(whole, 48)
    assert not cache_module.is_whole(whole, 49)
    assert not cache_module.is_whole(whole + b"x", 48)
    for at in range(len(whole)):
        assert not cache_module.is_whole(whole[:at] + bytes([whole[at] ^ 64]) + whole[at + 1 :], 48), at
        assert not cache_module.is_whole(whole[:at], 48)


def test_nothing_half_written_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = PortraitCache(tmp_path, size=48)

    def full(self: Path, target: Path) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(DataError, match="No space left on device"):
        cache.get(ANNE)
    assert files(tmp_path) == []


def test_a_folder_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("x")
    with pytest.raises(DataError, match="cannot be kept"):
        PortraitCache(tmp_path / "taken")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    cache = PortraitCache(tmp_path, size=48)
    tmp_path.chmod(0o500)
    with pytest.raises(DataError, match="Permission denied"):
        cache.get(ANNE)
    tmp_path.chmod(0o700)


def test_many_at_a_time(tmp_path: Path) -> None:
    people = sample_identities({"male": 2, "female": 2}, seed=3) * 4
    caches = [PortraitCache(tmp_path, size=40) for _ in range(2)]
    with ThreadPoolExecutor(4) as pool:
        got = list(pool.map(lambda i: caches[i % 2].get(people[i]), range(len(people))))
    assert len(set(got)) == 4
    assert len(files(tmp_path)) == 4


def test_memory_keeps_the_latest() -> None:
    cache = PortraitCache(None, size=32, keep=2)
    people = sample_identities({"female": 3}, seed=1)
    first = cache.get(people[0])
    cache.get(people[1])
    assert cache.get(people[0]) is first
    cache.get(people[2])
    assert cache.get(people[0]) is first
    with pytest.raises(DataError, match="at least 1"):
        PortraitCache(None, size=0)


@given(st.integers(0, 400), st.integers(0, 400), st.integers())
@settings(max_examples=40, deadline=None)
def test_samples_are_balanced_and_deterministic(men: int, women: int, seed: int) -> None:
    counts = {"male": men, "female": women}
    people = sample_identities(counts, seed)
    assert people == sample_identities(dict(reversed(counts.items())), seed)
    assert len({p.id for p in people}) == men + women
    assert len({p.seed for p in people}) == men + women
    for gender in GENDERS:
        mine = [p for p in people if p.gender == gender]
        assert len(mine) == counts[gender]
        held = Counter((p.age, p.skin_tone, p.build) for p in mine)
        low = counts[gender] // len(CELLS)
        assert all(held[cell] in (low, low + 1) for cell in CELLS)
        assert sum(held[cell] == low + 1 for cell in CELLS) == counts[gender] % len(CELLS)


def test_the_seed_chooses_the_cells() -> None:
    chosen = [tuple((p.age, p.skin_tone, p.build) for p in sample_identities({"male": 20}, s)) for s in (1, 2)]
    assert chosen[0] != chosen[1]


def test_a_longer_sample_begins_with_the_shorter() -> None:
    assert sample_identities({"male": 120}, 4)[:50] == sample_identities({"male": 50}, 4)


def test_samples_refuse_what_makes_no_sense() -> None:
    with pytest.raises(UnknownNameError, match="gender"):
        sample_identities({"femme": 1}, 0)
    with pytest.raises(DataError, match="negative"):
        sample_identities({"male": -1}, 0)
    assert sample_identities({}, 0) == []
