"""One module an engine, each with a class `ThisEngine`; see `linnet.bench.engine`.

Conversions for engines that read formats of their own know the families named in them and
refuse others. Nothing here is part of the compiler or imported by it.
"""
