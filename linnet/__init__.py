"""Linnet: a compiler for typed tensor programs, and a zoo of models written in it."""
