(line_comment) @comment
(block_comment) @comment
(string) @string
(integer) @number
(float) @number
(boolean) @constant.builtin
(none) @constant.builtin
"some" @constant.builtin

["module" "use" "as" "crate"] @keyword.import
["const" "type" "struct" "enum" "block" "kernel" "fn" "op" "entry" "grad"] @keyword
["param" "buffer" "state" "sub" "let" "var" "grid" "warps" "stages"] @keyword
(visibility) @keyword
["return" "yield" "if" "else" "match" "static" "for" "in" "while" "where"] @keyword.control
(reduction kind: _ @keyword.operator)

(function name: (identifier) @function)
(kernel name: (identifier) @function)
(block name: (identifier) @type)
(struct name: (identifier) @type)
(enum name: (identifier) @type)
(alias name: (identifier) @type)
(const name: (identifier) @constant)
(variant) @constant
(member name: (identifier) @property)
(field name: (identifier) @property)
(attribute name: (identifier) @property)
(parameter name: (identifier) @variable.parameter)
(generic name: (identifier) @type.parameter kind: (identifier) @type.builtin)
(call function: (identifier) @function.call)
(call function: (attribute name: (identifier) @function.method))
(argument name: (identifier) @variable.parameter)
(named_type (path (identifier) @type))
"Tensor" @type.builtin
((identifier) @type.builtin
 (#match? @type.builtin "^(bool|[iu](8|16|32|64)|f16|bf16|f32|f64)$"))
(module_line name: (path) @module)
(use module: (path) @module)

["->" "=>" "==" "!=" "<=" ">=" "&&" "||" "=" "+" "-" "*" "/" "%" "!" "?" "&" "|" "^" ".."
 "<" ">"] @operator
["(" ")" "[" "]" "{" "}"] @punctuation.bracket
["," ":" ";" "." "::"] @punctuation.delimiter
