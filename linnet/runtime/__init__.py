"""From a loaded library and a checkpoint to a callable model.

`checkpoint` maps the weight files. No module here imports a stage of the compiler.
"""
