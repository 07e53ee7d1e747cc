"""Core IR: a small typed graph, one per entry. See `node.py` for its shape."""
