"""From a graph to kernel calls, loops, buffers and packing orders. The only stage that chooses."""
