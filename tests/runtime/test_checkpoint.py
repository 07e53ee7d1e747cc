"""Checkpoints: what is right is read exactly, what is wrong is refused by name."""

from __future__ import annotations

import json
import os
import shutil
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy

from linnet.errors import CheckpointError, ConfigError, DTypeError
from linnet.runtime import checkpoint as checkpoint_module
from linnet.runtime.checkpoint import open_checkpoint

WRITER = Path(__file__).parents[1] / "tools" / "make_gpt2_checkpoint.py"
ODD_NAME = "my models ü 模型"


def write_raw(path: Path, header: object, data: bytes = b"", length: int | None = None) -> Path:
    """Write a safetensors file whose parts may contradict each other."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text) if length is None else length) + text + data)
    return path


def f32(begin: int, end: int, shape: list[int] | None = None) -> dict[str, Any]:
    sizes = [(end - begin) // 4] if shape is None else shape
    return {"dtype": "F32", "shape": sizes, "data_offsets": [begin, end]}


def make(folder: Path, *flags: str) -> Path:
    command = [sys.executable, WRITER, "--out", folder, "--size", "tiny", *flags]
    subprocess.run(command, check=True)
    return folder


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The same random model as f32, f16, bf16, and in three shards."""
    base = tmp_path_factory.mktemp(ODD_NAME)
    made = {dtype: make(base / dtype, "--dtype", dtype) for dtype in ("f32", "f16", "bf16")}
    made["sharded"] = make(base / "sharded", "--sharded", "3")
    return made


def refusal(path: Path) -> str:
    """The message of a refusal, which must come fast and name the file or folder."""
    start = time.perf_counter()
    with pytest.raises(CheckpointError) as caught:
        open_checkpoint(path)
    assert time.perf_counter() - start < 1.0
    assert str(path) in caught.value.message
    assert caught.value.help
    return caught.value.message


# -- what is right ---------------------------------------------------------------------------


def test_a_folder_and_its_file_hold_what_another_reader_finds(folders: dict[str, Path]) -> None:
    folder = folders["f32"]
    reference = safetensors.numpy.load_file(folder / "model.safetensors")
    for path in (folder, folder / "model.safetensors"):
        with open_checkpoint(path) as opened:
            assert set(opened.names) == set(reference)
            for name, expected in reference.items():
                found = opened.array(name)
                assert found.dtype == expected.dtype
                assert not found.flags.writeable
                assert not found.flags.owndata
                np.testing.assert_array_equal(found, expected)
                info = opened.tensors[name]
                assert (info.dtype, info.shape) == ("f32", expected.shape)
                assert info.nbytes == expected.nbytes
                assert info.file == folder / "model.safetensors"
            config = opened.config()
            assert config is not None
            assert config["n_layer"] == 2


def test_shards_together_equal_the_single_file(folders: dict[str, Path]) -> None:
    whole, parts = open_checkpoint(folders["f32"]), open_checkpoint(folders["sharded"])
    assert len(parts.files) == 3
    assert set(whole.names) == set(parts.names)
    for name in whole.names:
        assert whole.array(name).tobytes() == parts.array(name).tobytes()
    by_index = open_checkpoint(folders["sharded"] / "model.safetensors.index.json")
    assert by_index.names == parts.names
    assert by_index.config() == parts.config()


def test_every_half_precision_value_widens_exactly(tmp_path: Path) -> None:
    bits = np.arange(1 << 16, dtype=np.uint16)
    for dtype in ("F16", "BF16"):
        entry = {"dtype": dtype, "shape": [256, 256], "data_offsets": [0, bits.nbytes]}
        path = write_raw(tmp_path / "w.safetensors", {"w": entry}, bits.tobytes())
        wide = np.full((256, 256), 7, np.float32)
        opened = open_checkpoint(path)
        opened.widen("w", wide)
        half = bits if dtype == "F16" else bits.astype(np.uint32) << 16
        with np.errstate(invalid="ignore"):  # signalling NaNs
            got = wide.reshape(-1).astype(np.float64)
        for sample in (*range(0, 1 << 16, 41), 1, 2, 0x7C00, 0xFC00, 0x8000, 0x7F80, 0xFF80):
            expected = value_of(int(half[sample]), *((10, 5) if dtype == "F16" else (23, 8)))
            same = got[sample] == expected or (np.isnan(got[sample]) and np.isnan(expected))
            assert same, hex(sample)
            assert np.isnan(expected) or np.signbit(got[sample]) == np.signbit(expected)
        column = np.zeros((256, 512), np.float32)[:, ::2]
        opened.widen("w", column)
        np.testing.assert_array_equal(column, wide)


