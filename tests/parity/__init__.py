"""Parity: the same results from every kernel on every instruction set."""
