"""Load a root file and every module it imports, directly or not.

In: a path (or a text), the folder of the standard library. Out: a `ModuleGraph` of parsed
modules with each `use` resolved to a module. Reports E1202 (no such module), E1206 (circles)
and E5001 (manifests) besides everything the parser reports. Files are read, never executed.

    use std.a.b       <std>/a/b.linnet
    use crate         <package>/src/lib.linnet
    use crate.a.b     <package>/src/a/b.linnet
    use dep.a         src/a.linnet of the folder that the package's manifest gives for `dep`

`<package>` is the nearest folder above the importing file that holds a `linnet.toml`.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from linnet.diag import Problems, Source
from linnet.errors import UsageError
from linnet.modules.graph import ModuleGraph, check_cycles
from linnet.modules.manifest import NAME as MANIFEST
from linnet.modules.manifest import Manifest, nearest, read_manifest
from linnet.resources import folder
from linnet.syntax import tree
from linnet.syntax.parse import parse

SUFFIX = ".linnet"
_MAX_LISTED = 5_000


def load(
    root: Path | Source,
    problems: Problems,
    std: Path | None = None,
    known: Mapping[Path, tree.Module] | None = None,
) -> ModuleGraph:
    """The closed set of modules of `root`, which is a file or a text.

    `std` replaces the standard library, as does the variable LINNET_STD. `known` are modules that
    are imported as they are there and not read, by their real paths; whoever parsed them has
    reported what is wrong with them. Every problem is added to `problems`; the graph holds
    whatever could be read. Raises UsageError when the root file or the folder of the standard
    library cannot be read at all."""
    library = _library(std)
    absolute = isinstance(root, Source) or root.is_absolute()
    loader = _Loader(problems, library, absolute, known or {})
    graph = loader.run(root)
    check_cycles(graph, problems)
    return graph


def read_source(path: Path, shown: str | None = None) -> Source:
    """The text of a file; bytes that are no UTF-8 become lone surrogates. Raises OSError."""
    text = path.read_bytes().decode("utf-8", "surrogateescape")
    return Source(str(path) if shown is None else shown, text, path)


def _library(std: Path | None) -> Path:
    variable = os.environ.get("LINNET_STD")
    if std is None and variable:
        std = Path(variable)
        where = "LINNET_STD"
    else:
        where = "--std"
    if std is None:
        return folder("stdlib")
    if not std.is_dir():
        raise UsageError(f"{where}: `{std}` is no folder", help="name the folder that holds `nn/`")
    return std.resolve()


@dataclass(frozen=True, eq=False)
class _Package:
    """A place modules come from. `prefix` starts the logical names of its modules, `sources` is
    the folder of their files; `manifest` is None for the standard library and for a root file
    outside any package."""

    prefix: str
    sources: Path | None
    manifest: Manifest | None


@dataclass(frozen=True, eq=False)
class _Loaded:
    name: str
    package: _Package
    module: tree.Module


class _Loader:
    def __init__(
        self, problems: Problems, std: Path, absolute: bool, parsed: Mapping[Path, tree.Module]
    ) -> None:
        self.problems = problems
        self.parsed = parsed
        self.std = _Package("std", std, None)
        self.absolute = absolute
        self.loaded: dict[str, _Loaded] = {}
        self.files: dict[Path, str] = {}
        self.packages: dict[Path, _Package] = {}
        self.targets: dict[tree.Use, str | None] = {}
        self.waiting: deque[_Loaded] = deque()

    def run(self, root: Path | Source) -> ModuleGraph:
        first = self._root(root)
        while self.waiting:
            importer = self.waiting.popleft()
            for use in importer.module.uses:
                self.targets[use] = self._resolve(use, importer)
        modules = {name: loaded.module for name, loaded in self.loaded.items()}
        assert self.std.sources is not None
        return ModuleGraph(first.name, modules, self.targets, self.std.sources)

    # --- the root -------------------------------------------------------------------------

    def _root(self, root: Path | Source) -> _Loaded:
        if isinstance(root, Source):
            source = root
        else:
            try:
                source = read_source(root)
            except OSError as error:
                raise UsageError(f"cannot read `{root}`: {error.strerror or error}") from None
        module = parse(source, self.problems)
        path = None if source.path is None else source.path.resolve()
        package, name = self._place_of_root(path, module)
        return self._add(name, package, module, path)

    def _place_of_root(self, path: Path | None, module: tree.Module) -> tuple[_Package, str]:
        """The package of the root file and its logical name there."""
        if path is not None:
            std = self.std.sources
            if std is not None and path.is_relative_to(std):
                return self.std, _logical("std", std, path)
            for above in path.parents:
                if (above / MANIFEST).is_file() and path.is_relative_to(above / "src"):
                    package = self._package(above, "crate")
                    return package, _logical("crate", above / "src", path)
                if (above / MANIFEST).is_file():
                    break
        # Nothing but the library may call its modules `std`: kernels are found by these names.
        name = module.name
        if not name or name.split(".")[0] in ("std", "crate"):
            name = "crate"
        return _Package("crate", None, None), name

    def _add(self, name: str, package: _Package, module: tree.Module, path: Path | None) -> _Loaded:
        while name in self.loaded:  # a nameless root beside the `crate` of a package
            name += "'"
        loaded = _Loaded(name, package, module)
        self.loaded[name] = loaded
        if path is not None:
            self.files[path] = name
        self.waiting.append(loaded)
        return loaded

    # --- packages -------------------------------------------------------------------------

    def _package(self, root: Path, prefix: str) -> _Package:
        """The package in folder `root`; its manifest is read once."""
        package = self.packages.get(root)
        if package is None:
            taken = {p.prefix for p in self.packages.values()} | {"std"}
            number = 2
            unique = prefix
            while unique in taken:
                unique = f"{prefix}@{number}"
                number += 1
            path = root / MANIFEST
            manifest = read_manifest(path, self._shown(path), self.problems)
            package = _Package(unique, root / "src", manifest)
            self.packages[root] = package
        return package

    def _own_package(self, importer: _Loaded) -> _Package | None:
        """The package around a module, None when there is none."""
        if importer.package.manifest is not None:
            return importer.package
        path = importer.module.source.path
        if importer.package is self.std or path is None:
            return None
        for above in path.resolve().parents:
            if (above / MANIFEST).is_file():
                return self._package(above, "crate")
        return None

    def _dependency(self, name: str, package: _Package, use: tree.Use) -> _Package | None:
        """The package that `package` calls `name`; None after a report."""
        manifest = package.manifest
        assert manifest is not None
        if not manifest.readable or name in manifest.broken:
            return None
        dependency = manifest.dependencies.get(name)
        if dependency is None:
            known = ["std", "crate", *manifest.dependencies]
            self._missing(
                use,
                [f"`{manifest.source.name}` lists no dependency `{name}`"],
                nearest(name, known),
            )
            return None
        if not os.path.isfile(dependency.folder / MANIFEST):
            self.problems.report(
                "E5001",
                f"dependency `{name}` is no package: it has no `{MANIFEST}`",
                dependency.span,
                f"looked in `{self._shown(dependency.folder)}`",
                help="the path leads from the manifest's folder to the folder of a package",
            )
            return None
        return self._package(dependency.folder, name)

    # --- imports --------------------------------------------------------------------------

    def _resolve(self, use: tree.Use, importer: _Loaded) -> str | None:
        """Logical name of the module that `use` leads to, loading it if it is new."""
        first, *rest = (part.name for part in use.path)
        if first in ("self", "super"):
            return None
        if first == "std":
            package: _Package | None = self.std
        else:
            package = self._own_package(importer)
            if package is None:
                why = f"no `{MANIFEST}` in the folders above this file"
                self._missing(use, [why], nearest(first, ["std"]))
                return None
            if first != "crate":
                package = self._dependency(first, package, use)
        if package is None:
            return None
        return self._module(use, package, rest)

    def _module(self, use: tree.Use, package: _Package, rest: list[str]) -> str | None:
        assert package.sources is not None
        if package.manifest is not None and not package.manifest.readable:
            return None
        if package is self.std and not rest:
            self._missing(use, ["`std` itself is no module"], [])
            return None
        relative = Path(*rest).with_suffix(SUFFIX) if rest else Path(f"lib{SUFFIX}")
        path = package.sources / relative
        real = Path(os.path.realpath(path))
        known = self.files.get(real)
        if known is not None:
            return known
        name = ".".join((package.prefix, *rest))
        parsed = self.parsed.get(real)
        if parsed is not None:
            return self._add(name, package, parsed, real).name
        shown = self._shown(path)
        if package is self.std:
            shown = f"stdlib/{relative.as_posix()}"
        try:
            source = read_source(path, shown)
        except OSError as error:
            exists = os.path.isfile(path)  # unlike the method, it never raises
            why = f"cannot read {self._shown(path)}: {error.strerror}" if exists else None
            searched = why or f"searched {self._shown(path)}"
            self._missing(use, [searched], self._near(use, package))
            return None
        module = parse(source, self.problems)
        return self._add(name, package, module, real).name

    def _missing(self, use: tree.Use, notes: Iterable[str], near: list[str]) -> None:
        help = f"did you mean `{near[0]}`?" if near else ()
        self.problems.report(
            "E1202",
            f"there is no module `{use.path_text}`",
            use.path_span,
            notes=notes,
            help=help,
        )

    def _near(self, use: tree.Use, package: _Package) -> list[str]:
        """The module of the same package whose path resembles the one asked for."""
        first = use.path[0].name
        assert package.sources is not None
        names = []
        for path in package.sources.rglob(f"*{SUFFIX}"):
            names.append(_logical(first, package.sources, path))
            if len(names) == _MAX_LISTED:
                break
        # Without what all of them share, which would make everything look alike.
        tails = {name.partition(".")[2]: name for name in sorted(names)}
        tail = use.path_text.partition(".")[2]
        last = [name for name in tails if name.rpartition(".")[2] == tail.rpartition(".")[2]]
        return [tails[near] for near in last[:1] or nearest(tail, tails)]

    def _shown(self, path: Path) -> str:
        """How a path appears in diagnostics: as the root was given, absolute or relative."""
        if self.absolute:
            return str(path)
        try:
            return os.path.relpath(path)
        except ValueError:  # another drive
            return str(path)


def _logical(prefix: str, sources: Path, path: Path) -> str:
    """The logical name of the file `path` below `sources`."""
    parts = path.relative_to(sources).with_suffix("").parts
    if parts == ("lib",) and prefix != "std":
        return prefix
    return ".".join((prefix, *parts))