def value_of(bits: int, fraction_bits: int, exponent_bits: int) -> float:
    """The value of an IEEE pattern, from its fields."""
    fraction = bits & ((1 << fraction_bits) - 1)
    exponent = (bits >> fraction_bits) & ((1 << exponent_bits) - 1)
    sign = -1.0 if bits >> (fraction_bits + exponent_bits) else 1.0
    bias = (1 << (exponent_bits - 1)) - 1
    if exponent == (1 << exponent_bits) - 1:
        return float("nan") if fraction else sign * float("inf")
    if exponent == 0:
        return sign * fraction * 2.0 ** (1 - bias - fraction_bits)
    return sign * (1 + fraction / (1 << fraction_bits)) * 2.0 ** (exponent - bias)


def test_half_precision_files_list_their_own_type(folders: dict[str, Path]) -> None:
    whole = open_checkpoint(folders["f32"])
    for dtype, bound in (("f16", 2.0**-11), ("bf16", 2.0**-8)):
        half = open_checkpoint(folders[dtype])
        assert {info.dtype for info in half.tensors.values()} == {dtype}
        for name in whole.names:
            exact = whole.array(name)
            wide = np.empty(exact.shape, np.float32)
            half.widen(name, wide)
            np.testing.assert_allclose(wide, exact, rtol=bound, atol=1e-7)


def test_tensors_at_odd_addresses_are_read_too(tmp_path: Path) -> None:
    values = np.arange(6, dtype=np.float32)
    entries = {
        "byte": {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]},
        "odd": f32(1, 25, [2, 3]),
        "half": {"dtype": "F16", "shape": [1], "data_offsets": [25, 27]},
        "none": {"dtype": "I64", "shape": [0, 4], "data_offsets": [27, 27]},
        "one": {"dtype": "BOOL", "shape": [], "data_offsets": [27, 28]},
    }
    data = b"\x07" + values.tobytes() + np.float16(1.5).tobytes() + b"\x01"
    opened = open_checkpoint(write_raw(tmp_path / "odd.safetensors", entries, data))
    odd = opened.array("odd")
    assert odd.flags.aligned
    assert not odd.flags.writeable
    np.testing.assert_array_equal(odd, values.reshape(2, 3))
    assert opened.array("half")[0] == 1.5
    assert opened.array("none").shape == (0, 4)
    assert opened.array("one").shape == ()
    assert bool(opened.array("one"))
    wide = np.empty((2, 3), np.float32)
    opened.widen("odd", wide)
    np.testing.assert_array_equal(wide, odd)


def test_legal_spellings_of_a_header(tmp_path: Path) -> None:
    text = (
        '{ "a\\u0062\\"ü" : {"shape" :[ 1 , 1 ], "data_offsets":[0,4],\n"dtype":"F32"} ,'
        ' "__metadata__":{"format":"pt","note":"{\\"a\\": [1]} 模"}}      '
    )
    path = write_raw(tmp_path / "a.safetensors", text.encode(), struct.pack("<f", 2.5))
    opened = open_checkpoint(path)
    assert opened.names == ('ab"ü',)
    assert opened.array('ab"ü').tolist() == [[2.5]]
    assert open_checkpoint(write_raw(tmp_path / "none.safetensors", {})).names == ()


