"""Build one program an instruction set out of kernels, and run cases through it.

A `Kernel` is a template with its generics and layouts fixed; a `Case` is a kernel with actual
numbers and arrays. `Program` holds many kernels; `run` sends all cases through it in one
process (under an emulator where the instruction set is foreign) and returns the arrays as the
kernel left them. What the right values are is up to the tests.
"""

from __future__ import annotations

import ctypes
import functools
import itertools
import platform
import shutil
import struct
import subprocess
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from linnet.emit.env import prelude
from linnet.emit.kernels import render_kernel
from linnet.resources import folder
from linnet.targets.detect import host_machine, kernel_cpu_flags, target_rule
from linnet.targets.target import load_target
from linnet.toolchain.cc import BASE_FLAGS

ISAS = ("scalar", "avx2", "avx512", "neon")
BASE = tuple(flag for flag in BASE_FLAGS if flag != "-fvisibility=hidden")
CROSS, EMULATOR = "aarch64-linux-gnu-gcc", "qemu-aarch64"


def compiler(isa: str) -> list[str]:
    """The command that compiles for `isa` here."""
    if isa == "neon" and host_machine() != "aarch64":
        return [CROSS, "-static"]
    return [shutil.which("gcc") or shutil.which("clang") or "cc"]


def runner(isa: str) -> list[str]:
    return [EMULATOR] if isa == "neon" and host_machine() != "aarch64" else []


def why_not(isa: str) -> str | None:
    """Why `isa` cannot run here, or None when it can."""
    rule = target_rule(isa)
    if isa == "neon" and host_machine() != "aarch64":
        missing = [tool for tool in (CROSS, EMULATOR) if shutil.which(tool) is None]
        return f"{' and '.join(missing)} not installed" if missing else None
    if rule.machine not in (None, host_machine()):
        return f"it needs {rule.machine}, this is {platform.machine()}"
    flags = kernel_cpu_flags()
    if flags is not None and not rule.cpu_flags <= flags:
        return f"this CPU lacks {' '.join(sorted(rule.cpu_flags - flags))}"
    return None


@dataclass(frozen=True)
class Operand:
    """An operand of an op: its element type in C, its rank, and how it is passed."""

    name: str
    ctype: str
    rank: int
    form: str = "dense"
    half: str = "bf16"  # what a uint16_t holds

    @property
    def dtype(self) -> str:
        """The element type as templates see it."""
        return {"float": "f32", "uint16_t": self.half}.get(self.ctype, self.ctype)

    def parameters(self) -> list[tuple[str, str]]:
        """(C type, name) of each parameter that stands for it."""
        match self.form:
            case "absent":
                return []
            case "scalar":
                return [(self.ctype, self.name)]
            case "rows":
                strides = 1
            case "strided":
                strides = self.rank - 1
            case "lengths":
                pointer = ("const int64_t *", "lengths")
                return [pointer, ("int64_t", "lengths_s0"), ("int64_t", "lengths_s1")]
            case "in place":
                return [(f"{self.ctype} *", self.name)]
            case _:
                strides = 0
        pointer = (f"const {self.ctype} *", self.name)
        return [pointer, *(("int64_t", f"{self.name}_s{i}") for i in range(strides))]


@dataclass(frozen=True)
class Kernel:
    """One C function made from a template of `codegen/kernels/`."""

    path: str  # family/name
    generics: tuple[str, ...]
    operands: tuple[Operand, ...]
    consts: tuple[tuple[str, int], ...] = ()
    suffix: str = ""

    @property
    def symbol(self) -> str:
        forms = "".join(f"_{o.form}" for o in self.operands if o.name in ("mask", "table"))
        absent = "".join(f"_no_{o.name}" for o in self.operands if o.form == "absent")
        fixed = "".join(f"_{n}{v}" for n, v in self.consts)
        return self.path.split("/")[1] + fixed + forms + absent + self.suffix

    @functools.cached_property
    def card(self) -> dict[str, object]:
        path = folder("codegen") / "kernels" / f"{self.path}.toml"
        return tomllib.loads(path.read_text(encoding="utf-8"))

    @property
    def in_place(self) -> bool:
        return str(self.card["result"]).startswith("in place")

    def parameters(self) -> list[tuple[str, str]]:
        fixed = dict(self.consts)
        params = [("int64_t", g) for g in self.generics if g not in fixed]
        for operand in self.operands:
            params += operand.parameters()
        if not self.in_place:
            params.append(("float *", "out"))
        if "scratch" in self.card:
            params.append(("float *", "scratch"))
        return params

    def source(self, isa: str) -> str:
        text = ", ".join(f"{t}{'' if t.endswith('*') else ' '}{n}" for t, n in self.parameters())
        return render_kernel(
            f"kernels/{self.path}.c.j2",
            load_target(isa),
            self.symbol,
            f"struct worker *w, {text}",
            self.consts,
            {o.name: o.form for o in self.operands},
            {o.name: o.dtype for o in self.operands},
        )

    def call(self) -> str:
        """The call with arguments taken from a case's tables of numbers and arrays."""
        numbers = arrays = 0
        args = []
        for ctype, name in self.parameters():
            if name == "scratch":
                args.append(f"(float *)a->arrays[{arrays}] + w->id * a->numbers[{numbers}].i")
            elif ctype.endswith("*"):
                args.append(f"({ctype})a->arrays[{arrays}]")
                arrays += 1
            else:
                member = "f" if ctype == "float" else "i"
                args.append(f"({ctype})a->numbers[{numbers}].{member}")
                numbers += 1
        return f"{self.symbol}(w, {', '.join(args)});"


