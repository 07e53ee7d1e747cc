"""Loading: where imports lead, in the library, in packages and their dependencies."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from linnet.diag import Diagnostic, Problems, Source
from linnet.diag.render import render_all
from linnet.errors import UsageError
from linnet.modules import ModuleGraph, load

Write = Callable[[Mapping[str, str]], Path]

PACKAGE = '[package]\nname = "reeds"\nversion = "0.1.0"\nlanguage = "0.1"\n'


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Write files below a fresh folder, which becomes the current one."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("LINNET_STD", raising=False)

    def run(files: Mapping[str, str]) -> Path:
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return tmp_path

    return run


def run(root: str | Path, std: str | None = None) -> tuple[ModuleGraph, list[Diagnostic]]:
    problems = Problems()
    graph = load(Path(root), problems, None if std is None else Path(std))
    return graph, list(problems)


def targets(graph: ModuleGraph) -> dict[str, str | None]:
    return {use.span.text: target for use, target in graph.targets.items()}


def codes(found: list[Diagnostic]) -> list[str]:
    return [d.code for d in found]


STD = {
    "lib/nn/norm.linnet": "module std.nn.norm\nuse std.nn.base\n",
    "lib/nn/base.linnet": "module std.nn.base\n",
    "lib/random.linnet": "module std.random\n",
}


def test_a_single_file_and_the_library_it_needs(write: Write) -> None:
    write({**STD, "pond.linnet": "module samples.pond\nuse std.nn.norm::{a}\nuse std.random\n"})
    graph, found = run("pond.linnet", "lib")
    assert found == []
    assert graph.root == "samples.pond"
    assert list(graph.modules) == ["samples.pond", "std.nn.norm", "std.random", "std.nn.base"]
    assert targets(graph) == {
        "use std.nn.norm::{a}": "std.nn.norm",
        "use std.random": "std.random",
        "use std.nn.base": "std.nn.base",
    }
    assert graph.modules["std.random"].source.name == "stdlib/random.linnet"
    assert graph.modules["samples.pond"].source.name == "pond.linnet"


def test_the_library_of_this_installation_is_the_default(write: Write) -> None:
    write({"pond.linnet": "module pond\nuse std.nn.softmax::softmax\n"})
    graph, found = run("pond.linnet")
    assert found == []
    assert list(graph.modules) == ["pond", "std.nn.softmax"]


def test_a_variable_replaces_the_library(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write({**STD, "pond.linnet": "module pond\nuse std.random\n"})
    monkeypatch.setenv("LINNET_STD", str(folder / "lib"))
    assert codes(run("pond.linnet")[1]) == []
    monkeypatch.setenv("LINNET_STD", str(folder / "none"))
    with pytest.raises(UsageError, match="LINNET_STD"):
        run("pond.linnet")
    assert codes(run("pond.linnet", "lib")[1]) == []


def test_a_file_of_the_library_keeps_its_name_as_root(write: Write) -> None:
    write(STD)
    graph, found = run("lib/nn/norm.linnet", "lib")
    assert found == []
    assert (graph.root, list(graph.modules)) == ("std.nn.norm", ["std.nn.norm", "std.nn.base"])


@pytest.mark.parametrize("name", ["std.nn.norm", "crate", "crate.a"])
def test_a_root_cannot_pass_for_a_module_of_the_library(write: Write, name: str) -> None:
    write({**STD, "pond.linnet": f"module {name}\n"})
    assert run("pond.linnet", "lib")[0].root == "crate"


def test_a_text_without_a_file() -> None:
    problems = Problems()
    graph = load(Source("editor", "module pond\nuse std.nn.softmax\nuse crate::{x}\n"), problems)
    assert list(graph.modules) == ["pond", "std.nn.softmax"]
    assert problems.codes() == ("E1202",)


def test_packages_and_dependencies(write: Write) -> None:
    write(
        {
            "app/linnet.toml": PACKAGE + '[dependencies]\nshared = { path = "../shared" }\n',
            "app/src/lib.linnet": "module app\nuse crate.a.b::{x}\nuse shared\nuse shared.deep\n",
            "app/src/a/b.linnet": "module app.a.b\nuse crate::{y}\nuse shared.deep\n",
            "shared/linnet.toml": PACKAGE + '[dependencies]\nbase = { path = "../base" }\n',
            "shared/src/lib.linnet": "module shared\nuse crate.deep\nuse base.b::{z}\n",
            "shared/src/deep.linnet": "module shared.deep\n",
            "base/linnet.toml": PACKAGE,
            "base/src/b.linnet": "module base.b\n",
        }
    )
    graph, found = run("app/src/lib.linnet")
    # `crate` and `crate.a.b` import each other, which is the only complaint
    assert codes(found) == ["E1206"]
    assert list(graph.modules) == ["crate", "crate.a.b", "shared", "shared.deep", "base.b"]
    assert set(graph.targets.values()) == {
        "crate", "crate.a.b", "shared", "shared.deep", "base.b",
    }  # fmt: skip
    assert graph.modules["shared.deep"].source.name == "shared/src/deep.linnet"


def test_a_root_inside_a_package_has_its_logical_name(write: Write) -> None:
    write(
        {
            "app/linnet.toml": PACKAGE,
            "app/src/lib.linnet": "module app\n",
            "app/src/a/b.linnet": "module whatever\nuse crate::{y}\n",
            "app/tool.linnet": "module tool\nuse crate::{y}\n",
        }
    )
    graph, found = run("app/src/a/b.linnet")
    assert (graph.root, list(graph.modules), found) == ("crate.a.b", ["crate.a.b", "crate"], [])
    graph, found = run("app/tool.linnet")
    assert (graph.root, list(graph.modules), found) == ("tool", ["tool", "crate"], [])


def test_dependencies_of_one_name_are_kept_apart(write: Write) -> None:
    write(
        {
            "app/linnet.toml": PACKAGE
            + '[dependencies]\none = { path = "../one" }\nutil = { path = "../u1" }\n',
            "app/src/lib.linnet": "module app\nuse util\nuse one\n",
            "one/linnet.toml": PACKAGE + '[dependencies]\nutil = { path = "../u2" }\n',
            "one/src/lib.linnet": "module one\nuse util\n",
            "u1/linnet.toml": PACKAGE,
            "u1/src/lib.linnet": "module util\nconst A = 1\n",
            "u2/linnet.toml": PACKAGE,
            "u2/src/lib.linnet": "module util\nconst B = 1\n",
        }
    )
    graph, found = run("app/src/lib.linnet")
    assert found == []
    assert list(graph.modules) == ["crate", "util", "one", "util@2"]
    assert [i.name for name in ("util", "util@2") for i in graph.modules[name].items] == ["A", "B"]


def test_a_missing_module_says_where_it_was_looked_for_and_what_is_near(write: Write) -> None:
    write({**STD, "pond.linnet": "module pond\nuse std.nn.nrom::{a}\nuse std.random\n"})
    graph, (problem,) = run("pond.linnet", "lib")
    assert problem.code == "E1202"
    assert problem.primary is not None
    assert problem.primary.span.text == "std.nn.nrom"
    assert problem.notes == ("searched lib/nn/nrom.linnet",)
    assert problem.help == ("did you mean `std.nn.norm`?",)
    assert targets(graph)["use std.nn.nrom::{a}"] is None


@pytest.mark.parametrize(
    ("use", "note", "help"),
    [
        ("use std", "`std` itself is no module", ()),
        ("use stdd.nn.norm", "no `linnet.toml` in the folders above this file",
         ("did you mean `std`?",)),
        ("use crate.a::{b}", "no `linnet.toml` in the folders above this file", ()),
        ("use std." + "a" * 300, "searched lib/" + "a" * 300 + ".linnet", ()),
    ],
)  # fmt: skip
def test_other_missing_modules(write: Write, use: str, note: str, help: tuple[str, ...]) -> None:
    write({**STD, "pond.linnet": f"module pond\n{use}\n"})
    (problem,) = run("pond.linnet", "lib")[1]
    assert (problem.code, problem.notes, problem.help) == ("E1202", (note,), help)


def test_an_unlisted_dependency(write: Write) -> None:
    write(
        {
            "app/linnet.toml": PACKAGE + '[dependencies]\nshared = { path = "../shared" }\n',
            "app/src/lib.linnet": "module app\nuse sharde.x\n",
        }
    )
    (problem,) = run("app/src/lib.linnet")[1]
    assert problem.code == "E1202"
    assert problem.notes == ("`app/linnet.toml` lists no dependency `sharde`",)
    assert problem.help == ("did you mean `shared`?",)


def test_a_set_aside_path_is_reported_by_the_parser_alone(write: Write) -> None:
    write({"pond.linnet": "module pond\nuse super.a::{b}\n"})
    graph, found = run("pond.linnet")
    assert codes(found) == ["E1103"]
    assert list(graph.targets.values()) == [None]


def test_errors_of_imported_files_are_reported_with_their_name(write: Write) -> None:
    write({"lib/a.linnet": "module std.a\nconst A =\n", "pond.linnet": "module p\nuse std.a\n"})
    (problem,) = run("pond.linnet", "lib")[1]
    assert problem.code == "E1101"
    assert problem.primary is not None
    assert str(problem.primary.span).startswith("stdlib/a.linnet:")


def test_a_root_that_cannot_be_read(write: Write) -> None:
    folder = write({"lib/a.linnet": ""})
    with pytest.raises(UsageError, match=r"cannot read `none\.linnet`"):
        run("none.linnet")
    with pytest.raises(UsageError, match="cannot read"):
        run(folder / "lib")


def test_absolute_roots_give_absolute_names(write: Write) -> None:
    folder = write({"app/linnet.toml": PACKAGE, "app/src/lib.linnet": "module a\nuse crate.b\n",
                    "app/src/b.linnet": "module b\n"})  # fmt: skip
    graph, _ = run(folder / "app/src/lib.linnet")
    assert graph.modules["crate.b"].source.name == str(folder / "app/src/b.linnet")


def test_bytes_that_are_no_utf8_are_a_diagnostic(write: Write) -> None:
    folder = write({})
    (folder / "pond.linnet").write_bytes(b"module pond\nconst A = 1 \xff\xfe\n")
    assert codes(run("pond.linnet")[1]) == ["E1001"]


def test_a_missing_module_is_drawn_as_a_whole(
    write: Write, golden: Callable[[str, str], None]
) -> None:
    write({**STD, "pond.linnet": "module pond\n\nuse std.nn.nrom::{layer_norm}\n"})
    golden("diagnostics/E1202-missing-module.txt", render_all(run("pond.linnet", "lib")[1]) + "\n")
