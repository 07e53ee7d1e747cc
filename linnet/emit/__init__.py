"""From a plan to the text of one C file."""