@dataclass(frozen=True)
class Loop:
    """A plain loop over a scalar support function: out[i] = body(in arrays at i)."""

    symbol: str
    result: str  # C type of an element
    operands: tuple[str, ...]  # C types
    body: str  # over a, b

    def source(self, isa: str) -> str:
        params = "".join(f", const {t} *{n}" for t, n in zip(self.operands, "xy", strict=False))
        binds = "".join(
            f"    const {t} {v} = {n}[i];\n"
            for t, n, v in zip(self.operands, "xy", "ab", strict=False)
        )
        return (
            f"static void {self.symbol}(int64_t n{params}, {self.result} *out) {{\n"
            f"  for (int64_t i = 0; i < n; ++i) {{\n{binds}    out[i] = {self.body};\n  }}\n}}\n"
        )

    def call(self) -> str:
        casts = [f"(const {t} *)a->arrays[{i}]" for i, t in enumerate(self.operands)]
        last = f"({self.result} *)a->arrays[{len(self.operands)}]"
        args = ", ".join(["a->numbers[0].i", *casts, last])
        return f"if (w->id == 0) {self.symbol}({args});"


@dataclass
class Case:
    """A function with its numbers (int or float, in parameter order) and its arrays."""

    function: Kernel | Loop
    numbers: Sequence[int | float]
    arrays: Sequence[np.ndarray]
    scratch: int = 0  # floats a worker, when the kernel takes scratch
    note: object = field(default=None)


DRIVER = """
union number { int64_t i; double f; };

struct arguments { int64_t function; union number numbers[32]; char *arrays[16]; };

static void dispatch(struct worker *w, void *arg) {
  struct arguments *a = arg;
  switch (a->function) {
%s
  }
  sync(w);
}

static int64_t get(FILE *f) {
  int64_t v = 0;
  if (fread(&v, sizeof v, 1, f) != 1) exit(3);
  return v;
}

int main(int argc, char **argv) {
  FILE *in = fopen(argv[1], "rb"), *out = fopen(argv[2], "wb");
  const int threads = atoi(argv[3]);
  struct linnet_pool *pool = linnet_pool_new(threads);
  for (int64_t cases = get(in); cases > 0; --cases) {
    struct arguments a = {.function = get(in)};
    const int64_t numbers = get(in);
    for (int64_t i = 0; i < numbers; ++i) a.numbers[i].i = get(in);
    const int64_t arrays = get(in), scratch = get(in);
    int64_t size[16];
    for (int64_t i = 0; i < arrays; ++i) {
      size[i] = get(in);
      a.arrays[i] = malloc((size_t)size[i] + 64);
      if (size[i] && fread(a.arrays[i], (size_t)size[i], 1, in) != 1) return 4;
    }
    a.numbers[numbers].i = scratch;
    a.arrays[arrays] = calloc((size_t)(scratch * threads) + 1, sizeof(float));
    linnet_pool_run(pool, dispatch, &a);
    for (int64_t i = 0; i < arrays; ++i) {
      fwrite(a.arrays[i], 1, (size_t)size[i], out);
      free(a.arrays[i]);
    }
    free(a.arrays[arrays]);
  }
  linnet_pool_free(pool);
  return fclose(out) || argc != 4;
}
"""


