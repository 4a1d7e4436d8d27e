"""PNGs drawn once and kept by content: safe to kill, safe for several processes at a time."""

import os
import struct
import tempfile
import zlib
from collections.abc import Callable
from functools import lru_cache, partial
from pathlib import Path

from facevalue.errors import DataError
from facevalue.stimuli.portraits.compose import svg
from facevalue.stimuli.portraits.levels import Identity
from facevalue.stimuli.portraits.raster import key, png

_START, _END = b"\x89PNG\r\n\x1a\n", b"IEND"


def is_whole(data: bytes, size: int) -> bool:
    """Return whether ``data`` is a complete PNG, ``size`` pixels wide and high, whose checksums all hold.

    >>> is_whole(b"", 8)
    False
    """
    if not data.startswith(_START + b"\x00\x00\x00\x0dIHDR" + struct.pack(">II", size, size)):
        return False
    at = len(_START)
    while at + 12 <= len(data):
        (length,) = struct.unpack_from(">I", data, at)
        end = at + 12 + length
        if end > len(data) or zlib.crc32(data[at + 4 : end - 4]) != struct.unpack_from(">I", data, end - 4)[0]:
            return False
        if data[at + 4 : at + 8] == _END:
            return end == len(data)
        at = end
    return False


class PortraitCache:
    """Portraits drawn on demand, kept in a folder by content; without one the latest `keep` stay in memory.

    A file is written aside and renamed, so that no reader sees half of one. A file found damaged is drawn
    again: the checksums are looked at whenever a picture is read.
    """

    def __init__(self, folder: Path | str | None, size: int = 512, keep: int = 64) -> None:
        if size < 1:
            raise DataError(f"A picture's size must be at least 1 pixel, not {size}.")
        self.folder = None if folder is None else Path(folder)
        self.size = size
        self._remembered = lru_cache(maxsize=keep)(self._draw_portrait)
        if self.folder is not None:
            try:
                self.folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise self._refusal(self.folder, error) from error

    @staticmethod
    def _refusal(path: Path, error: OSError) -> DataError:
        reason = error.strerror or str(error)
        return DataError(f"Portraits cannot be kept in {path}: {reason}. Choose another folder or make room.")

    def get(self, identity: Identity, change: tuple[str, str] | None = None, framing: str | None = None) -> bytes:
        """Return a portrait as PNG, drawing it if it is not there whole."""
        if self.folder is None:
            return self._remembered(identity, change, framing)
        return self.picture(
            key(identity, change, framing, self.size), partial(self._draw_portrait, identity, change, framing)
        )

    def picture(self, name: str, draw: Callable[[], bytes]) -> bytes:
        """Return the PNG of any picture that is named by all it depends on, drawing it if it is not there whole."""
        if self.folder is None:
            return draw()
        path = self.folder / name[:2] / f"{name}.png"
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            data = b""
        except OSError as error:
            raise self._refusal(path, error) from error
        if not is_whole(data, self.size):
            data = draw()
            self._write(path, data)
        return data

    def _draw_portrait(self, identity: Identity, change: tuple[str, str] | None, framing: str | None) -> bytes:
        return png(svg(identity, change, framing), self.size)

    def _write(self, path: Path, data: bytes) -> None:
        aside: Path | None = None
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".part")
            aside = Path(name)
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            aside.replace(path)
        except OSError as error:
            if aside is not None:
                aside.unlink(missing_ok=True)
            raise self._refusal(path.parent, error) from error
