"""The zoo: finding a model by name, loading it, and writing text with it."""
