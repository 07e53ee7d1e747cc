"""What a target can do, and which targets this machine can run."""
