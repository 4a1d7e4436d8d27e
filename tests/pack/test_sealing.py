"""Seals of packs: whatever was done to its bytes, a pack holds what was written, or a sentence says why not."""

import io
import os
import resource
import shutil
import struct
import subprocess
import zipfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from facevalue.cli.command import Exit, exit_of
from facevalue.errors import DataError
from facevalue.packing.contents import _root, _write
from facevalue.packing.sealing import SUMS, faults, sums

FILES = {"README.md": b"Read me. " * 9, "reports/a.html": b"<p>a</p>", "estimates/größe.csv": b"n,value\n1,.5\n"}
SEALED = {**FILES, SUMS: sums(FILES)}
FORGED = {**FILES, "README.md": b"Forged."}


@pytest.fixture
def packed(tmp_path: Path) -> Path:
    _write(SEALED, tmp_path / "pack.zip")
    return tmp_path / "pack.zip"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    _write(SEALED, tmp_path / "folder")
    return tmp_path / "folder"


def verdict(pack: Path) -> str:
    """What is wrong with a pack, on a line each; empty where nothing is."""
    try:
        return "\n".join(faults(pack)[1])
    except DataError as error:
        return str(error) if exit_of(error) == Exit.REFUSED else "another exit status"


def written(pack: Path, members: Sequence[tuple[str | zipfile.ZipInfo, bytes]], method: int = 0) -> Path:
    with pytest.MonkeyPatch.context() as patch, zipfile.ZipFile(pack, "w", method) as archive:
        patch.setattr(archive, "_writecheck", lambda _: None)  # names twice
        for name, data in members:
            archive.writestr(name, data)
    return pack


def unpacked(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {info.filename.removeprefix("pack/"): archive.read(info) for info in archive.infolist()}


def test_a_pack_is_as_it_was_written(packed: Path, folder: Path) -> None:
    assert faults(packed) == faults(folder) == (len(FILES), [])


@pytest.mark.parametrize("first", [FORGED, SEALED])
def test_a_name_that_is_there_twice_is_refused(tmp_path: Path, first: dict[str, bytes]) -> None:
    twice = [("README.md", first["README.md"]), *SEALED.items()]
    assert "holds README.md twice" in verdict(written(tmp_path / "pack.zip", twice))
    assert "holds README.md twice" in verdict(written(tmp_path / "pack.zip", twice[::-1]))


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("readme.MD", "README.md and readme.MD"),
        ("README.md/x", "in a folder that is itself a file"),
        *((name, "not the name of a file") for name in (".", "./x", "a//b", "../x", "/etc/x", "C:x", "a\\b")),
        *((name, "not the name of a file") for name in ("x.", "x ", " x", "x/ /y")),
        ("x\x1b[2J", "signs that do not show"),
        ("new.txt", "new.txt: not in the list"),
    ],
)  # fmt: skip
def test_a_member_of_another_name_is_seen(tmp_path: Path, name: str, says: str) -> None:
    assert says in verdict(written(tmp_path / "pack.zip", [*SEALED.items(), (name, b"x")]))


@pytest.mark.parametrize("mode", [0o120777, 0o010644, 0o020644, 0o040755])
def test_a_member_that_would_be_unpacked_as_a_link_or_device_is_refused(tmp_path: Path, mode: int) -> None:
    info = zipfile.ZipInfo("README.md")
    info.external_attr = mode << 16
    members = [(info if name == "README.md" else name, data) for name, data in SEALED.items()]
    assert "README.md is marked as a link" in verdict(written(tmp_path / "pack.zip", members))


def changed(packed: Path, old: bytes, new: bytes, places: slice = slice(None)) -> str:
    """The verdict on a ZIP file in which bytes were replaced, at the first places or the last."""
    data = packed.read_bytes()
    starts = [at for at in range(len(data)) if data.startswith(old, at)][places]
    for at in starts:
        data = data[:at] + new + data[at + len(new) :]
    packed.write_bytes(data)
    assert starts
    return verdict(packed)


def test_headers_that_disagree_are_refused(packed: Path) -> None:
    assert "its own header" in changed(packed, b"pack/README.md", b"pack/readme.md", slice(1))


