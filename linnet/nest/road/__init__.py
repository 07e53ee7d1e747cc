"""The contributor's road: from a folder with a checkpoint to an entry of the zoo.

    begin       `linnet nest new`: gathers what a checkpoint says, and writes a folder that checks
                (`sizes`: generics; `tensors`: folded; `skeleton`: the source; `draft`: the rest)
    binding     `linnet nest bind` for an entry; `propose` matches by names and shapes
    entries     whether a source has what its task calls; `papers`: README and bench.json
    samples     samples.json: its kinds, and holding a model against them
    reference   `linnet nest reference`: what transformers makes of the samples, in a process of
                its own (`reference_worker`)
    flow        the steps of an entry and what passes between them
    diagram     `linnet nest diagram`: a flow as a drawing; `drawn`: those of a card's entries
    pages       `linnet nest index`: the zoo as static pages; `prose`: a README as part of one

No module here knows a model family: everything is read off names, shapes and config.json.
"""
