"""Read the header of a safetensors file, trusting nothing in it.

In goes the whole file as a buffer (8 bytes of length, that many bytes of JSON, the data); out
come the tensors in the order of their bytes. The header is read by a scanner for exactly the JSON
that the format allows, and not by a JSON parser: so the time and memory that a hostile file can
cost are bounded, a repeated name is seen, and a number cannot overflow. Tensor values are not
looked at.

The rules: every tensor has a known dtype, a shape and a range of bytes of just the size they ask
for; the ranges follow each other from the first byte of the data to the last, without overlap and
without holes.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

MAX_HEADER_BYTES = 100_000_000
MAX_TENSORS = 50_000  # in one file; published shards hold a few thousand at most
_MAX_NAME = 1_000
_MAX_ALL_NAMES_BYTES = 16_000_000

# Name in the file -> (our name, bytes of one element).
DTYPES: dict[str, tuple[str, int]] = {
    "BOOL": ("bool", 1),
    "U8": ("u8", 1),
    "I8": ("i8", 1),
    "F8_E4M3": ("f8_e4m3", 1),
    "F8_E5M2": ("f8_e5m2", 1),
    "F8_E8M0": ("f8_e8m0", 1),
    "U16": ("u16", 2),
    "I16": ("i16", 2),
    "F16": ("f16", 2),
    "BF16": ("bf16", 2),
    "U32": ("u32", 4),
    "I32": ("i32", 4),
    "F32": ("f32", 4),
    "U64": ("u64", 8),
    "I64": ("i64", 8),
    "F64": ("f64", 8),
    "C64": ("c64", 8),
}


class HeaderError(Exception):
    """What is wrong with a header; the text completes "`file` is not a valid ...: "."""


class TruncatedError(Exception):
    """The file ends before its data does. Sizes in bytes, of the whole file."""

    def __init__(self, expected: int, actual: int, tensor: str) -> None:
        super().__init__(f"{expected:,} bytes expected, {actual:,} found")
        self.expected = expected
        self.actual = actual
        self.tensor = tensor


@dataclass(frozen=True)
class HeaderTensor:
    """One tensor: our dtype name, its shape, and where its bytes lie in the file."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    offset: int
    nbytes: int


def parse_header(buffer: memoryview) -> list[HeaderTensor]:
    """Return the tensors of a safetensors file, in the order of their bytes.

    buffer: the whole file, as bytes. Raises HeaderError or TruncatedError.
    """
    size = len(buffer)
    if size < 8:
        raise HeaderError(f"it has {size} bytes, and the length of the header alone takes 8")
    length = int.from_bytes(buffer[:8], "little")
    if length > MAX_HEADER_BYTES:
        raise HeaderError(f"its header claims {length:,} bytes; {MAX_HEADER_BYTES:,} is the limit")
    if length > size - 8:
        raise TruncatedError(8 + length, size, "")
    tensors = list(_Scanner(buffer[8 : 8 + length]).tensors(8 + length))
    tensors.sort(key=lambda tensor: (tensor.offset, tensor.nbytes))
    _check_ranges(tensors, 8 + length, size)
    return tensors


def _check_ranges(tensors: list[HeaderTensor], start: int, size: int) -> None:
    """Check that the ranges, sorted, fill the file from `start` to its end exactly once."""
    end, before = start, "the header"
    for tensor in tensors:
        if tensor.offset < end:
            raise HeaderError(
                f"{shown(tensor.name)} overlaps {before} by "
                f"{min(end - tensor.offset, tensor.nbytes):,} bytes"
            )
        if tensor.offset > end:
            raise HeaderError(
                f"{tensor.offset - end:,} bytes between {before} and "
                f"{shown(tensor.name)} belong to no tensor"
            )
        end, before = tensor.offset + tensor.nbytes, shown(tensor.name)
    if end > size:
        cut = next(t for t in tensors if t.offset + t.nbytes > size)
        raise TruncatedError(end, size, cut.name)
    if end < size:
        raise HeaderError(
            f"{size - end:,} bytes follow {before}, the last tensor; "
            f"{end:,} bytes expected, {size:,} found"
        )


