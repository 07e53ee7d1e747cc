"""The inner loops of generated code, read from the compiler's assembly: what there is to count
without running anything, for any target.

In goes C text and a target; out come the innermost loops that multiply and add, each with its
numbers of instructions, multiply-adds, loads and accesses to the stack, and, where llvm-mca is
installed, the cycles an iteration takes by its model of a processor beside the least that the
multiply-adds and the loads alone would take there.
"""

from __future__ import annotations

import dataclasses
import json
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from linnet.errors import ToolchainError

CPUS = {
    "neon": ("apple-m1", "neoverse-v1"),
    "avx512": ("sapphirerapids", "znver4"),
    "avx2": ("skylake", "znver3"),
}
"""Processors whose models are asked, for each target."""

FEWEST = 4
"""Multiply-adds from which on a loop is shown."""

_LABEL = re.compile(r"^(\.L\w+):")
_FUNCTION = re.compile(r"^([A-Za-z_][\w.]*):")
_MULTIPLY_ADD = re.compile(r"^(v?fn?m(add|la|adc)\w*|fmla)\b")
_X86_BRANCH = re.compile(r"^j\w+\s+(\.L\w+)$")
_ARM_BRANCH = re.compile(r"^(?:b|b\.?\w\w|cbn?z|tbn?z)\s.*?(\.L\w+)$")
_STACK = re.compile(r"\(%r[sb]p|\[(sp|x29)\b")
_COMMENT = re.compile(r"//|\s#\s|;")
_X86_MEMORY = re.compile(r"[-+\w.]*\(%[^)]*\)(\{1to\d+\})?")
_MEMORY = re.compile(r"\(|\[")
_TRIPLES = {"neon": "aarch64-linux-gnu"}
_ITERATIONS = 1000


@dataclass(frozen=True)
class Loop:
    """An innermost loop: its instructions in order, and the functions that hold it, or one that
    is the same but for registers and distances."""

    functions: tuple[str, ...]
    instructions: tuple[str, ...]

    @property
    def multiply_adds(self) -> int:
        return len(self.of_kind(is_multiply_add))

    @property
    def loads(self) -> int:
        return len(self.of_kind(is_load))

    @property
    def stack_accesses(self) -> int:
        """Reads and writes of the stack: values that did not fit the registers."""
        return sum(1 for text in self.instructions if _STACK.search(text))

    def of_kind(self, test: Any) -> tuple[str, ...]:
        return tuple(text for text in self.instructions if test(text))


def is_multiply_add(text: str) -> bool:
    return _MULTIPLY_ADD.match(text) is not None


def is_load(text: str) -> bool:
    """Whether an instruction reads memory; prefetches and address arithmetic do not."""
    name = text.split()[0]
    if name.startswith(("prefetch", "prfm", "lea", "st", "nop")) or not _MEMORY.search(text):
        return False
    if name.startswith("ld"):
        return True
    # x86: the destination stands last, so a memory operand there is a store.
    return "(" in text and not text.rstrip().endswith(")")


def assembly(c: str, target: str) -> str:
    """What the compiler makes of a C text. Raises ToolchainError."""
    from linnet.targets.detect import host_machine, target_rule
    from linnet.toolchain.cc import BASE_FLAGS, cross_compiler, find_compiler, target_flags

    machine = target_rule(target).machine
    native = machine in (None, host_machine())
    compiler = find_compiler() if native else cross_compiler(machine or "")
    words = [*compiler.command, *BASE_FLAGS, *target_flags(target, compiler)]
    run = subprocess.run(
        [*words, "-S", "-x", "c", "-", "-o", "-"], input=c, capture_output=True, text=True
    )
    if run.returncode != 0:
        raise ToolchainError(f"`{compiler.shown()}` makes no assembly: {run.stderr.strip()[-500:]}")
    return run.stdout


def loops(text: str, fewest: int = FEWEST) -> list[Loop]:
    """The innermost loops of an assembly text with at least `fewest` multiply-adds; loops that
    are alike come once."""
    found: dict[tuple[str, ...], Loop] = {}
    for function, lines in _functions(text):
        for body in _innermost(lines):
            loop = Loop((function,), body)
            if loop.multiply_adds >= fewest:
                # Instruction names in any order: the scheduler moves them about.
                shape = tuple(sorted(line.split()[0] for line in body))
                known = found.setdefault(shape, loop)
                if known is not loop:
                    found[shape] = dataclasses.replace(
                        known, functions=(*known.functions, function)
                    )
    return list(found.values())


def _functions(text: str) -> Iterator[tuple[str, list[str]]]:
    """Labels and instructions of each function."""
    name, lines = "", list[str]()
    for raw in text.splitlines():
        line = " ".join(_COMMENT.split(raw)[0].split())
        if match := _FUNCTION.match(line):
            if lines:
                yield name, lines
            name, lines = match[1], []
        elif line and (not line.startswith(".") or _LABEL.match(line)):
            lines.append(line)
    if lines:
        yield name, lines


