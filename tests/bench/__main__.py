"""Everything that is measured: `python -m tests.bench`."""

from __future__ import annotations

from tests.bench import install, patch, verify

if __name__ == "__main__":
    install.main()
    patch.main()
    verify.main()
