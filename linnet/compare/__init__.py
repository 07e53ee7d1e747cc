"""Finding the place where two runs of one model part: block by block, op by op.

Ours are the values of an entry's calls (`linnet.lower.probes`); beside them stand the values of
another stack's modules, or of the interpreter. `verdicts` compares them, `locate` goes back from
the first difference to the op that made it.
"""
