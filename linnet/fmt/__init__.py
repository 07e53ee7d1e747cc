"""The formatter: source text in, the same program in house style out."""

from linnet.fmt.source import format_source

__all__ = ["format_source"]
