"""What is happening, on stderr, so that stdout holds nothing but the result."""

import sys


def say(line: str) -> None:
    print(f"bench: {line}", file=sys.stderr, flush=True)
