"""`linnet lsp`: the language server, on stdin and stdout.

Turns requests into questions to the modules beside it, and their answers into the protocol's
types. Every request is answered: what goes wrong inside is told to the log of the editor and the
answer is empty, for an editor that loses its server helps nobody.
"""

from __future__ import annotations

import asyncio
import functools
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcInvalidParams
from pygls.lsp.server import LanguageServer
from pygls.uris import from_fs_path, to_fs_path

import linnet
from linnet.diag import Diagnostic, Span
from linnet.errors import LinnetError, SourceError, UsageError
from linnet.fmt import format_source
from linnet.lsp import actions, complete, hints, hover, navigate
from linnet.lsp.analysis import Analysis
from linnet.lsp.places import Encoding, offset_of, position, span_positions
from linnet.lsp.symbols import Symbol
from linnet.lsp.workspace import Workspace, imported

QUIET = 0.2
"""Seconds without a change after which diagnostics are worked out."""

_SEVERITY = {
    "error": lsp.DiagnosticSeverity.Error,
    "warning": lsp.DiagnosticSeverity.Warning,
    "note": lsp.DiagnosticSeverity.Information,
}
_SYMBOL_KIND = {
    "module": lsp.SymbolKind.Module, "function": lsp.SymbolKind.Function,
    "op": lsp.SymbolKind.Function, "entry": lsp.SymbolKind.Method,
    "block": lsp.SymbolKind.Class, "enum": lsp.SymbolKind.Enum,
    "struct": lsp.SymbolKind.Struct, "type": lsp.SymbolKind.Interface,
    "constant": lsp.SymbolKind.Constant, "variant": lsp.SymbolKind.EnumMember,
    "generic": lsp.SymbolKind.TypeParameter,
}  # fmt: skip
_COMPLETION_KIND = {
    "module": lsp.CompletionItemKind.Module, "function": lsp.CompletionItemKind.Function,
    "op": lsp.CompletionItemKind.Function, "entry": lsp.CompletionItemKind.Method,
    "block": lsp.CompletionItemKind.Class, "enum": lsp.CompletionItemKind.Enum,
    "struct": lsp.CompletionItemKind.Struct, "type": lsp.CompletionItemKind.Interface,
    "constant": lsp.CompletionItemKind.Constant, "variant": lsp.CompletionItemKind.EnumMember,
    "generic": lsp.CompletionItemKind.TypeParameter, "kind": lsp.CompletionItemKind.Keyword,
    "parameter": lsp.CompletionItemKind.Variable, "variable": lsp.CompletionItemKind.Variable,
    "keyword": lsp.CompletionItemKind.Keyword,
    "prelude function": lsp.CompletionItemKind.Function,
    "prelude type": lsp.CompletionItemKind.Class,
}  # fmt: skip
_ENCODINGS: dict[str, Encoding] = {"utf-8": "utf-8", "utf-16": "utf-16", "utf-32": "utf-32"}

Answer = TypeVar("Answer")


