"""From text to a syntax tree with spans: `linnet.syntax.tree` and `linnet.syntax.parse`."""
