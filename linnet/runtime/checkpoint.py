"""Open a checkpoint: safetensors files, mapped into memory and checked before any use.

In goes a folder (`model.safetensors`, or `model.safetensors.index.json` with its shards) or one
file; out comes a `Checkpoint`, which lists the tensors and hands them out as read-only numpy
views of the mapped files. Whatever is wrong with the files is found by `open_checkpoint` and
raises `CheckpointError`. Nothing is downloaded, renamed or converted here, except that `widen`
turns half precision into f32, which loses nothing; which tensors a program needs is not known.
"""

from __future__ import annotations

import json
import mmap
import os
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import TYPE_CHECKING, Any

from linnet.errors import CheckpointError, ConfigError, DTypeError
from linnet.runtime.header import HeaderError, TruncatedError, parse_header, shown
from linnet.runtime.memory import Stored, address_of

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

SINGLE = "model.safetensors"
INDEX = "model.safetensors.index.json"

_MAX_JSON_BYTES = 32 << 20
_DOWNLOAD_AGAIN = "download the file again"

# How the bytes are shown. numpy has no bfloat16 and no 8-bit floats: those are bare integers.
_NUMPY_TYPES: dict[str, str] = {
    "bool": "?",
    "u8": "u1",
    "i8": "i1",
    "f8_e4m3": "u1",
    "f8_e5m2": "u1",
    "f8_e8m0": "u1",
    "u16": "<u2",
    "i16": "<i2",
    "f16": "<f2",
    "bf16": "<u2",
    "u32": "<u4",
    "i32": "<i4",
    "f32": "<f4",
    "u64": "<u8",
    "i64": "<i8",
    "f64": "<f8",
    "c64": "<c8",
}


