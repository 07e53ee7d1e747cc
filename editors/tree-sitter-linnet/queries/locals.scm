(function) @local.scope
(block) @local.scope
(body) @local.scope
(arm) @local.scope

(parameter name: (identifier) @local.definition)
(generic name: (identifier) @local.definition)
(member name: (identifier) @local.definition)
(let pattern: (identifier) @local.definition)
(index_let name: (identifier) @local.definition)
(var name: (identifier) @local.definition)
(for variable: (identifier) @local.definition)
(static_for pattern: (identifier) @local.definition)
(some_pattern (identifier) @local.definition)

(identifier) @local.reference