class Server(LanguageServer):
    """The server and what it works on."""

    def __init__(self, std: Path | None = None) -> None:
        super().__init__(
            "linnet",
            linnet.__version__,
            text_document_sync_kind=lsp.TextDocumentSyncKind.Incremental,
        )
        self.sources = Workspace(std)
        self.changes: dict[str, float] = {}  # of each document, when it changed last

    @property
    def encoding(self) -> Encoding:
        """How the editor counts columns."""
        encoding = self.workspace.position_encoding
        return _ENCODINGS[
            encoding.value if isinstance(encoding, lsp.PositionEncodingKind) else str(encoding)
        ]

    def analysis(self, uri: str) -> Analysis:
        return self.sources.analysis(_path(uri))

    def offset(self, analysis: Analysis, place: lsp.Position) -> int:
        return offset_of(analysis.source, place.line, place.character, self.encoding)

    def range(self, span: Span) -> lsp.Range:
        start, end = span_positions(span, self.encoding)
        return lsp.Range(lsp.Position(*start), lsp.Position(*end))

    def location(self, span: Span) -> lsp.Location | None:
        path = span.source.path
        if path is None:
            return None
        return lsp.Location(from_fs_path(str(path.resolve())) or "", self.range(span))

    def take(self, uri: str) -> None:
        """Take the text of a document as it is now."""
        self.sources.open(_path(uri), self.workspace.get_text_document(uri).source)

    def importers(self, uri: str) -> list[str]:
        """The other open documents that import a document, directly or not."""
        path = _path(uri).resolve()
        others = [other for other in self.workspace.text_documents if other != uri]
        return [other for other in others if path in imported(self.analysis(other))]

    async def publish_soon(self, uri: str) -> None:
        """Publish diagnostics once the document has been left alone for a moment."""
        now = self.changes[uri] = time.monotonic()
        await asyncio.sleep(QUIET)
        if self.changes.get(uri) == now:
            for each in (uri, *self.importers(uri)):
                self.publish(each)

    def publish(self, uri: str) -> None:
        analysis = self.analysis(uri)
        version = self.workspace.get_text_document(uri).version
        found = [self.diagnostic(d, analysis) for d in analysis.diagnostics]
        self.text_document_publish_diagnostics(
            lsp.PublishDiagnosticsParams(uri, [d for d in found if d is not None], version)
        )

    def diagnostic(self, found: Diagnostic, analysis: Analysis) -> lsp.Diagnostic | None:
        """A diagnostic of this source. One of another file is told at the top of this one, unless
        that file is open and tells it itself."""
        here = found.primary is not None and found.primary.span.source is analysis.source
        lines = [found.message]
        if found.primary is not None and found.primary.text:
            lines.append(found.primary.text)
        lines += [f"note: {note}" for note in found.notes]
        lines += [f"help: {help}" for help in found.help]
        span = analysis.source.span(0, 0)
        if here and found.primary is not None:
            span = found.primary.span
        elif found.primary is not None:
            path = found.primary.span.source.path
            if path is not None and path.resolve() in self.sources.texts:
                return None
            lines.insert(0, f"{found.primary.span}:")
        related = [
            lsp.DiagnosticRelatedInformation(location, label.text)
            for label in found.related
            if (location := self.location(label.span)) is not None
        ]
        return lsp.Diagnostic(
            self.range(span), "\n".join(lines), _SEVERITY[str(found.severity)], found.code,
            source="linnet", related_information=related or None,
        )  # fmt: skip


def _path(uri: str) -> Path:
    """The file of a document; one that was never saved gets a name of its own."""
    path = to_fs_path(uri) if uri.startswith("file:") else None
    if path is None:
        return Path("/untitled") / uri.replace("/", "_").replace(":", "_")
    return Path(path)


def serve(std: Path | None = None) -> None:
    """Answer an editor on stdin and stdout until it goes."""
    make_server(std).start_io()


def make_server(std: Path | None = None) -> Server:
    """A server with all its features."""
    server = Server(std)
    for name, function, options in _FEATURES:
        handler = function if asyncio.iscoroutinefunction(function) else _safe(function)
        server.feature(name, options)(functools.partial(handler, server))
    return server


def _safe(function: Callable[..., Answer]) -> Callable[..., Answer | None]:
    """`function`, with an empty answer in place of an exception nobody has foreseen."""

    def answer(server: Server, params: Any) -> Answer | None:
        try:
            return function(server, params)
        except JsonRpcInvalidParams:
            raise
        except (Exception, RecursionError) as error:
            server.window_log_message(
                lsp.LogMessageParams(
                    lsp.MessageType.Error, f"{function.__name__}: {type(error).__name__}: {error}"
                )
            )
            return None

    return answer


# --- documents ----------------------------------------------------------------------------


def _initialized(server: Server, params: lsp.InitializedParams) -> None:
    folders = [to_fs_path(uri) for uri in server.workspace.folders]
    server.sources.folders = [Path(folder) for folder in folders if folder]


async def _opened(server: Server, params: lsp.DidOpenTextDocumentParams) -> None:
    uri = params.text_document.uri
    server.take(uri)
    await _publish(server, uri)


async def _changed(server: Server, params: lsp.DidChangeTextDocumentParams) -> None:
    uri = params.text_document.uri
    server.take(uri)
    await _publish(server, uri)


async def _publish(server: Server, uri: str) -> None:
    try:
        await server.publish_soon(uri)
    except (Exception, RecursionError) as error:
        server.window_log_message(
            lsp.LogMessageParams(
                lsp.MessageType.Error, f"diagnostics: {type(error).__name__}: {error}"
            )
        )


def _closed(server: Server, params: lsp.DidCloseTextDocumentParams) -> None:
    uri = params.text_document.uri
    server.changes.pop(uri, None)
    server.sources.close(_path(uri))
    server.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, []))


