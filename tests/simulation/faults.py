"""What can happen at a call, as a closed list. Whoever injects and whoever enumerates read the same one."""

import enum


class Fault(enum.Enum):
    """The value is how it stands in a replay command."""

    CRASH_BEFORE = "crash-before"  # the process dies, the request was never sent
    CRASH_AFTER = "crash-after"  # the request was carried out, the process dies before it knows
    PAUSE = "pause"  # the process stops for longer than its lease lasts, then goes on; the request is sent then
    NOT_FOUND = "404"
    CONFLICT = "409"
    PRECONDITION = "412"
    TOO_MANY = "429"
    ERROR = "500"
    ERROR_AFTER = "500-after"  # carried out, and answered with a failure
    UNAVAILABLE = "503"
    NOT_SENT = "not-sent"
    TIMEOUT_BEFORE = "timeout-before"
    TIMEOUT_AFTER = "timeout-after"
    LATE = "late"  # no answer in time; carried out after the caller has given up
    CUT = "cut"  # carried out, half of the answer arrives
    WRONG = "wrong"  # carried out, the answer is not what the interface promises
    TWICE = "twice"  # carried out, and once more by something on the way
    DELAY = "delay"  # slow, but in time
    STALE_1 = "stale-1"  # a read answers with what was so many versions ago; a watch lags by so many events for a while
    STALE_2 = "stale-2"
    STALE_3 = "stale-3"
    STALE_4 = "stale-4"
    STALE_5 = "stale-5"
    EVENT_LOST = "event-lost"
    EVENT_TWICE = "event-twice"
    EVENT_SWAPPED = "event-swapped"  # comes after the one that follows it
    EVENT_LATE = "event-late"
    STREAM_CUT = "stream-cut"  # in the middle of an event
    STREAM_GONE = "stream-gone"  # and the server no longer keeps the version to resume from
    GATEWAY_CRASH = "gateway-crash"  # the gateway's agent dies somewhere in the middle of it, and is started again soon
    GATEWAY_AWAY = "gateway-away"  # the same, but it comes back long after it has stopped to count as live


CRASHES = (Fault.CRASH_BEFORE, Fault.CRASH_AFTER)
STALE = {Fault(f"stale-{back}"): back for back in range(1, 6)}
STATUS = {
    Fault.NOT_FOUND: 404,
    Fault.CONFLICT: 409,
    Fault.PRECONDITION: 412,
    Fault.TOO_MANY: 429,
    Fault.ERROR: 500,
    Fault.UNAVAILABLE: 503,
}
INITIAL_EVENTS = (  # together they are a list, and a list is whole or broken off
    Fault.CRASH_BEFORE,
    Fault.EVENT_TWICE,
    Fault.EVENT_LATE,
    Fault.STREAM_CUT,
    Fault.STREAM_GONE,
)
EVENTS = (*INITIAL_EVENTS, Fault.EVENT_LOST, Fault.EVENT_SWAPPED)
ANY_CALL = (
    Fault.CRASH_BEFORE,
    Fault.CRASH_AFTER,
    Fault.PAUSE,
    *STATUS,
    Fault.ERROR_AFTER,
    Fault.NOT_SENT,
    Fault.TIMEOUT_BEFORE,
    Fault.TIMEOUT_AFTER,
    Fault.CUT,
    Fault.WRONG,
    Fault.DELAY,
)
WRITES = (*ANY_CALL, Fault.LATE, Fault.TWICE)
READS = (*ANY_CALL, *STALE)
GATEWAY_DEATHS = (Fault.GATEWAY_CRASH, Fault.GATEWAY_AWAY)
GATEWAY_READS = (*ANY_CALL, *GATEWAY_DEATHS)
GATEWAY_WRITES = (*WRITES, *GATEWAY_DEATHS)
OPENS = (
    Fault.CRASH_BEFORE,
    Fault.CRASH_AFTER,
    Fault.PAUSE,
    Fault.NOT_FOUND,
    Fault.TOO_MANY,
    Fault.ERROR,
    Fault.UNAVAILABLE,
    Fault.NOT_SENT,
    Fault.TIMEOUT_BEFORE,
    Fault.DELAY,
    *STALE,
)
