"""What ends a daemon before it has begun.

StartRefused      what was configured is not there or wrong: exit code 2
 +- Hindered      it is right, and something on this machine is in the way: exit code 1
"""


class StartRefused(Exception):
    """What a daemon needs to start is missing or wrong; the text says what, why and what to do."""


class Hindered(StartRefused):
    """Nothing is wrong with the configuration: without what is in the way, the daemon would start with it."""
