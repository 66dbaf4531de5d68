#!/usr/bin/env python3
"""Entry point: everything is in `harness.cli`."""

from harness.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
