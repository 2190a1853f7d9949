"""What a measurement raises when it has no figure to give."""


class Unmeasured(Exception):
    """A figure could not be taken: the tool is missing, a server died, or an answer was wrong."""