@dataclass(frozen=True)
class Program:
    """All functions of a test module in one executable."""

    path: Path
    isa: str
    functions: tuple[Kernel | Loop, ...]

    def run(self, cases: Sequence[Case], threads: int = 1) -> list[list[np.ndarray]]:
        """Run all cases; the arrays of each as they are afterwards."""
        request, answer = self.path.with_suffix(".in"), self.path.with_suffix(".out")
        request.write_bytes(b"".join(self._encoded(cases)))
        command = [*runner(self.isa), str(self.path), str(request), str(answer), str(threads)]
        subprocess.run(command, check=True, timeout=120)
        return _decoded(answer.read_bytes(), cases)

    def _encoded(self, cases: Sequence[Case]) -> list[bytes]:
        index = {function: i for i, function in enumerate(self.functions)}
        parts = [struct.pack("<q", len(cases))]
        for case in cases:
            parts.append(struct.pack("<qq", index[case.function], len(case.numbers)))
            for n in case.numbers:
                parts.append(struct.pack("<d" if isinstance(n, float) else "<q", n))
            parts.append(struct.pack("<qq", len(case.arrays), case.scratch))
            for array in case.arrays:
                parts += [struct.pack("<q", array.nbytes), array.tobytes()]
        return parts


def _decoded(data: bytes, cases: Sequence[Case]) -> list[list[np.ndarray]]:
    results, at = [], 0
    for case in cases:
        arrays = []
        for array in case.arrays:
            piece = data[at : at + array.nbytes]
            arrays.append(np.frombuffer(piece, array.dtype).reshape(array.shape))
            at += array.nbytes
        results.append(arrays)
    assert at == len(data)
    return results


def build(folder: Path, isa: str, functions: Sequence[Kernel | Loop], name: str) -> Program:
    """Compile `functions` with the driver into folder/name-isa."""
    target = load_target(isa)
    cases = "\n".join(f"    case {i}: {f.call()} break;" for i, f in enumerate(functions))
    body = "\n".join([*(f.source(isa) for f in functions), "#include <stdio.h>", DRIVER % cases])
    source = folder / f"{name}-{isa}.c"
    source.write_text(prelude(target, body) + body, encoding="utf-8")
    path = source.with_suffix("")
    command = [*compiler(isa), *BASE, *target_rule(isa).cflags, "-Wall", "-Wextra", "-Werror"]
    command += [
        "-Wno-unused-function",
        "-Wno-unused-parameter",
        "-pthread",
        str(source),
        "-o",
        str(path),
        "-lm",
    ]
    subprocess.run(command, check=True, timeout=120)
    return Program(path, isa, tuple(functions))


def compile_shared(source: str, path: Path) -> Path:
    """Compile C text for this machine into the shared library `path`."""
    file = path.with_suffix(".c")
    file.write_text(source, encoding="utf-8")
    command = [*compiler("scalar"), *BASE, "-fPIC", "-shared", "-pthread", str(file)]
    subprocess.run([*command, "-o", str(path), "-lm"], check=True, timeout=60)
    return path


class PackJob(ctypes.Structure):
    """`struct linnet_pack_job` of rt/pack.h."""

    _fields_ = (
        ("source", ctypes.c_void_p),
        ("packed", ctypes.c_void_p),
        ("args", ctypes.c_int64 * 4),
        ("is_file", ctypes.c_int64),
        ("next", ctypes.c_void_p),
    )


class Library:
    """A shared library with a pool, and what it exports."""

    def __init__(self, path: Path) -> None:
        self.c = ctypes.CDLL(str(path))
        self.c.linnet_pool_new.restype = ctypes.c_void_p
        self.c.linnet_pool_run.argtypes = [ctypes.c_void_p] * 3
        self.c.linnet_pool_free.argtypes = [ctypes.c_void_p]

    def pack(self, function: str, *jobs: PackJob) -> None:
        """Run the jobs one after the other, by one call of a packing function."""
        for job, after in itertools.pairwise(jobs):
            job.next = ctypes.addressof(after)
        pool = self.c.linnet_pool_new(2)
        code = ctypes.cast(self.c[function], ctypes.c_void_p)
        self.c.linnet_pool_run(pool, code, ctypes.addressof(jobs[0]))
        self.c.linnet_pool_free(pool)


@functools.cache
def linnet_library(path: Path) -> Library:
    return Library(path)


def same_bits(a: np.ndarray, b: np.ndarray) -> bool:
    """Equal bit for bit, except that any NaN equals any NaN."""
    if a.dtype.kind != "f":
        return bool(np.array_equal(a, b))
    whole = {4: np.uint32, 8: np.uint64}[a.dtype.itemsize]
    nan = np.isnan(a) & np.isnan(b)
    return bool(np.all(nan | (a.view(whole) == b.view(whole))))