def _innermost(lines: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Bodies of backward branches that hold no other backward branch."""
    places = {match[1]: k for k, line in enumerate(lines) if (match := _LABEL.match(line))}
    ranges = []
    for k, line in enumerate(lines):
        branch = _X86_BRANCH.match(line) or _ARM_BRANCH.match(line)
        if branch and places.get(branch[1], k) < k:
            ranges.append((places[branch[1]], k))
    for start, end in ranges:
        if any((a, b) != (start, end) and start <= a and b <= end for a, b in ranges):
            continue
        yield tuple(line for line in lines[start : end + 1] if not _LABEL.match(line))


# --- llvm-mca ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cycles:
    """Cycles an iteration by a processor's model: of the whole loop, and the least that its
    multiply-adds alone and its loads alone take by the number of units for them."""

    cpu: str
    whole: float
    multiply_adds: float
    loads: float

    @property
    def limit(self) -> float:
        return max(self.multiply_adds, self.loads)


def analyser() -> str | None:
    """The newest llvm-mca that is installed. One before 17 is none: its models of the processors
    in `CPUS` are missing or wrong (that of Neoverse V1 came with 17)."""
    names = [f"llvm-mca-{version}" for version in range(40, 16, -1)]
    return next((path for name in names if (path := shutil.which(name)) is not None), None)


def cycles(loop: Loop, target: str, cpu: str, program: str) -> Cycles:
    """What the model of `cpu` says about a loop. Raises ToolchainError."""
    whole = _simulated(loop.instructions, target, cpu, program)
    adds = [_without_load(text) for text in loop.of_kind(is_multiply_add)]
    reads = [_only_load(text) for text in loop.of_kind(is_load)]
    added = _simulated(adds, target, cpu, program)
    read = _simulated(reads, target, cpu, program)
    return Cycles(
        cpu,
        whole["TotalCycles"] / whole["Iterations"],
        added["BlockRThroughput"],
        read["BlockRThroughput"] if read else 0.0,
    )


def _without_load(text: str) -> str:
    """A multiply-add of x86 with a register where it reads memory."""
    register = re.findall(r"%[xyz]mm", text)[-1:]
    return _X86_MEMORY.sub(f"{register[0]}0", text) if register else text


def _only_load(text: str) -> str:
    """What an instruction of x86 reads from memory, as a load of its own."""
    memory = _X86_MEMORY.search(text)
    register = re.findall(r"%[xyz]mm", text)[-1:]
    if memory is None or not register or not is_multiply_add(text):
        return text
    name = "vbroadcastss" if "{1to" in text else "vmovups"
    return f"{name} {memory[0].split('{')[0]}, {register[0]}0"


def _simulated(lines: Sequence[str], target: str, cpu: str, program: str) -> dict[str, float]:
    """llvm-mca's summary of a block that is repeated."""
    if not lines:
        return {}
    # A branch needs its label, which the block does not hold; branches are predicted anyway.
    text = "".join(f"{line}\n" for line in lines)
    labels = sorted(set(re.findall(r"\.L\w+", text)))
    text = "".join(f"{label}:\n" for label in labels) + text
    triple = _TRIPLES.get(target, "x86_64-linux-gnu")
    run = subprocess.run(
        [program, f"-mtriple={triple}", f"-mcpu={cpu}", f"-iterations={_ITERATIONS}", "-json"],
        input=text,
        capture_output=True,
        text=True,
    )
    if run.returncode != 0:
        raise ToolchainError(f"`{program}` fails: {run.stderr.strip()[:300]}")
    summary: dict[str, float] = json.loads(run.stdout)["CodeRegions"][0]["SummaryView"]
    return summary


# --- text ----------------------------------------------------------------------------------


def report(c: str, target: str, lanes: int, cpus: Sequence[str] | None = None) -> list[str]:
    """A table of the loops of a C text for a target whose registers hold `lanes` floats."""
    from linnet.bench.report import aligned

    program = analyser()
    models = (CPUS.get(target, ()) if cpus is None else cpus) if program else ()
    head = ["function", "instructions", "multiply-adds", "a product", "loads", "stack"]
    for cpu in models:
        head += [f"{cpu}: cycles", "limit", "share"]
    rows = [head]
    for loop in loops(assembly(c, target)):
        count = len(loop.instructions)
        others = len(loop.functions) - 1
        row = [
            f"{loop.functions[0].split('.')[0]}{f' and {others} more' if others else ''}",
            str(count),
            str(loop.multiply_adds),
            f"{count / (loop.multiply_adds * lanes):.2f}",
            str(loop.loads),
            str(loop.stack_accesses),
        ]
        for cpu in models:
            assert program is not None
            found = cycles(loop, target, cpu, program)
            row += [
                f"{found.whole:.2f}",
                f"{found.limit:.2f} {'fma' if found.multiply_adds >= found.loads else 'load'}",
                f"{found.limit / found.whole:.2f}",
            ]
        rows.append(row)
    if len(rows) == 1:
        return ["no loop multiplies and adds"]
    notes = [
        "a product: instructions for each f32 product that is added; stack: accesses to it, which "
        "registers would have saved"
    ]
    if models:
        version = subprocess.run([program or "", "--version"], capture_output=True, text=True)
        name = re.search(r"LLVM version \S+", version.stdout)
        notes.append(
            f"cycles of an iteration by llvm-mca's models ({name[0] if name else 'LLVM'}); limit: "
            "the least that its multiply-adds alone or its loads alone take there; share: limit / "
            "cycles"
        )
    elif program is None:
        notes.append("cycles need llvm-mca, which is not installed (Debian: apt install llvm)")
    return [*aligned(rows), "", *notes]
