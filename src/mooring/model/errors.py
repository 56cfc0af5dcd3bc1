"""What ends a daemon before it has begun."""


class StartRefused(Exception):
    """What a daemon needs to start is missing or wrong; the text says what, why and what to do."""
