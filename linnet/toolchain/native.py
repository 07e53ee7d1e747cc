"""Ask which target suits this machine, and remember the answer.

The compiler is asked for its predefined macros under `-march=native`; `linnet.targets.detect`
judges them together with the kernel's list of CPU features. The answer is kept in the cache under
the identities of both, so that a warm start runs no compiler.
"""

from __future__ import annotations

from linnet.errors import ToolchainError
from linnet.targets.detect import (
    TARGET_NAMES,
    cpu_identity,
    kernel_cpu_flags,
    supported_targets,
)
from linnet.toolchain.cache import Cache, default_cache, make_key
from linnet.toolchain.cc import Compiler, find_compiler, predefined_macros, require_usable


def native_target(compiler: Compiler | None = None, cache: Cache | None = None) -> str:
    """Return the best target of this machine: `avx512`, `avx2`, `neon` or `scalar`.

    Raises ToolchainError if there is no compiler and the answer is not in the cache.
    """
    return host_targets(compiler, cache)[0]


def host_targets(compiler: Compiler | None = None, cache: Cache | None = None) -> tuple[str, ...]:
    """Return all targets that this machine can run, best first. Raises as `native_target`."""
    cache = cache or default_cache()
    compiler = compiler or find_compiler(cache)
    key = make_key(compiler=compiler.identity, cpu=cpu_identity(), names=TARGET_NAMES)
    record = f"targets-{key[:32]}"
    known = (cache.read_record(record) or {}).get("targets")
    if isinstance(known, list) and known and set(known) <= set(TARGET_NAMES):
        return tuple(known)
    targets = supported_targets(_native_macros(compiler), kernel_cpu_flags())
    cache.write_record(record, {"targets": list(targets)})
    return targets


def _native_macros(compiler: Compiler) -> frozenset[str]:
    require_usable(compiler)
    try:
        return frozenset(predefined_macros(compiler, ("-march=native",)))
    except ToolchainError:
        # Clang for Arm has not always known the option; what it does by default is a safe answer.
        return frozenset(predefined_macros(compiler))
