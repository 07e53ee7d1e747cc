#!/bin/sh
# Make src/parser.c and its neighbours from grammar.js, and note which grammar they are of.
set -eu
cd "$(dirname "$0")"
${TREE_SITTER:-tree-sitter} generate --no-bindings
sha256sum grammar.js > src/grammar.sha256