def _files_changed(server: Server, params: lsp.DidChangeWatchedFilesParams) -> None:
    server.sources.refresh()
    for uri in server.workspace.text_documents:
        server.publish(uri)


# --- questions about a place --------------------------------------------------------------


def _at(server: Server, params: Any) -> tuple[Analysis, int]:
    analysis = server.analysis(params.text_document.uri)
    return analysis, server.offset(analysis, params.position)


def _hover(server: Server, params: lsp.HoverParams) -> lsp.Hover | None:
    found = hover.hover(*_at(server, params))
    if found is None:
        return None
    span, text = found
    return lsp.Hover(lsp.MarkupContent(lsp.MarkupKind.Markdown, text), server.range(span))


def _definition(server: Server, params: lsp.DefinitionParams) -> lsp.Location | None:
    analysis, offset = _at(server, params)
    span = navigate.definition(analysis, offset)
    return None if span is None else server.location(span)


def _references(server: Server, params: lsp.ReferenceParams) -> list[lsp.Location]:
    analysis, offset = _at(server, params)
    use = analysis.certain_use_at(offset)
    if use is None:
        return []
    declared = use.symbol.span
    found = []
    for span in navigate.references(_related(server, params), use.symbol):
        is_declaration = span.start == declared.start and span.source.path == declared.source.path
        location = server.location(span)
        if location and (params.context.include_declaration or not is_declaration):
            found.append(location)
    return found


def _related(server: Server, params: Any) -> list[Analysis]:
    related = server.sources.related(_path(params.text_document.uri))
    for analysis in related:
        _ = analysis.types  # members behind dots are known to the checker
    return related


def _prepare_rename(server: Server, params: lsp.PrepareRenameParams) -> lsp.Range | None:
    try:
        return server.range(navigate.renamable(*_at(server, params)).span)
    except UsageError as error:
        raise JsonRpcInvalidParams(error.message) from None


def _rename(server: Server, params: lsp.RenameParams) -> lsp.WorkspaceEdit | None:
    try:
        use = navigate.renamable(*_at(server, params))
        spans = navigate.rename(_related(server, params), use.symbol, params.new_name)
    except UsageError as error:
        raise JsonRpcInvalidParams(error.message) from None
    changes: dict[str, list[lsp.TextEdit]] = {}
    for span in spans:
        location = server.location(span)
        if location is not None:
            edit = lsp.TextEdit(location.range, params.new_name)
            changes.setdefault(location.uri, []).append(edit)
    return lsp.WorkspaceEdit(changes)


def _completion(server: Server, params: lsp.CompletionParams) -> lsp.CompletionList:
    items = [
        lsp.CompletionItem(
            candidate.name,
            kind=_COMPLETION_KIND.get(candidate.kind, lsp.CompletionItemKind.Property),
            detail=candidate.detail or None,
            documentation=(
                lsp.MarkupContent(lsp.MarkupKind.Markdown, candidate.doc) if candidate.doc else None
            ),
        )
        for candidate in complete.complete(*_at(server, params))
    ]
    return lsp.CompletionList(is_incomplete=False, items=items)


# --- questions about a document -----------------------------------------------------------


def _document_symbols(server: Server, params: lsp.DocumentSymbolParams) -> list[lsp.DocumentSymbol]:
    analysis = server.analysis(params.text_document.uri)
    return [_document_symbol(server, child) for child in analysis.symbol.children.values()]


def _document_symbol(server: Server, symbol: Symbol) -> lsp.DocumentSymbol:
    return lsp.DocumentSymbol(
        symbol.name or "?",
        _SYMBOL_KIND.get(symbol.kind, lsp.SymbolKind.Property),
        server.range(symbol.node.span),
        server.range(symbol.span),
        children=[_document_symbol(server, child) for child in symbol.items],
    )


def _workspace_symbols(
    server: Server, params: lsp.WorkspaceSymbolParams
) -> list[lsp.SymbolInformation]:
    analyses = {
        id(a): a for path in list(server.sources.texts) for a in server.sources.related(path)
    }
    found = []
    for symbol in navigate.workspace_symbols(analyses.values(), params.query):
        location = server.location(symbol.span)
        if location is not None:
            kind = _SYMBOL_KIND.get(symbol.kind, lsp.SymbolKind.Property)
            owner = symbol.parent.name if symbol.parent is not None else None
            found.append(lsp.SymbolInformation(location, symbol.name, kind, container_name=owner))
    return found


