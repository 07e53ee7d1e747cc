"""Help for editors: what a source means at each place, and the server that tells it.

`analysis` and the modules beside it know nothing of protocols; `server` speaks LSP through
`pygls`, which comes with the extra `lsp`.
"""