def shown(name: str) -> str:
    """Return a tensor or file name fit for a message: short, in backquotes, on one line."""
    text = name if len(name) <= 100 else name[:97] + "..."
    if text.isprintable():
        return f"`{text}`"
    return "`" + "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in text) + "`"


# The pieces of the grammar. Possessive quantifiers (`*+`) never give back what they took, and
# every repetition that costs time has a limit, so no input makes these slow.
_WS = rb"[ \t\r\n]*+"
_RUN = rb'(?:[^"\\\x00-\x1f]++|\\["\\/bfnrtu])'
_NUM = rb"(?:0|[1-9][0-9]{0,18})"
_OPEN = re.compile(_WS + rb"\{" + _WS + rb"(\})?")
_KEY = re.compile(_WS + rb'"(' + _RUN + rb'{0,1000}+)"' + _WS + rb":")
_NEXT = re.compile(_WS + rb"([,}])")
_NAME = re.compile(_WS + rb'"(' + _RUN + rb'{0,1000}+)"')
_TEXT = re.compile(_WS + rb'"' + _RUN + rb'{0,1000000}+"')
_SIZES = re.compile(
    rb"%(ws)b\[%(ws)b((?:%(num)b%(ws)b,%(ws)b){0,63}%(num)b)?%(ws)b\]" % {b"ws": _WS, b"num": _NUM}
)
_SPACE = re.compile(_WS)


class _Scanner:
    """Walks once over the JSON text of a header."""

    def __init__(self, text: memoryview) -> None:
        self._text = text
        self._at = 0

    def tensors(self, data_start: int) -> Iterator[HeaderTensor]:
        self._require_utf8()
        if bytes(self._text[:1]) != b"{":
            raise HeaderError("its header does not begin with `{`")
        seen: set[str] = set()
        name_bytes = 0
        for name in self._members("the header"):
            if name in seen:
                raise HeaderError(f"its header names {shown(name)} twice")
            seen.add(name)
            name_bytes += len(name)
            if len(seen) > MAX_TENSORS + 1 or name_bytes > _MAX_ALL_NAMES_BYTES:
                raise HeaderError(f"its header names more than {MAX_TENSORS:,} tensors")
            if name == "__metadata__":
                self._skip_metadata()
            else:
                yield self._tensor(name, data_start)
        self._match(_SPACE, "", "")
        if self._at != len(self._text):
            raise HeaderError(f"text follows the header's closing brace, at byte {8 + self._at}")

    def _require_utf8(self) -> None:
        decoder = codecs.getincrementaldecoder("utf-8")()
        for start in range(0, len(self._text), 1 << 20):  # in pieces: a header may be large
            piece = self._text[start : start + (1 << 20)]
            try:
                decoder.decode(piece, final=start + len(piece) == len(self._text))
            except UnicodeDecodeError:
                raise HeaderError(f"its header is not UTF-8 after byte {8 + start}") from None

    def _tensor(self, name: str, data_start: int) -> HeaderTensor:
        owner = shown(name)
        dtype: str | None = None
        shape: tuple[int, ...] | None = None
        offsets: tuple[int, ...] | None = None
        for field in self._members(owner):
            if field == "dtype" and dtype is None:
                dtype = self._decoded(self._match(_NAME, owner, "a short text in double quotes"))
            elif field == "shape" and shape is None:
                shape = self._numbers(owner)
            elif field == "data_offsets" and offsets is None:
                offsets = self._numbers(owner)
            else:
                raise HeaderError(f"{owner} has the field {shown(field)}, unknown or a second time")
        if dtype is None or shape is None or offsets is None:
            raise HeaderError(f"{owner} lacks one of `dtype`, `shape` and `data_offsets`")
        return _checked(name, dtype, shape, offsets, data_start)

    def _members(self, owner: str) -> Iterator[str]:
        """Yield the keys of the object that begins here; the caller reads each value."""
        if self._match(_OPEN, owner, "`{`")[1]:
            return
        while True:
            yield self._decoded(self._match(_KEY, owner, "a name in double quotes and `:`"))
            if self._match(_NEXT, owner, "`,` or `}`")[1] == b"}":
                return

    def _skip_metadata(self) -> None:
        for count, _ in enumerate(self._members("`__metadata__`")):
            if count == MAX_TENSORS:
                raise HeaderError(f"its `__metadata__` holds more than {MAX_TENSORS:,} texts")
            self._match(_TEXT, "`__metadata__`", "a text in double quotes")

    def _numbers(self, owner: str) -> tuple[int, ...]:
        found = self._match(_SIZES, owner, "a list of at most 64 whole numbers from 0 to 10^19")
        return tuple(map(int, found[1].split(b","))) if found[1] else ()

    def _match(self, pattern: re.Pattern[bytes], owner: str, wanted: str) -> re.Match[bytes]:
        found = pattern.match(self._text, self._at)
        if found is None:
            raise self._unexpected(owner, wanted)
        self._at = found.end()
        return found

    def _decoded(self, found: re.Match[bytes]) -> str:
        text = found[1].decode("utf-8")
        if len(text) > _MAX_NAME:
            raise HeaderError(f"a name near byte {8 + found.start()} is longer than {_MAX_NAME:,}")
        if "\\" not in text:
            return text
        try:
            text = str(json.loads(f'"{text}"'))
            text.encode("utf-8")
        except ValueError:  # also of UTF-8: an escape may spell half of a surrogate pair
            raise HeaderError(f"there is a wrong escape near byte {8 + found.start()}") from None
        return text

    def _unexpected(self, owner: str, wanted: str) -> HeaderError:
        self._match(_SPACE, "", "")
        rest = bytes(self._text[self._at : self._at + 12]).decode("utf-8", "backslashreplace")
        here = f"found {shown(rest)}" if rest else "the header ends"
        return HeaderError(f"in {owner}, at byte {8 + self._at}, {wanted} is expected; {here}")


def _checked(
    name: str, dtype: str, shape: tuple[int, ...], offsets: tuple[int, ...], data_start: int
) -> HeaderTensor:
    if dtype not in DTYPES:
        raise HeaderError(f"{shown(name)} has the unknown dtype {shown(dtype)}")
    if len(offsets) != 2 or offsets[1] < offsets[0]:
        raise HeaderError(f"{shown(name)} has the byte range {list(offsets)}")
    begin, end = offsets
    ours, itemsize = DTYPES[dtype]
    wanted = itemsize
    for size in shape:
        wanted *= size
    if wanted != end - begin:
        raise HeaderError(
            f"{shown(name)} has shape {list(shape)} and dtype {dtype}, which take {wanted:,} "
            f"bytes, but its range [{begin}, {end}] holds {end - begin:,}"
        )
    return HeaderTensor(name, ours, shape, data_start + begin, end - begin)