def test_arrays_outlive_their_checkpoint(folders: dict[str, Path]) -> None:
    opened = open_checkpoint(folders["f32"])
    array = opened.array("wte.weight")
    first = array[0, 0]
    opened.close()
    opened.close()
    assert array[0, 0] == first
    with pytest.raises(CheckpointError, match="is closed"):
        opened.array("wte.weight")


def test_wrong_requests_are_refused_by_name(folders: dict[str, Path], tmp_path: Path) -> None:
    opened = open_checkpoint(folders["f32"])
    with pytest.raises(CheckpointError, match=r"no tensor `h\.9`"):
        opened.array("h.9")
    with pytest.raises(CheckpointError, match=r"`ln_f.bias` has shape \[64\], not \[65\]"):
        opened.widen("ln_f.bias", np.empty(65, np.float32))
    with pytest.raises(DTypeError, match="float64"):
        opened.widen("ln_f.bias", np.empty(64))  # type: ignore[arg-type]  # the point of the test
    entry = {"dtype": "I64", "shape": [1], "data_offsets": [0, 8]}
    integers = open_checkpoint(write_raw(tmp_path / "i.safetensors", {"n": entry}, bytes(8)))
    with pytest.raises(DTypeError, match=r"`n` .* holds i64"):
        integers.widen("n", np.empty(1, np.float32))


# -- not complete, or not a checkpoint at all -------------------------------------------------


@pytest.mark.parametrize(
    ("content", "phrase"),
    [
        (b"", "is empty (0 bytes)"),
        (b"1234567", "has 7 bytes"),
        (
            b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 548105171\n",
            "is a Git LFS pointer (the file it stands for has 548,105,171 bytes)",
        ),
        (b"\n<!DOCTYPE html><html>Sign in</html>", "is an HTML page"),
        (b"<html lang=en>", "is an HTML page"),
        (b"PK\x03\x04" + bytes(60), "is a pickle file"),
        (b"\x80\x02}q\x00X" + bytes(60), "is a pickle file"),
        (b"GGUF\x03" + bytes(60), "is a GGUF file"),
        (b"Entry not found", "is a text file (it begins `Entry not found`)"),
        (b'{"model_type": "gpt2"}', "is a text file"),
    ],
)
def test_other_files_are_recognised(tmp_path: Path, content: bytes, phrase: str) -> None:
    path = tmp_path / "model.safetensors"
    path.write_bytes(content)
    assert phrase in refusal(path)
    with pytest.raises(CheckpointError):
        open_checkpoint(tmp_path)


@pytest.mark.parametrize("keep", [-1, 0.5, 2000, 100, 8])
def test_a_cut_file_tells_both_sizes(folders: dict[str, Path], tmp_path: Path, keep: float) -> None:
    whole = (folders["f32"] / "model.safetensors").read_bytes()
    cut = whole[: keep if isinstance(keep, int) else int(len(whole) * keep)]
    path = tmp_path / "model.safetensors"
    path.write_bytes(cut)
    message = refusal(path)
    assert "is truncated" in message
    assert f"{len(cut):,} found" in message
    if len(cut) > 8 + int.from_bytes(whole[:8], "little"):
        assert f"{len(whole):,} bytes expected" in message


def test_what_is_no_file_at_all(tmp_path: Path) -> None:
    (tmp_path / "dir" / "model.safetensors").mkdir(parents=True)
    with pytest.raises(CheckpointError, match=r"model\.safetensors` is a folder"):
        open_checkpoint(tmp_path / "dir")
    os.mkfifo(tmp_path / "pipe")
    assert "is a pipe or a device" in refusal(tmp_path / "pipe")
    assert "does not exist" in refusal(tmp_path / "absent")
    (tmp_path / "link").symlink_to(tmp_path / "blob")
    assert f"a link to `{tmp_path / 'blob'}`" in refusal(tmp_path / "link")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    assert "cannot be read" in refusal(tmp_path / "loop")
    with pytest.raises(CheckpointError, match="cannot be read"):
        open_checkpoint("a\0b")


