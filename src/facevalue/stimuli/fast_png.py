"""PNG files written several times as fast as by an image library.

Pictures that must stay as they are to the pixel are written without loss. What packs well (drawings, text, white) is
packed; the grain of a photograph, where deflate takes most of the time to save a third, is stored as it is.
"""

import struct
import zlib

import numpy as np
import numpy.typing as npt

from facevalue.stimuli.pairs import Pixels

_SUB = 1  # PNG's filter: each byte less that of the pixel to its left
_COLORS = {3: 2, 4: 6}  # PNG's numbers of RGB and RGBA, by channels
_STRIP = 64  # rows that are packed or stored together
_EVERY = 8  # row of a strip that is packed to see whether it is worth it
_WORTH = 0.4  # of the size, at most


def encode_png(pixels: Pixels) -> bytes:
    r"""Write RGB or RGBA of shape (height, width, 3 or 4).

    >>> encode_png(np.zeros((2, 3, 3), np.uint8))[:8]
    b'\x89PNG\r\n\x1a\n'
    """
    height, width, channels = pixels.shape
    flat = np.ascontiguousarray(pixels).reshape(height, width * channels)
    rows = np.empty((height, 1 + width * channels), np.uint8)
    rows[:, 0] = _SUB
    rows[:, 1 : 1 + channels] = flat[:, :channels]
    np.subtract(flat[:, channels:], flat[:, :-channels], out=rows[:, 1 + channels :])
    strips = [rows[start : start + _STRIP] for start in range(0, height, _STRIP)]
    packed = b"".join(_deflated(strip, _level(strip), last=strip is strips[-1]) for strip in strips)
    data = b"\x78\x01" + packed + struct.pack(">I", zlib.adler32(rows.data))
    header = struct.pack(">IIBBBBB", width, height, 8, _COLORS[channels], 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", header) + _chunk(b"IDAT", data) + _chunk(b"IEND", b"")


def _level(strip: npt.NDArray[np.uint8]) -> int:
    some = np.ascontiguousarray(strip[::_EVERY])
    return 1 if len(_deflated(some, 1, last=True)) < _WORTH * some.nbytes else 0


def _deflated(rows: npt.NDArray[np.uint8], level: int, *, last: bool) -> bytes:
    """Part of a deflate stream; only runs of a byte and its frequency are packed, the fastest there is."""
    packer = zlib.compressobj(level, zlib.DEFLATED, -zlib.MAX_WBITS, zlib.DEF_MEM_LEVEL, zlib.Z_RLE)
    return packer.compress(rows.data) + packer.flush(zlib.Z_FINISH if last else zlib.Z_SYNC_FLUSH)


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(data, zlib.crc32(name)))
