"""The contributor's road: from a folder with a checkpoint to an entry of the zoo.

    begin       a folder that checks: card, source, bindings, README (`linnet nest new`)
    propose     bindings by names and shapes (`linnet nest bind`)
    entries     whether a source has what its task calls; `papers`: README and bench.json
    samples     samples.json: its kinds, and holding a model against them
    reference   what another implementation makes of the samples (`linnet nest reference`)
    diagram     an entry as a drawing (`linnet nest diagram`)
    pages       the zoo as static pages (`linnet nest index`)

No module here knows a model family: everything is read off names, shapes and config.json.
"""