def _formatting(server: Server, params: lsp.DocumentFormattingParams) -> list[lsp.TextEdit]:
    """One edit for the lines that change; none for a text that does not parse."""
    source = server.analysis(params.text_document.uri).source
    try:
        text = format_source(source)
    except (SourceError, LinnetError):
        return []
    start, end = 0, len(source.text)
    stop = len(text)
    while start < min(end, stop) and source.text[start] == text[start]:
        start += 1
    while end > start and stop > start and source.text[end - 1] == text[stop - 1]:
        end, stop = end - 1, stop - 1
    if start == end and start == stop:
        return []
    return [lsp.TextEdit(server.range(source.span(start, end)), text[start:stop])]


def _semantic_tokens(server: Server, params: lsp.SemanticTokensParams) -> lsp.SemanticTokens:
    analysis = server.analysis(params.text_document.uri)
    data: list[int] = []
    line = column = 0
    for start, length, kind, modifiers in hints.semantic_tokens(analysis):
        row, place = position(analysis.source, start, server.encoding)
        data += [row - line, place if row > line else place - column, length, kind, modifiers]
        line, column = row, place
    return lsp.SemanticTokens(data)


def _inlay_hints(server: Server, params: lsp.InlayHintParams) -> list[lsp.InlayHint]:
    analysis = server.analysis(params.text_document.uri)
    start = server.offset(analysis, params.range.start)
    end = server.offset(analysis, params.range.end)
    return [
        lsp.InlayHint(
            lsp.Position(*position(analysis.source, at, server.encoding)),
            text,
            lsp.InlayHintKind.Type,
        )
        for at, text in hints.inlay_hints(analysis, start, end)
    ]


def _code_actions(server: Server, params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
    return list(_repairs(server, params))


def _repairs(server: Server, params: lsp.CodeActionParams) -> Iterator[lsp.CodeAction]:
    uri = params.text_document.uri
    analysis = server.analysis(uri)
    start = server.offset(analysis, params.range.start)
    end = server.offset(analysis, params.range.end)
    for action in actions.actions(analysis, start, end):
        found = server.diagnostic(action.diagnostic, analysis)
        edit = lsp.TextEdit(server.range(action.span), action.text)
        yield lsp.CodeAction(
            action.title,
            kind=lsp.CodeActionKind.QuickFix,
            diagnostics=[found] if found is not None else None,
            edit=lsp.WorkspaceEdit({uri: [edit]}),
        )


_FEATURES: tuple[tuple[str, Callable[..., Any], Any], ...] = (
    (lsp.INITIALIZED, _initialized, None),
    (lsp.TEXT_DOCUMENT_DID_OPEN, _opened, None),
    (lsp.TEXT_DOCUMENT_DID_CHANGE, _changed, None),
    (lsp.TEXT_DOCUMENT_DID_CLOSE, _closed, None),
    (lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES, _files_changed, None),
    (lsp.TEXT_DOCUMENT_HOVER, _hover, None),
    (lsp.TEXT_DOCUMENT_DEFINITION, _definition, None),
    (lsp.TEXT_DOCUMENT_REFERENCES, _references, None),
    (lsp.TEXT_DOCUMENT_PREPARE_RENAME, _prepare_rename, None),
    (lsp.TEXT_DOCUMENT_RENAME, _rename, lsp.RenameOptions(prepare_provider=True)),
    (
        lsp.TEXT_DOCUMENT_COMPLETION,
        _completion,
        lsp.CompletionOptions(trigger_characters=[".", ":", "{"]),
    ),
    (lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL, _document_symbols, None),
    (lsp.WORKSPACE_SYMBOL, _workspace_symbols, None),
    (lsp.TEXT_DOCUMENT_FORMATTING, _formatting, None),
    (
        lsp.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL,
        _semantic_tokens,
        lsp.SemanticTokensLegend(list(hints.TOKEN_TYPES), list(hints.TOKEN_MODIFIERS)),
    ),
    (lsp.TEXT_DOCUMENT_INLAY_HINT, _inlay_hints, None),
    (
        lsp.TEXT_DOCUMENT_CODE_ACTION,
        _code_actions,
        lsp.CodeActionOptions(code_action_kinds=[lsp.CodeActionKind.QuickFix]),
    ),
)
