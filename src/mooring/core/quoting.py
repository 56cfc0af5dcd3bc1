"""What somebody wrote, as it stands in a sentence of ours: in quotes, on one line, and never long."""

LONGEST = 60
CUT = "..."


def quoted(text: str) -> str:
    """A text in quotes, with what cannot be seen spelled out; of a long one the beginning, and that it goes on."""
    whole = repr(text)
    if len(whole) <= LONGEST:
        return whole
    shorter = (repr(f"{text[:kept]}{CUT}") for kept in range(LONGEST, 0, -1))
    return next(each for each in shorter if len(each) <= LONGEST)