def test_an_encrypted_mark_and_an_unknown_method_are_refused(tmp_path: Path) -> None:
    for flags, method, says in (
        (1, 8, "encrypted"),
        (1 << 6, 8, "compressed in a way"),
        (0, 97, "compressed in a way"),
    ):
        data = bytearray(written(tmp_path / "pack.zip", list(SEALED.items()), zipfile.ZIP_DEFLATED).read_bytes())
        struct.pack_into("<2H", data, data.index(b"PK\x03\x04") + 6, flags, method)
        struct.pack_into("<2H", data, data.index(b"PK\x01\x02") + 8, flags, method)
        (tmp_path / "pack.zip").write_bytes(data)
        assert says in verdict(tmp_path / "pack.zip")


@pytest.mark.parametrize("kind", [0x0001, 0x7075, 0x6375, 0x9901])
def test_further_fields_that_rename_or_resize_a_member_are_refused(tmp_path: Path, kind: int) -> None:
    info = zipfile.ZipInfo("README.md")
    info.extra = struct.pack("<2H", kind, 9) + b"\x01" * 9
    members: list[tuple[str | zipfile.ZipInfo, bytes]] = [(info, FILES["README.md"]), *list(SEALED.items())[1:]]
    assert "further field" in verdict(written(tmp_path / "pack.zip", members))


def test_a_second_directory_that_is_hidden_in_a_further_field_is_refused(tmp_path: Path) -> None:
    info = zipfile.ZipInfo("z")
    info.extra = struct.pack("<2H", 0x5455, 20) + b"PK\x06\x07" + bytes(16)
    (pack := written(tmp_path / "pack.zip", [*SEALED.items(), (info, b"")])).read_bytes()
    assert "very large ZIP files" in verdict(pack)


@pytest.mark.parametrize("place", ["before", "after", "between"])
def test_bytes_of_no_file_are_refused(packed: Path, place: str) -> None:
    data = packed.read_bytes()
    at = {"before": 0, "after": len(data), "between": data.index(b"PK\x01\x02")}[place]
    packed.write_bytes(data[:at] + b"PK\x03\x04 more" + data[at:])
    assert "cannot be read as a pack" in verdict(packed)