def test_no_permission_is_said_plainly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_raw(tmp_path / "a.safetensors", {})

    def refuse(*_: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(checkpoint_module.os, "open", refuse)
    assert "may not be read by this user" in refusal(path)


# -- hostile headers ---------------------------------------------------------------------------

HEADERS: list[tuple[str, object, int, str]] = [
    ("shared bytes", {"a": f32(0, 16), "b": f32(0, 16)}, 16, "`b` overlaps `a` by 16 bytes"),
    ("overlap", {"a": f32(0, 16), "b": f32(12, 24)}, 24, "`b` overlaps `a` by 4 bytes"),
    ("hole", {"a": f32(0, 16), "b": f32(20, 24)}, 24, "4 bytes between `a` and `b`"),
    ("hole first", {"a": f32(4, 16)}, 16, "4 bytes between the header and `a`"),
    ("trailing", {"a": f32(0, 16)}, 20, "4 bytes follow `a`"),
    ("beyond the end", {"a": f32(0, 16), "b": f32(16, 2**40)}, 20, "ends within `b`"),
    ("huge shape", {"a": f32(0, 16, [2**62, 8])}, 16, "`a` has shape"),
    ("overflow to zero", {"a": f32(0, 0, [2**62, 4])}, 0, "`a` has shape"),
    ("wrong size", {"a": f32(0, 16, [5])}, 16, "take 20 bytes, but its range [0, 16] holds 16"),
    ("zero size with bytes", {"a": f32(0, 16, [0, 4])}, 16, "take 0 bytes"),
    ("negative size", {"a": f32(0, 16, [-4])}, 16, "in `a`"),
    ("negative offset", {"a": f32(-16, 0)}, 16, "in `a`"),
    ("fraction", {"a": f32(0, 16, [4.0])}, 16, "in `a`"),  # type: ignore[list-item]  # hostile
    ("text size", {"a": {**f32(0, 16), "shape": ["4"]}}, 16, "in `a`"),
    ("true size", {"a": {**f32(0, 4), "shape": [True]}}, 4, "in `a`"),
    ("backwards", {"a": f32(16, 0, [4])}, 16, "`a` has the byte range [16, 0]"),
    ("three offsets", {"a": {**f32(0, 16), "data_offsets": [0, 8, 16]}}, 16, "`a` has the byte"),
    ("dtype", {"a": {**f32(0, 16), "dtype": "F33"}}, 16, "`a` has the unknown dtype `F33`"),
    ("dtype type", {"a": {**f32(0, 16), "dtype": 32}}, 16, "in `a`"),
    ("no dtype", {"a": {"shape": [], "data_offsets": [0, 4]}}, 4, "`a` lacks"),
    ("other field", {"a": {**f32(0, 16), "stride": [1]}}, 16, "the field `stride`"),
    ("rank", {"a": f32(0, 4, [1] * 65)}, 4, "at most 64"),
    ("digits", b'{"a":{"shape":[' + b"1" * 100_000, 0, "at most 64 whole numbers"),
    ("sizes", b'{"a":{"shape":[' + b"1," * 100_000, 0, "at most 64 whole numbers"),
    ("tensor is a list", {"a": [1]}, 0, "in `a`"),
    ("metadata", {"__metadata__": {"a": {"b": "c"}}}, 0, "in `__metadata__`"),
    ("twice", b'{"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},'
              b'"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}', 0, "names `a` twice"),
    ("field twice", b'{"a":{"dtype":"U8","dtype":"U8"}}', 0, "`dtype`, unknown or a second time"),
    ("twice by escape", b'{"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},'
                        b'"\\u0061":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}', 0, "twice"),
    ("nesting", b"[" * 100_000, 0, "does not begin with `{`"),
    ("nested tensor", b'{"a":' + b"[" * 100_000, 0, "in `a`"),
    ("nested objects", b'{"a":' * 100_000, 0, "`a`"),
    ("not UTF-8", b'{"\xff":{}}', 0, "not UTF-8"),
    ("metadata not UTF-8", b'{"__metadata__":{"a":"\xc3("}}', 0, "not UTF-8"),
    ("cut UTF-8", b'{"\xc3', 0, "not UTF-8"),
    ("half a pair", b'{"\\ud800":{}}', 0, "wrong escape"),
    ("bad escape", b'{"\\u12g4":{}}', 0, "wrong escape"),
    ("unclosed", b'{"a', 0, "in the header, at byte 9"),
    ("comma", b'{"__metadata__":{},}', 0, "in the header, at byte 27"),
    ("after the end", b"{}{}", 0, "text follows"),
    ("list", b"[]", 0, "does not begin with `{`"),
    ("BOM", b"\xef\xbb\xbf{}", 0, "does not begin with `{`"),
    ("long name", {"n" * 100_000: f32(0, 4)}, 4, "is longer than 1,000"),
    ("control characters", {"a\n\x1b[31m": f32(0, 16)}, 20, "`a\\u000a\\u001b[31m`"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("header", "size", "phrase"), [case[1:] for case in HEADERS], ids=[case[0] for case in HEADERS]
)
def test_a_hostile_header_is_refused(
    tmp_path: Path, header: object, size: int, phrase: str
) -> None:
    message = refusal(write_raw(tmp_path / "a.safetensors", header, bytes(size)))
    assert phrase in message
    assert len(message) < 1000


@pytest.mark.parametrize(
    ("length", "phrase"),
    [
        (2**63 - 1, "100,000,000 is the limit"),
        (2**64 - 1, "100,000,000 is the limit"),
        (100_000_001, "100,000,000 is the limit"),
        (64, "72 bytes expected, 10 found"),
        (0, "does not begin with `{`"),
        (1, "the header ends"),
    ],
)
def test_a_wrong_header_length_is_refused(tmp_path: Path, length: int, phrase: str) -> None:
    assert phrase in refusal(write_raw(tmp_path / "a.safetensors", b"{}", length=length))


HUGE: dict[str, Callable[[], bytes]] = {
    "tensors": lambda: (
        b"{" + b",".join(
            b'"%d":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}' % i for i in range(300_000)
        ) + b"}"
    ),
    "metadata": lambda: b'{"__metadata__":{' + b'"":"",' * 15_000_000,
    "escapes": lambda: b'{"__metadata__":{"":"' + b"\\n" * 45_000_000,
    "backslashes": lambda: b'{"' + b"\\" * 90_000_000,
}  # fmt: skip


@pytest.mark.parametrize("kind", HUGE)
def test_a_huge_hostile_header_costs_little(tmp_path: Path, kind: str) -> None:
    path = write_raw(tmp_path / "a.safetensors", HUGE[kind]())
    program = (
        "import sys, time\n"
        "from linnet.errors import CheckpointError\n"
        "from linnet.runtime.checkpoint import open_checkpoint\n"
        "start = time.process_time()\n"
        "try:\n    open_checkpoint(sys.argv[1])\n"
        "except CheckpointError as error:\n    assert len(str(error)) < 1000\n"
        "else:\n    sys.exit('accepted')\n"
        "print(time.process_time() - start)\n"
        "if sys.platform == 'linux':\n"
        "    lines = open('/proc/self/status').read().splitlines()\n"
        "    print(next(line.split()[1] for line in lines if line.startswith('VmHWM')))\n"
    )
    package = str(Path(checkpoint_module.__file__).parents[2])
    done = subprocess.run(
        [sys.executable, "-c", program, path],
        env={**os.environ, "PYTHONPATH": package},
        check=True,
        capture_output=True,
        text=True,
    )
    path.unlink()  # pytest would keep it for a while
    seconds, *kilobytes = done.stdout.split()
    assert float(seconds) < 1.0
    assert all(int(peak) < 200_000 for peak in kilobytes)


# -- shards --------------------------------------------------------------------------------------


def test_a_missing_shard_is_named_before_anything_is_used(
    folders: dict[str, Path], tmp_path: Path
) -> None:
    folder = shutil.copytree(folders["sharded"], tmp_path / "copy")
    shard = folder / "model-00002-of-00003.safetensors"
    index = json.loads((folder / "model.safetensors.index.json").read_text())
    names = [name for name, file in index["weight_map"].items() if file == shard.name]
    shard.unlink()
    message = refusal(folder)
    assert f"`{shard.name}` holds {len(names)} tensors" in message
    assert any(f"`{name}`" in message for name in names)
    # the same for a link whose target was never downloaded
    shard.symlink_to(tmp_path / "blobs" / "0123")
    assert f"`{shard.name}` holds" in refusal(folder)


def test_a_missing_index_names_what_is_there(folders: dict[str, Path], tmp_path: Path) -> None:
    folder = shutil.copytree(folders["sharded"], tmp_path / "copy")
    (folder / "model.safetensors.index.json").unlink()
    with pytest.raises(CheckpointError) as caught:
        open_checkpoint(folder)
    assert "neither model.safetensors nor model.safetensors.index.json" in caught.value.message
    assert "`model-00002-of-00003.safetensors`" in caught.value.message
    assert "model.safetensors.index.json" in (caught.value.help or "")


def test_a_folder_of_pickles_is_explained(tmp_path: Path) -> None:
    assert "it holds nothing" in refusal(tmp_path)
    (tmp_path / "pytorch_model.bin").write_bytes(b"PK\x03\x04")
    with pytest.raises(CheckpointError, match=r"`pytorch_model\.bin`") as caught:
        open_checkpoint(tmp_path)
    assert "pickle" in (caught.value.help or "")


def test_a_shard_that_lacks_a_promised_tensor(folders: dict[str, Path], tmp_path: Path) -> None:
    folder = shutil.copytree(folders["sharded"], tmp_path / "copy")
    path = folder / "model.safetensors.index.json"
    index = json.loads(path.read_text())
    index["weight_map"]["h.7.new"] = "model-00001-of-00003.safetensors"
    path.write_text(json.dumps(index))
    message = refusal(folder / path.name)
    assert "promises 1 tensor that `model-00001-of-00003.safetensors` does not hold" in message
    assert "`h.7.new`" in message


@pytest.mark.parametrize(
    ("text", "phrase"),
    [
        (b"", "not valid JSON"),
        (b"{", "not valid JSON"),
        (b"[]", "does not hold a JSON object"),
        (b"{}", "no `weight_map`"),
        (b'{"weight_map": []}', "no `weight_map`"),
        (b'{"weight_map": {"a": 3}}', "not the name of a file beside it"),
        (b'{"weight_map": {"a": "../a.safetensors"}}', "not the name of a file beside it"),
        (b'{"weight_map": {"a": "/etc/passwd"}}', "not the name of a file beside it"),
        (b'{"weight_map": {"a": ".."}}', "not the name of a file beside it"),
        (b'{"weight_map": {"a": "x", "a": "y"}}', "the key `a` comes twice"),
        (b'{"weight_map": ' + b"[" * 100_000, "nested too deeply"),
        (b'{"\xff": 1}', "not UTF-8"),
        (b"version https://git-lfs.github.com/spec/v1\nsize 12\n", "is a Git LFS pointer"),
    ],
)
def test_a_bad_index_is_refused(tmp_path: Path, text: bytes, phrase: str) -> None:
    path = tmp_path / "model.safetensors.index.json"
    path.write_bytes(text)
    assert phrase in refusal(path)


# -- config --------------------------------------------------------------------------------------


def test_config_is_optional_and_checked(tmp_path: Path) -> None:
    opened = open_checkpoint(write_raw(tmp_path / "model.safetensors", {}))
    assert opened.config() is None
    path = tmp_path / "config.json"
    for text in ("", "[1]", '{"a": 1, "a": 2}', "<html></html>"):
        path.write_text(text)
        with pytest.raises(ConfigError, match=r"config\.json"):
            opened.config()
    path.write_text('{"n_layer": 12, "name": "ü"}', encoding="utf-8")
    assert opened.config() == {"n_layer": 12, "name": "ü"}
