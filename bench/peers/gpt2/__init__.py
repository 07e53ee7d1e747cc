"""GPT-2 in the formats of other engines, for `linnet bench --compare`.

Each module is named like the engine it converts for and has one function, `convert`.
"""
