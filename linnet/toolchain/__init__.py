"""From C text to a loaded library: find a compiler, compile, keep the result, load it.

`cc` finds and runs compilers, `cache` keeps what they made, `load` opens it, `native` asks
which target suits this machine. No module here knows what the C text means.
"""
