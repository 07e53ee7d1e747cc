"""The server as a process, asked by a client: one conversation, and one that goes badly."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from click.testing import CliRunner
from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException
from pygls.lsp.client import LanguageClient

from linnet.cli.app import cli
from linnet.diag import Source
from linnet.lsp.places import Encoding, offset_of, position

TEXT = """module tide

use std.nn.linear::{linear}

// é😀
pub block Tide<Window: Dim> {
    param up: Tensor[Window, Window; f32]

    pub entry observe(x: Tensor[Window; f32]) -> Tensor[Window; f32] {
        /* 😀 */ let y = linear(x, up)
        return y
    }
}
"""


def converse(folder: Path, talk: Callable[[LanguageClient, str], Awaitable[None]]) -> None:
    """Start a server, open TEXT in it and talk."""
    path = folder / "tide.linnet"
    path.write_text(TEXT)

    async def run() -> None:
        client = LanguageClient("test", "1")
        client.told = asyncio.Queue()

        @client.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def _(params: lsp.PublishDiagnosticsParams) -> None:
            client.told.put_nowait(params)

        @client.feature(lsp.WINDOW_LOG_MESSAGE)
        def _(params: lsp.LogMessageParams) -> None:
            raise AssertionError(params.message)

        await client.start_io(sys.executable, "-m", "linnet.cli", "lsp")
        try:
            answer = await client.initialize_async(
                lsp.InitializeParams(
                    capabilities=lsp.ClientCapabilities(), root_uri=folder.as_uri()
                )
            )
            assert answer.capabilities.position_encoding == lsp.PositionEncodingKind.Utf16
            client.initialized(lsp.InitializedParams())
            item = lsp.TextDocumentItem(path.as_uri(), "linnet", 1, TEXT)
            client.text_document_did_open(lsp.DidOpenTextDocumentParams(item))
            await talk(client, path.as_uri())
            await client.shutdown_async(None)
            client.exit(None)
        except BaseException:
            client._server.kill()
            raise
        finally:
            await asyncio.wait_for(client.stop(), 10)

    asyncio.run(asyncio.wait_for(run(), 60))


def place(text: str, shift: int = 0) -> lsp.Position:
    return lsp.Position(*position(Source("", TEXT), TEXT.index(text) + shift, "utf-16"))


def change(client: LanguageClient, uri: str, version: int, text: str) -> None:
    client.text_document_did_change(
        lsp.DidChangeTextDocumentParams(
            lsp.VersionedTextDocumentIdentifier(version, uri),
            [lsp.TextDocumentContentChangeWholeDocument(text)],
        )
    )


def test_a_conversation(tmp_path: Path) -> None:
    async def talk(client: LanguageClient, uri: str) -> None:
        document = lsp.TextDocumentIdentifier(uri)
        told = await client.told.get()
        assert (told.uri, list(told.diagnostics)) == (uri, [])

        said = await client.text_document_hover_async(lsp.HoverParams(document, place("y = ")))
        assert "y: Tensor[Window; f32]" in said.contents.value
        # The emoji before it on the line counts as two units.
        assert (said.range.start.character, said.range.end.character) == (21, 22)

        found = await client.text_document_definition_async(
            lsp.DefinitionParams(document, place("return y", 7))
        )
        assert found.range.start == place("y = ")
        uses = await client.text_document_references_async(
            lsp.ReferenceParams(lsp.ReferenceContext(True), document, place("up: "))
        )
        assert [u.range.start for u in uses] == [place("up: "), place(", up)", 2)]
        edit = await client.text_document_rename_async(
            lsp.RenameParams(document, place("up: "), "down")
        )
        assert [e.new_text for e in edit.changes[uri]] == ["down", "down"]
        with pytest.raises(JsonRpcException, match="belongs to the language"):
            await client.text_document_rename_async(
                lsp.RenameParams(document, place("up: "), "block")
            )

        (tide,) = await client.text_document_document_symbol_async(
            lsp.DocumentSymbolParams(document)
        )
        assert [tide.name, *(c.name for c in tide.children)] == ["Tide", "up", "observe"]
        symbols = await client.workspace_symbol_async(lsp.WorkspaceSymbolParams("obs"))
        assert [(s.name, s.container_name) for s in symbols] == [("observe", "Tide")]
        items = await client.text_document_completion_async(
            lsp.CompletionParams(document, place("return y", 7))
        )
        assert {"y", "x", "up", "linear", "Window"} <= {item.label for item in items.items}
        tokens = await client.text_document_semantic_tokens_full_async(
            lsp.SemanticTokensParams(document)
        )
        assert len(tokens.data) % 5 == 0
        assert len(tokens.data) > 50
        hints = await client.text_document_inlay_hint_async(
            lsp.InlayHintParams(document, lsp.Range(lsp.Position(0, 0), lsp.Position(99, 0)))
        )
        assert [(h.position, h.label) for h in hints] == [
            (place("y = ", 1), ": Tensor[Window; f32]")
        ]
        options = lsp.FormattingOptions(4, True)
        assert not await client.text_document_formatting_async(
            lsp.DocumentFormattingParams(document, options)
        )

    converse(tmp_path, talk)


def test_errors_repairs_and_half_typed_text(tmp_path: Path) -> None:
    async def talk(client: LanguageClient, uri: str) -> None:
        document = lsp.TextDocumentIdentifier(uri)
        await client.told.get()
        change(client, uri, 2, TEXT.replace("return y", "return   y[0:2 * 1]"))
        told = await client.told.get()
        assert told.version == 2
        assert [d.code for d in told.diagnostics] == ["E2202"]
        edits = await client.text_document_formatting_async(
            lsp.DocumentFormattingParams(document, lsp.FormattingOptions(4, True))
        )
        assert [e.new_text for e in edits] == [""]

        change(client, uri, 3, TEXT.replace("linear(x", "linaer(x").replace("{linear}", "{}"))
        for end in (150, 200, len(TEXT) - 5, 0):
            change(client, uri, 4, TEXT[:end])
            await client.text_document_hover_async(lsp.HoverParams(document, place("x: ")))
            await client.text_document_completion_async(
                lsp.CompletionParams(document, lsp.Position(500, 3))
            )
            assert not await client.text_document_formatting_async(
                lsp.DocumentFormattingParams(document, lsp.FormattingOptions(4, True))
            )
        broken = TEXT.replace("use std.nn.linear::{linear}\n", "")
        change(client, uri, 5, broken)
        told = await client.told.get()
        assert [d.code for d in told.diagnostics] == ["E1201"]
        offered = await client.text_document_code_action_async(
            lsp.CodeActionParams(
                document, told.diagnostics[0].range, lsp.CodeActionContext(told.diagnostics)
            )
        )
        (action,) = [a for a in offered if a.title.startswith("Add")]
        assert action.title == "Add `use std.nn.linear::{linear}`"
        assert action.edit.changes[uri][0].new_text == "\n\nuse std.nn.linear::{linear}"
        client.text_document_did_close(lsp.DidCloseTextDocumentParams(document))
        told = await client.told.get()
        assert list(told.diagnostics) == []

    converse(tmp_path, talk)


def test_documents_that_import_each_other(tmp_path: Path) -> None:
    manifest = '[package]\nname = "p"\nversion = "0.1.0"\nlanguage = "0.1"\n'
    (tmp_path / "linnet.toml").write_text(manifest)
    part = tmp_path / "src" / "part.linnet"
    part.parent.mkdir()
    part.write_text("module p.part\n\npub fn one() -> f32 {\n    return 1.0\n}\n")
    user = "module p\n\nuse crate.part::{one}\n\nfn f() -> f32 {\n    return one()\n}\n"

    async def talk(client: LanguageClient, uri: str) -> None:
        await client.told.get()
        lib = (part.parent / "lib.linnet").as_uri()
        for name, text in ((lib, user), (part.as_uri(), part.read_text())):
            item = lsp.TextDocumentItem(name, "linnet", 1, text)
            client.text_document_did_open(lsp.DidOpenTextDocumentParams(item))
            told = await client.told.get()
            assert (told.uri, list(told.diagnostics)) == (name, [])
        assert (await client.told.get()).uri == lib
        # What is being typed in one document is seen from the other, saved or not.
        change(client, part.as_uri(), 2, part.read_text().replace("one", "two"))
        told = [await client.told.get(), await client.told.get()]
        assert [(t.uri, [d.code for d in t.diagnostics]) for t in told] == [
            (part.as_uri(), []),
            (lib, ["E1201"]),
        ]
        uses = await client.text_document_references_async(
            lsp.ReferenceParams(
                lsp.ReferenceContext(True),
                lsp.TextDocumentIdentifier(part.as_uri()),
                lsp.Position(2, 8),
            )
        )
        assert [u.uri for u in uses] == [part.as_uri()]

    converse(tmp_path, talk)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
def test_places_there_and_back(encoding: Encoding) -> None:
    source = Source("", "a\u00e9\U0001f600b\r\n\r\nlast\U0001f600")
    for offset in range(len(source.text) + 1):
        line, column = position(source, offset, encoding)
        if source.text[offset - 1 : offset + 1] != "\r\n":
            assert offset_of(source, line, column, encoding) == offset
    assert offset_of(source, 0, 99, encoding) == 4
    assert offset_of(source, 99, 0, encoding) == len(source.text)
    widths = {"utf-8": 7, "utf-16": 4, "utf-32": 3}
    assert position(source, 3, encoding) == (0, widths[encoding])


def test_the_command_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [*sys.modules]:
        if name.startswith("pygls") or name == "linnet.lsp.server":
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pygls", None)
    result = CliRunner().invoke(cli, ["lsp"], prog_name="linnet")
    assert result.exit_code == 1
    assert 'pip install "pygls>=2.0"' in result.stderr