@dataclass(frozen=True)
class TensorInfo:
    """What a checkpoint says about one tensor.

    dtype: Linnet's name (`f32`, `bf16`, …). shape: sizes, outermost first. file: where it lies.
    offset, nbytes: its bytes in that file; `offset` need not be a multiple of the element size.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    file: Path
    offset: int
    nbytes: int


class Checkpoint:
    """An open checkpoint. Made by `open_checkpoint`; may be used from several threads.

    path: what was opened. folder: the folder of its files. files: the weight files.
    """

    def __init__(
        self, path: Path, maps: Mapping[Path, mmap.mmap], tensors: Mapping[str, TensorInfo]
    ) -> None:
        self.path = path
        self.folder = path if path.is_dir() else path.parent
        self.files = tuple(maps)
        self._maps: dict[Path, mmap.mmap] | None = dict(maps)
        self._tensors = MappingProxyType(dict(tensors))

    @property
    def tensors(self) -> Mapping[str, TensorInfo]:
        """All tensors by name, in the order of the files and of the bytes in them."""
        return self._tensors

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all tensors, in the same order."""
        return tuple(self._tensors)

    def array(self, name: str) -> npt.NDArray[Any]:
        """Return tensor `name`, read-only, of its shape and little-endian element type.

        bf16 comes as its bits in uint16, 8-bit floats as uint8. It is a view of the mapped file;
        only a tensor at an address its type does not allow is copied. Raises CheckpointError for
        a name that is not there, or after `close`.
        """
        import numpy as np

        info = self._info(name)
        maps = self._open()
        dtype = np.dtype(_NUMPY_TYPES[info.dtype])
        if info.nbytes == 0:
            array = np.zeros(info.shape, dtype)
        else:
            count = info.nbytes // dtype.itemsize
            flat = np.frombuffer(maps[info.file], dtype, count, info.offset)
            array = flat.reshape(info.shape)
        if not array.flags.aligned:
            array = array.copy()
        array.flags.writeable = False
        return array

    def stored(self, name: str) -> Stored:
        """Where the bytes of tensor `name` are, in the mapped file; needs no numpy. Raises
        CheckpointError as `array`."""
        info = self._info(name)
        mapped = self._open()[info.file]
        return Stored(address_of(mapped) + info.offset, info.nbytes, mapped, is_file=True)

    def same(self, name: str, other: str) -> bool:
        """Whether two tensors have the same dtype, shape and bytes. Raises CheckpointError for a
        name that is not there."""
        first, second = self._info(name), self._info(other)
        if (first.dtype, first.shape) != (second.dtype, second.shape):
            return False
        import numpy as np

        step = 1 << 22  # bytes at a time, so that little memory is needed
        a, b = (self.array(n).reshape(-1).view(np.uint8) for n in (name, other))
        return all(
            np.array_equal(a[at : at + step], b[at : at + step]) for at in range(0, a.size, step)
        )

    def release(self, name: str) -> None:
        """Let the memory behind tensor `name` go; it is read again from the file if needed."""
        info = self._info(name)
        if self._maps is None or not hasattr(mmap, "MADV_DONTNEED"):
            return
        first = -(-info.offset // mmap.PAGESIZE) * mmap.PAGESIZE
        last = (info.offset + info.nbytes) // mmap.PAGESIZE * mmap.PAGESIZE
        if last > first:
            self._maps[info.file].madvise(mmap.MADV_DONTNEED, first, last - first)

    def widen(self, name: str, out: npt.NDArray[np.float32]) -> None:
        """Write tensor `name` (f32, f16 or bf16) to `out`, f32 of the same shape, exactly.

        Raises CheckpointError for an unknown name or another shape, DTypeError for a tensor of
        another dtype or an `out` that is not f32.
        """
        import numpy as np

        info = self._info(name)
        if out.dtype != np.float32:
            raise DTypeError(f"{shown(name)} can be widened to f32, not to {out.dtype}")
        if out.shape != info.shape:
            raise CheckpointError(
                f"{shown(name)} has shape {list(info.shape)}, not {list(out.shape)}"
            )
        source = self.array(name)
        if info.dtype == "bf16":
            # A bf16 is the upper half of the f32 of the same value.
            np.left_shift(source, 16, out=out.view(np.uint32), dtype=np.uint32)
        elif info.dtype in ("f32", "f16"):
            with np.errstate(invalid="ignore"):  # a signalling NaN is a value like any other here
                np.copyto(out, source)
        else:
            raise DTypeError(
                f"{shown(name)} in `{info.file}` holds {info.dtype}; f32, f16 or bf16 is expected"
            )

    def config(self) -> dict[str, Any] | None:
        """Return `config.json` of the checkpoint's folder, or None if there is none.

        Raises ConfigError if the file is there and is not a JSON object.
        """
        path = self.folder / "config.json"
        if not os.path.lexists(path):
            return None
        try:
            return _read_json(path)
        except CheckpointError as error:
            raise ConfigError(error.message, help=error.help) from error

    def close(self) -> None:
        """Unmap the files. Arrays handed out stay valid, and hold their file until they go."""
        maps, self._maps = self._maps, None
        for mapped in (maps or {}).values():
            try:
                mapped.close()
            except BufferError:
                continue  # arrays still look at it; it goes with the last of them

    def __enter__(self) -> Checkpoint:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _open(self) -> dict[Path, mmap.mmap]:
        if self._maps is None:
            raise CheckpointError(f"the checkpoint `{self.path}` is closed")
        return self._maps

    def _info(self, name: str) -> TensorInfo:
        try:
            return self._tensors[name]
        except KeyError:
            raise CheckpointError(
                f"the checkpoint `{self.path}` has no tensor {shown(name)}"
            ) from None


def open_checkpoint(path: Path | str) -> Checkpoint:
    """Open a checkpoint folder, a `.safetensors` file or an index file.

    Every header is read and checked, every shard must be there. Raises CheckpointError, which
    says what is wrong in which file and what to do.
    """
    path = Path(path)
    if not _is_folder(path):
        return _open_index(path) if path.name.endswith(".index.json") else _open_file(path, path)
    if os.path.lexists(path / SINGLE):
        return _open_file(path, path / SINGLE)
    if os.path.lexists(path / INDEX):
        return _open_index(path / INDEX, path)
    raise _nothing_to_open(path)


def _open_file(path: Path, file: Path) -> Checkpoint:
    mapped, tensors = _map_file(file)
    return Checkpoint(path, {file: mapped}, {tensor.name: tensor for tensor in tensors})


def _open_index(index: Path, path: Path | None = None) -> Checkpoint:
    shards = _read_index(index)
    _require_all_shards(index, shards)
    maps: dict[Path, mmap.mmap] = {}
    tensors: dict[str, TensorInfo] = {}
    for shard, names in shards.items():
        file = index.parent / shard
        maps[file], found = _map_file(file)
        wanted = set(names)
        tensors.update((tensor.name, tensor) for tensor in found if tensor.name in wanted)
        missing = [name for name in names if name not in tensors]
        if missing:
            raise CheckpointError(
                f"`{index}` promises {_count(missing, 'tensor')} that `{shard}` does not hold, "
                f"for example {shown(missing[0])}",
                help="the index and the shards are of different downloads; download them again",
            )
    return Checkpoint(path or index, maps, tensors)


def _read_index(index: Path) -> dict[str, list[str]]:
    """Return the shards an index names, each with the names of its tensors."""
    weight_map = _read_json(index).get("weight_map")
    if not isinstance(weight_map, dict) or not weight_map:
        raise CheckpointError(
            f"`{index}` has no `weight_map` that tells which shard holds which tensor",
            help=_DOWNLOAD_AGAIN,
        )
    shards: dict[str, list[str]] = {}
    for tensor, shard in weight_map.items():
        # A shard lies beside its index; anything else could reach out of the folder.
        if not isinstance(shard, str) or shard in ("", ".", "..") or set(shard) & set("/\\\0"):
            raise CheckpointError(
                f"`{index}` puts {shown(tensor)} into {shown(str(shard))}, which is not the name "
                "of a file beside it",
                help=_DOWNLOAD_AGAIN,
            )
        shards.setdefault(shard, []).append(tensor)
    return shards


def _require_all_shards(index: Path, shards: Mapping[str, Sequence[str]]) -> None:
    missing = [shard for shard in shards if not os.path.exists(index.parent / shard)]
    if not missing:
        return
    lines = [
        f"  {shown(shard)} holds {_count(shards[shard], 'tensor')}, "
        f"for example {shown(shards[shard][0])}"
        for shard in missing[:8]
    ]
    if len(missing) > 8:
        lines.append(f"  and {len(missing) - 8} more")
    raise CheckpointError(
        f"`{index.parent}` lacks {len(missing)} of the {_count(shards, 'shard')} of its "
        "checkpoint:\n" + "\n".join(lines),
        help="download the missing files into that folder",
    )


def _nothing_to_open(folder: Path) -> CheckpointError:
    try:
        names = sorted(entry.name for entry in folder.iterdir())
    except OSError as error:
        return _cannot_read(folder, error)
    holds = ", ".join(shown(name) for name in names[:8]) or "nothing"
    if len(names) > 8:
        holds += f" and {len(names) - 8} more"
    help = "give the folder of a checkpoint in Hugging Face layout, or a .safetensors file"
    if any(name.endswith(".safetensors") for name in names):
        help = f"if these are shards, download {INDEX} too; else give the path of the file itself"
    elif any(name.endswith((".bin", ".pt", ".pth")) for name in names):
        help = "pickle files are not read, since opening one runs its code; save as safetensors"
    return CheckpointError(
        f"`{folder}` holds neither {SINGLE} nor {INDEX}; it holds {holds}", help=help
    )


def _map_file(file: Path) -> tuple[mmap.mmap, list[TensorInfo]]:
    """Map one safetensors file and check its header."""
    mapped = _map(file)
    head = bytes(mapped[:1024])
    kind = _foreign_kind(head) or _text_kind(head)
    if kind is not None:
        mapped.close()
        raise CheckpointError(f"`{file}` is {kind[0]}, not a safetensors file", help=kind[1])
    try:
        with memoryview(mapped) as view:
            found = parse_header(view)
    except TruncatedError as error:
        in_tensor = f" (it ends within {shown(error.tensor)})" if error.tensor else ""
        raise CheckpointError(
            f"`{file}` is truncated: {error}{in_tensor}", help=_DOWNLOAD_AGAIN
        ) from error
    except HeaderError as error:
        raise CheckpointError(
            f"`{file}` is not a valid safetensors file: {error}", help=_DOWNLOAD_AGAIN
        ) from error
    return mapped, [TensorInfo(t.name, t.dtype, t.shape, file, t.offset, t.nbytes) for t in found]


def _map(file: Path) -> mmap.mmap:
    handle = _open_regular(file)
    try:
        size = os.fstat(handle).st_size
        if size == 0:
            raise CheckpointError(f"`{file}` is empty (0 bytes)", help=_DOWNLOAD_AGAIN)
        return mmap.mmap(handle, size, access=mmap.ACCESS_READ)
    except (OSError, ValueError, OverflowError) as error:
        raise _cannot_read(file, error) from error
    finally:
        os.close(handle)


def _open_regular(file: Path) -> int:
    """Open a file for reading. Refuses folders, pipes and devices without waiting for them."""
    try:
        handle = os.open(file, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except (OSError, ValueError) as error:
        raise _cannot_read(file, error) from error
    mode = os.fstat(handle).st_mode
    if stat.S_ISREG(mode):
        return handle
    os.close(handle)
    kind = "a folder" if stat.S_ISDIR(mode) else "a pipe or a device"
    raise CheckpointError(f"`{file}` is {kind}, not a file", help="give the path of a weight file")


def _read_json(path: Path) -> dict[str, Any]:
    """Return the JSON object in a file. Raises CheckpointError."""
    handle = _open_regular(path)
    with open(handle, "rb") as file:
        data = file.read(_MAX_JSON_BYTES + 1)
    if len(data) > _MAX_JSON_BYTES:
        raise CheckpointError(f"`{path}` has more than {_MAX_JSON_BYTES:,} bytes")
    kind = _foreign_kind(data[:1024])
    if kind is not None:
        raise CheckpointError(f"`{path}` is {kind[0]}, not JSON", help=kind[1])
    try:
        value = json.loads(data.decode("utf-8"), object_pairs_hook=_without_duplicates)
    except RecursionError:
        raise CheckpointError(f"`{path}` is nested too deeply", help=_DOWNLOAD_AGAIN) from None
    except UnicodeDecodeError as error:
        raise CheckpointError(
            f"`{path}` is not UTF-8 at byte {error.start}", help=_DOWNLOAD_AGAIN
        ) from error
    except ValueError as error:
        raise CheckpointError(
            f"`{path}` is not valid JSON: {error}", help=_DOWNLOAD_AGAIN
        ) from error
    if not isinstance(value, dict):
        raise CheckpointError(f"`{path}` does not hold a JSON object", help=_DOWNLOAD_AGAIN)
    return value


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"the key {shown(key)} comes twice")
        found[key] = value
    return found


def _foreign_kind(head: bytes) -> tuple[str, str] | None:
    """Recognise what people have in place of a weight file: (what it is, what to do)."""
    if head.startswith(b"version https://git-lfs"):
        sizes = [line[5:] for line in head.splitlines() if line.startswith(b"size ")]
        real = f" (the file it stands for has {int(sizes[0]):,} bytes)" if _digits(sizes) else ""
        return f"a Git LFS pointer{real}", "run `git lfs pull` in that folder, or download the file"
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    if text.startswith((b"<!doctype", b"<html", b"<?xml", b"<head")):
        return "an HTML page", "the download gave a web page, perhaps a login page; download again"
    if head.startswith((b"PK\x03\x04", b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05")) and (
        head[8:9] != b"{"
    ):
        return (
            "a pickle file of PyTorch",
            "it is not read, since opening one runs its code; save it as safetensors",
        )
    if head.startswith(b"GGUF"):
        return "a GGUF file", "give the original checkpoint in safetensors format"
    if head.startswith(b"\x89HDF\r\n"):
        return "an HDF5 file", "give the original checkpoint in safetensors format"
    return None


def _text_kind(head: bytes) -> tuple[str, str] | None:
    # Eight characters, read as the length of a header, give a number far beyond any limit.
    if len(head) < 8 or not all(32 <= byte < 127 or byte in b"\t\r\n" for byte in head[:8]):
        return None
    begin = head[:60].decode("utf-8", "replace")
    return f"a text file (it begins {shown(begin)})", "give the path of a .safetensors file"


def _digits(values: list[bytes]) -> bool:
    return bool(values) and values[0].isdigit() and len(values[0]) < 20


def _is_folder(path: Path) -> bool:
    try:
        return stat.S_ISDIR(os.stat(path).st_mode)
    except (OSError, ValueError) as error:
        raise _cannot_read(path, error) from error


def _cannot_read(path: Path, error: Exception) -> CheckpointError:
    match error:
        case FileNotFoundError() if os.path.islink(path):
            return CheckpointError(
                f"`{path}` is a link to `{os.readlink(path)}`, which does not exist",
                help="download the file again",
            )
        case FileNotFoundError():
            return CheckpointError(
                f"`{path}` does not exist", help="check the path of the checkpoint"
            )
        case PermissionError():
            return CheckpointError(
                f"`{path}` may not be read by this user", help="change its permissions or its owner"
            )
    reason = error.strerror if isinstance(error, OSError) else str(error)
    return CheckpointError(f"`{path}` cannot be read: {reason}", help="check the path and the disk")


def _count(things: Sequence[str] | Mapping[str, object], noun: str) -> str:
    return f"{len(things)} {noun}" if len(things) == 1 else f"{len(things)} {noun}s"