def test_zip_files_that_other_tools_write_verify(tmp_path: Path) -> None:
    streamed = io.BytesIO()

    class Unseekable(io.RawIOBase):
        """A pipe: sizes stand behind the bytes of a member."""

        def writable(self) -> bool:
            return True

        def write(self, data: Any) -> int:
            return streamed.write(bytes(data))

    with zipfile.ZipFile(Unseekable(), "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(zipfile.ZipInfo("some folder/"), b"")
        for name, data in SEALED.items():
            with archive.open(f"some folder/{name}", "w") as member:
                member.write(data)
    (tmp_path / "streamed.zip").write_bytes(streamed.getvalue())
    assert streamed.getvalue()[6] == 8
    assert faults(tmp_path / "streamed.zip") == (len(FILES), [])


def flips(data: bytes) -> Iterator[tuple[int, int]]:
    """Every bit of a ZIP file outside the bytes of its members."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        inside = set[int]()
        for info in archive.infolist():
            start = info.header_offset + 30 + len(info.orig_filename.encode())
            inside |= set(range(start, start + info.compress_size))
    return ((at, bit) for at in range(len(data)) if at not in inside for bit in range(8))


def test_a_flipped_bit_of_any_header_is_one_sentence_or_changes_nothing(tmp_path: Path) -> None:
    files = {"a.txt": b"a", SUMS: sums({"a.txt": b"a"})}
    _write(files, pack := tmp_path / "pack.zip")
    data, sound = pack.read_bytes(), 0
    for at, bit in flips(data):
        flipped = data[:at] + bytes([data[at] ^ (1 << bit)]) + data[at + 1 :]
        pack.write_bytes(flipped)
        if says := verdict(pack):
            assert "\n" not in says
        else:
            sound += 1
            assert unpacked(flipped) == files
    assert 0 < sound < 500  # times, and who may read


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("unzip") is None, reason="unzip is not installed: apt-get install unzip")
def test_what_verifies_is_unpacked_alike_by_another_program(tmp_path: Path) -> None:
    files = {"a.txt": b"a", SUMS: sums({"a.txt": b"a"})}
    _write(files, pack := tmp_path / "pack.zip")
    data = pack.read_bytes()
    for at, bit in flips(data):
        pack.write_bytes(data[:at] + bytes([data[at] ^ (1 << bit)]) + data[at + 1 :])
        if not verdict(pack):
            subprocess.run(["unzip", "-q", "-o", pack, "-d", tmp_path / "out"], check=True)
            (tmp_path / "out/pack").chmod(0o755)
            for path in (tmp_path / "out/pack").iterdir():
                path.chmod(0o644)
            assert {path.name: path.read_bytes() for path in (tmp_path / "out/pack").iterdir()} == files
            shutil.rmtree(tmp_path / "out")


@given(st.data())
def test_bytes_that_were_changed_anywhere_never_hide_another_content(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    pack = tmp_path_factory.getbasetemp() / "pack.zip"
    _write(SEALED, pack)
    content = bytearray(pack.read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(content) - 1))
        how = data.draw(st.sampled_from(["set", "cut", "copy", "insert"]))
        if how == "set":
            content[at] = data.draw(st.integers(0, 255))
        elif how == "cut":
            del content[at : at + data.draw(st.integers(1, 60))]
        else:
            start = data.draw(st.integers(0, len(content) - 1))
            length = data.draw(st.integers(1, 120))
            content[at : at + (length if how == "copy" else 0)] = content[start : start + length]
        if not content:
            return
    pack.write_bytes(content)
    if not verdict(pack):
        assert unpacked(bytes(content)) == SEALED


def linked(folder: Path) -> None:
    (folder / "reports/new.html").symlink_to(folder / "README.md")


def linked_folder(folder: Path) -> None:
    (folder / "more").symlink_to(folder / "reports")


def broken_link(folder: Path) -> None:
    (folder / "more").symlink_to("/none")


def piped(folder: Path) -> None:
    os.mkfifo(folder / "pipe")


@pytest.mark.parametrize(
    ("add", "says"),
    [
        (linked, "reports/new.html: a link, not a file"),
        (linked_folder, "more: a link, not a file"),
        (broken_link, "more: a link, not a file"),
        (piped, "pipe: a pipe or device, not a file"),
    ],
)
def test_links_and_pipes_in_a_folder_are_named(folder: Path, add: Callable[[Path], None], says: str) -> None:
    add(folder)
    assert faults(folder) == (len(FILES), [says])


def test_a_file_that_became_a_link_to_the_same_content_is_named(folder: Path, tmp_path: Path) -> None:
    (folder / "README.md").rename(tmp_path / "elsewhere")
    (folder / "README.md").symlink_to(tmp_path / "elsewhere")
    assert faults(folder)[1] == ["README.md: a link, not a file", "README.md: missing"]


def test_a_pipe_in_place_of_a_pack_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pack.zip")
    assert "is a pipe or device, not a file" in verdict(tmp_path / "pack.zip")


def test_a_list_that_names_a_file_twice_is_refused(folder: Path) -> None:
    (folder / SUMS).write_bytes(sums(FORGED) + sums(FILES))
    assert f"line {len(FILES) + 1}: README.md is listed twice" in verdict(folder)


def test_a_huge_list_is_not_read_whole(tmp_path: Path) -> None:
    info = zipfile.ZipInfo(SUMS)
    info.compress_type = zipfile.ZIP_DEFLATED
    with zipfile.ZipFile(tmp_path / "pack.zip", "w") as archive, archive.open(info, "w") as member:
        for _ in range(100):
            member.write(b"\n" * 2**20)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert "larger than 16 MiB, the most that is read" in verdict(tmp_path / "pack.zip")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 60 * 1024  # KiB


@pytest.mark.parametrize("stem", ["my pack.", "a:b", " ", "a\\b", "a\x1bb"])
def test_a_pack_of_any_name_verifies(tmp_path: Path, stem: str) -> None:
    assert _root(stem) == "pack"
    _write(SEALED, tmp_path / f"{stem}.zip")
    assert faults(tmp_path / f"{stem}.zip") == (len(FILES), [])


@pytest.mark.parametrize("size", [0, 1, 2**20, 3 * 2**20 + 5])
def test_files_of_any_size_are_compared_whole(tmp_path: Path, size: int) -> None:
    """Zeros, of which a block of a ZIP file unpacks to a thousand."""
    files = {"zeros": bytes(size)}
    _write({**files, SUMS: sums(files)}, tmp_path / "pack.zip")
    assert faults(tmp_path / "pack.zip") == (1, [])
