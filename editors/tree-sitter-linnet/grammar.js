// The grammar of Linnet 0.1 for tree-sitter.
//
// It takes every program that the compiler's own grammar, linnet/syntax/linnet.lark, takes, and
// gives each construct one node. Block comments nest, so `src/scanner.c` reads them.
//
// What the compiler decides by looking ahead is decided here by trying both readings: whether `<`
// begins the generic arguments of a call, and whether `sum [` begins a reduction. Where both
// succeed the call and the reduction win.

const list = (rule) => seq(rule, repeat(seq(",", rule)), optional(","));
const REDUCTIONS = ["sum", "prod", "max", "min", "any", "all"];
const COMPARISONS = [
    ["||", 1],
    ["&&", 2],
    [choice("==", "!="), 3],
    [choice("<", "<=", ">", ">="), 4],
    ["|", 5],
    ["^", 6],
    ["&", 7],
];
const SUMS = [
    [choice("+", "-"), 8],
    [choice("*", "/", "%"), 9],
];
const POSTFIX = 12;

const binary = ($, operand, [operator, level]) =>
    prec.left(
        level,
        seq(field("left", operand), field("operator", operator), field("right", operand)),
    );

module.exports = grammar({
    name: "linnet",
    word: ($) => $.identifier,
    extras: ($) => [/[ \t\r\n\uFEFF]+/, $.line_comment, $.block_comment],
    externals: ($) => [$.block_comment],
    supertypes: ($) => [$._expression, $._type, $._statement, $._item, $._pattern],
    conflicts: ($) => [
        [$._unary, $.generic_call],
        [$.unary, $.generic_call],
        [$.path, $._name],
        [$.reduction, $.reduction_name],
    ],

    rules: {
        source_file: ($) => seq(optional($.module_line), repeat($.use), repeat($._item)),
        module_line: ($) => seq("module", field("name", $.path)),
        path: ($) => seq($.identifier, repeat(seq(".", $.identifier))),
        use: ($) =>
            prec.right(
                seq(
                    "use",
                    field("module", alias($._use_path, $.path)),
                    optional(seq("::", choice($.identifier, seq("{", list($.pick), "}")))),
                ),
            ),
        _use_path: ($) =>
            seq(choice($.identifier, "crate"), repeat(seq(".", $.identifier))),
        pick: ($) =>
            seq(
                field("name", $.identifier),
                optional(seq("as", field("alias", $.identifier))),
            ),

        // --- items ------------------------------------------------------------------------

        _item: ($) =>
            choice($.const, $.alias, $.struct, $.enum, $.function, $.kernel, $.block),
        visibility: () => "pub",
        const: ($) =>
            seq(
                optional($.visibility),
                "const",
                field("name", $.identifier),
                optional(seq(":", field("type", $._type))),
                "=",
                field("value", $._expression),
            ),
        alias: ($) =>
            seq(
                optional($.visibility),
                "type",
                field("name", $.identifier),
                optional($.generics),
                "=",
                field("type", $._type),
            ),
        struct: ($) =>
            seq(
                optional($.visibility),
                "struct",
                field("name", $.identifier),
                optional($.generics),
                "{",
                repeat($.field),
                "}",
            ),
        field: ($) => seq(field("name", $.identifier), ":", field("type", $._type)),
        enum: ($) =>
            seq(
                optional($.visibility),
                "enum",
                field("name", $.identifier),
                optional($.generics),
                "{",
                optional(list($.variant)),
                "}",
            ),
        variant: ($) => $.identifier,
        function: ($) =>
            prec.right(
                seq(
                    optional($.visibility),
                    field("kind", choice("fn", "op", "entry")),
                    field("name", $.identifier),
                    optional($.generics),
                    $.parameters,
                    optional(seq("->", field("result", $._type))),
                    optional($.kernel_reference),
                    optional($.where),
                    field("body", $.body),
                    optional($.grad),
                ),
            ),
        kernel_reference: ($) =>
            seq("kernel", field("name", $.identifier), optional($.type_arguments)),
        grad: ($) => seq("grad", "(", $.identifier, ",", $.identifier, ")", $.body),
        kernel: ($) =>
            prec.right(
                seq(
                    optional($.visibility),
                    "kernel",
                    field("name", $.identifier),
                    optional($.generics),
                    $.parameters,
                    "->",
                    choice($.field, seq("(", list($.field), ")")),
                    "grid",
                    "(",
                    list($._expression),
                    ")",
                    repeat(seq(choice("warps", "stages"), "(", $._expression, ")")),
                    optional($.where),
                    optional(field("body", $.body)),
                ),
            ),
        block: ($) =>
            seq(
                optional($.visibility),
                "block",
                field("name", $.identifier),
                optional($.generics),
                optional($.where),
                "{",
                repeat(choice($.member, $._item)),
                "}",
            ),
        member: ($) =>
            seq(
                field("kind", choice("param", "buffer", "state", "sub")),
                field("name", $.identifier),
                ":",
                field("type", $._type),
                optional(seq("=", field("value", $._expression))),
            ),
        generics: ($) => seq("<", list($.generic), ">"),
        generic: ($) =>
            seq(
                optional("*"),
                field("name", $.identifier),
                ":",
                field("kind", $.identifier),
                optional(seq("=", field("default", $._type_argument))),
            ),
        parameters: ($) => seq("(", optional(list($.parameter)), ")"),
        parameter: ($) =>
            seq(
                field("name", $.identifier),
                ":",
                field("type", $._type),
                optional(seq("=", field("default", $._expression))),
            ),
        where: ($) => seq("where", list($._expression)),

        // --- statements -------------------------------------------------------------------

        body: ($) => seq("{", repeat($._statement), "}"),
        _statement: ($) =>
            choice(
                $.let,
                $.index_let,
                $.var,
                $.assignment,
                $.return,
                $.static_for,
                $.while,
                $.for,
                $.yield,
                $.call_statement,
            ),
        let: ($) =>
            seq(
                "let",
                field("pattern", $._pattern),
                optional(seq(":", field("type", $._type))),
                "=",
                field("value", $._expression),
            ),
        index_let: ($) =>
            seq(
                "let",
                field("name", $.identifier),
                "[",
                list(choice($.identifier, $.pack)),
                "]",
                "=",
                field("value", $._expression),
            ),
        var: ($) =>
            seq(
                "var",
                field("name", $.identifier),
                optional(seq(":", field("type", $._type))),
                "=",
                field("value", $._expression),
            ),
        assignment: ($) =>
            seq(field("target", $.path), "=", field("value", $._expression)),
        return: ($) => prec.right(seq("return", optional($._expression))),
        static_for: ($) =>
            seq(
                "static",
                "for",
                field("pattern", $._pattern),
                "in",
                field("subject", $._expression),
                optional(seq("..", field("stop", $._expression))),
                $.body,
            ),
        while: ($) => seq("while", field("condition", $._expression), $.body),
        for: ($) =>
            seq(
                "for",
                field("variable", $.identifier),
                "in",
                field("start", $._expression),
                "..",
                field("stop", $._expression),
                $.body,
            ),
        yield: ($) => seq("yield", $._expression),
        call_statement: ($) => seq(field("function", $.identifier), $.arguments),

        _pattern: ($) => choice($.identifier, $.tuple_pattern, $.some_pattern, $.none),
        tuple_pattern: ($) => seq("(", list($._pattern), ")"),
        some_pattern: ($) => seq("some", "(", $._pattern, ")"),

        // --- expressions ------------------------------------------------------------------

        _expression: ($) => choice($.if, $.match, $.for, $._operand),
        if: ($) =>
            seq(
                "if",
                field("condition", $._expression),
                "{",
                field("then", $._expression),
                "}",
                "else",
                "{",
                field("else", $._expression),
                "}",
            ),
        match: ($) =>
            seq("match", field("subject", $._expression), "{", repeat1($.arm), "}"),
        arm: ($) =>
            seq(
                field("pattern", choice($.identifier, $.some_pattern, $.none)),
                "=>",
                field("value", $._expression),
            ),
        _operand: ($) => choice($.binary, $._sum),
        binary: ($) => choice(...COMPARISONS.map((row) => binary($, $._operand, row))),
        _sum: ($) => choice(alias($.sum, $.binary), $._unary),
        sum: ($) => choice(...SUMS.map((row) => binary($, $._sum, row))),
        _unary: ($) => choice($.unary, $._postfix),
        unary: ($) => seq(choice("!", "-", "+"), $._postfix),
        _postfix: ($) =>
            choice($._primary, $.call, alias($.generic_call, $.call), $.index, $.attribute),
        call: ($) => prec(POSTFIX, seq(field("function", $._postfix), $.arguments)),
        generic_call: ($) =>
            prec.dynamic(
                1,
                seq(field("function", $._postfix), $.type_arguments, $.arguments),
            ),
        arguments: ($) => seq("(", optional(list($.argument)), ")"),
        argument: ($) => seq(optional(seq(field("name", $.identifier), "=")), $._expression),
        index: ($) =>
            prec(POSTFIX, seq(field("base", $._postfix), "[", list($._component), "]")),
        _component: ($) => choice($._expression, $.dots, $.pack, $.slice),
        dots: () => "...",
        pack: ($) => seq("*", $.identifier),
        slice: ($) =>
            choice(
                seq(
                    optional($._expression),
                    ":",
                    optional($._expression),
                    optional(seq(":", optional($._expression))),
                ),
                seq(optional($._expression), "::", optional($._expression)),
            ),
        attribute: ($) =>
            prec(POSTFIX, seq(field("base", $._postfix), ".", field("name", $.identifier))),
        _primary: ($) =>
            choice(
                $.integer,
                $.float,
                $.string,
                $.boolean,
                $.none,
                $._name,
                $.some,
                $.group,
                $.tuple,
                $.shape,
                $.reduction,
            ),
        _name: ($) => choice($.identifier, alias($.reduction_name, $.identifier)),
        reduction_name: () => prec(-1, choice(...REDUCTIONS)),
        some: ($) => seq("some", "(", $._expression, ")"),
        group: ($) => seq("(", $._expression, ")"),
        tuple: ($) => seq("(", $._expression, ",", optional(list($._expression)), ")"),
        shape: ($) => seq("[", optional(list($._expression)), "]"),
        reduction: ($) =>
            prec.dynamic(
                2,
                prec.right(
                    -1,
                    seq(
                        field("kind", choice(...REDUCTIONS)),
                        optional(seq("<", field("accumulator", $.identifier), ">")),
                        "[",
                        list($.identifier),
                        "]",
                        field("body", $._expression),
                    ),
                ),
            ),

        // --- types ------------------------------------------------------------------------

        _type: ($) =>
            choice($.tensor_type, $.tuple_type, $.array_type, $.named_type, $.optional_type),
        optional_type: ($) =>
            seq(choice($.tensor_type, $.tuple_type, $.array_type, $.named_type), "?"),
        tensor_type: ($) =>
            seq(
                "Tensor",
                "[",
                list(choice($._expression, $.pack)),
                ";",
                field("dtype", $.named_type),
                "]",
            ),
        tuple_type: ($) => seq("(", $._type, ",", optional(list($._type)), ")"),
        array_type: ($) =>
            seq("[", field("element", $._type), ";", field("size", $._expression), "]"),
        named_type: ($) => seq($.path, optional($.type_arguments)),
        type_arguments: ($) => seq("<", list($._type_argument), ">"),
        _type_argument: ($) =>
            choice(
                $._sum,
                alias($.optional_argument, $.optional_type),
                $.generic_type,
                $.tensor_type,
            ),
        generic_type: ($) => seq($.path, $.type_arguments),
        optional_argument: ($) => seq(choice($._sum, $.generic_type, $.tensor_type), "?"),

        // --- words ------------------------------------------------------------------------

        identifier: () => /[A-Za-z_][A-Za-z0-9_]*/,
        integer: () => token(choice(/0x[0-9A-Fa-f_]+/, /0b[01_]+/, /[0-9][0-9_]*/)),
        float: () =>
            token(
                choice(
                    /[0-9][0-9_]*\.[0-9][0-9_]*([eE][+-]?[0-9][0-9_]*)?/,
                    /[0-9][0-9_]*[eE][+-]?[0-9][0-9_]*/,
                ),
            ),
        string: () => token(/"([^"\\\r\n]|\\[^\r\n])*"/),
        boolean: () => choice("true", "false"),
        none: () => "none",
        line_comment: () => token(seq("//", /[^\r\n]*/)),
    },
});
