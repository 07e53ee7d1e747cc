"""One module an engine, each with a class `ThisEngine`; see `linnet.bench.engine`.

Engines that read formats of their own take conversions from outside (`linnet.bench.conversions`).
Nothing here is part of the compiler or imported by it.
"""
