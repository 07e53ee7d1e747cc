// Block comments, which nest.

#include "tree_sitter/parser.h"

enum TokenType { BLOCK_COMMENT };

void *tree_sitter_linnet_external_scanner_create(void) { return NULL; }
void tree_sitter_linnet_external_scanner_destroy(void *payload) { (void)payload; }
unsigned tree_sitter_linnet_external_scanner_serialize(void *payload, char *buffer) {
    (void)payload;
    (void)buffer;
    return 0;
}
void tree_sitter_linnet_external_scanner_deserialize(void *payload, const char *buffer,
                                                     unsigned length) {
    (void)payload;
    (void)buffer;
    (void)length;
}

static bool take(TSLexer *lexer, int32_t wanted) {
    if (lexer->lookahead != wanted) {
        return false;
    }
    lexer->advance(lexer, false);
    return true;
}

bool tree_sitter_linnet_external_scanner_scan(void *payload, TSLexer *lexer,
                                              const bool *valid_symbols) {
    (void)payload;
    if (!valid_symbols[BLOCK_COMMENT]) {
        return false;
    }
    while (lexer->lookahead == ' ' || lexer->lookahead == '\t' || lexer->lookahead == '\r' ||
           lexer->lookahead == '\n' || lexer->lookahead == 0xFEFF) {
        lexer->advance(lexer, true);
    }
    if (!take(lexer, '/') || !take(lexer, '*')) {
        return false;
    }
    for (unsigned depth = 1; depth > 0;) {
        if (lexer->eof(lexer)) {
            return false;
        }
        if (take(lexer, '/')) {
            depth += take(lexer, '*');
        } else if (take(lexer, '*')) {
            depth -= take(lexer, '/');
        } else {
            lexer->advance(lexer, false);
        }
    }
    lexer->result_symbol = BLOCK_COMMENT;
    return true;
}
