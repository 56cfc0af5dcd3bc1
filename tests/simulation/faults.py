"""What can happen at a call, as a closed list. Whoever injects and whoever enumerates read the same one."""

import enum


class Fault(enum.Enum):
    """The value is how it stands in a replay command."""

    CRASH_BEFORE = "crash-before"  # the process dies, the request was never sent
    CRASH_AFTER = "crash-after"  # the request was carried out, the process dies before it knows
    CRASH_STALE = "crash-stale"  # the process dies, and finds an API server whose watches lag behind when it is back
    PAUSE = "pause"  # the process stops for longer than its lease lasts, then goes on; the request is sent then
    PAUSE_AFTER = "pause-after"  # the request was carried out; it stops for as long before it knows
    WAKE = "wake"  # the leader that is stopped goes on, just before this request of its successor is carried out
    NOT_FOUND = "404"
    CONFLICT = "409"
    GONE = "410"
    PRECONDITION = "412"
    TOO_MANY = "429"
    ERROR = "500"
    ERROR_AFTER = "500-after"  # carried out, and answered with a failure
    UNAVAILABLE = "503"
    NO_ANSWER_BEHIND = "504"  # something on the way got no answer in time; a write is carried out soon after
    NOT_SENT = "not-sent"
    EXPIRED = "expired"  # the server's certificate has run out: nobody gets through to it until it is renewed
    TIMEOUT_BEFORE = "timeout-before"
    TIMEOUT_AFTER = "timeout-after"
    RESET = "reset"  # carried out, the connection breaks before the whole answer is there
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
    EVENT_WRONG = "event-wrong"  # not what the interface promises
    STREAM_CUT = "stream-cut"  # in the middle of an event
    STREAM_GONE = "stream-gone"  # and the server no longer keeps the version to resume from
    GATEWAY_CRASH = "gateway-crash"  # the gateway's agent dies somewhere in the middle of it, and is started again soon
    GATEWAY_AWAY = "gateway-away"  # the same, but it comes back long after it has stopped to count as live


CRASHES = (Fault.CRASH_BEFORE, Fault.CRASH_AFTER)
PAUSES = (Fault.PAUSE, Fault.PAUSE_AFTER)
STALE = {Fault(f"stale-{back}"): back for back in range(1, 6)}
STATUS = {
    Fault.NOT_FOUND: 404,
    Fault.CONFLICT: 409,
    Fault.PRECONDITION: 412,
    Fault.TOO_MANY: 429,
    Fault.ERROR: 500,
    Fault.UNAVAILABLE: 503,
    Fault.NO_ANSWER_BEHIND: 504,
    Fault.GONE: 410,
}
REFUSALS = tuple(fault for fault in STATUS if fault is not Fault.GONE)  # which only old versions are
INITIAL_EVENTS = (  # together they are a list, and a list is whole or broken off
    Fault.CRASH_BEFORE,
    Fault.PAUSE,
    Fault.EVENT_TWICE,
    Fault.EVENT_LATE,
    Fault.EVENT_WRONG,
    Fault.STREAM_CUT,
    Fault.STREAM_GONE,
)
EVENTS = (*INITIAL_EVENTS, Fault.EVENT_LOST, Fault.EVENT_SWAPPED)
HEARD_WRONGLY = (
    Fault.EVENT_LOST,
    Fault.EVENT_TWICE,
    Fault.EVENT_SWAPPED,
    Fault.EVENT_LATE,
    Fault.EVENT_WRONG,
    *STALE,
    Fault.CRASH_STALE,
)
ANY_CALL = (
    *CRASHES,
    Fault.CRASH_STALE,
    *PAUSES,
    *REFUSALS,
    Fault.ERROR_AFTER,
    Fault.NOT_SENT,
    Fault.EXPIRED,
    Fault.TIMEOUT_BEFORE,
    Fault.TIMEOUT_AFTER,
    Fault.RESET,
    Fault.CUT,
    Fault.WRONG,
    Fault.DELAY,
)
WRITES = (*ANY_CALL, Fault.LATE, Fault.TWICE)
READS = (*ANY_CALL, *STALE)
LISTS = (*ANY_CALL, Fault.GONE)
GATEWAY_DEATHS = (Fault.GATEWAY_CRASH, Fault.GATEWAY_AWAY)
GATEWAY_READS = (*ANY_CALL, *GATEWAY_DEATHS)
GATEWAY_WRITES = (*WRITES, *GATEWAY_DEATHS)
OPENS = (
    *CRASHES,
    Fault.CRASH_STALE,
    *PAUSES,
    Fault.NOT_FOUND,
    Fault.GONE,
    Fault.TOO_MANY,
    Fault.ERROR,
    Fault.UNAVAILABLE,
    Fault.NO_ANSWER_BEHIND,
    Fault.NOT_SENT,
    Fault.EXPIRED,
    Fault.TIMEOUT_BEFORE,
    Fault.DELAY,
    *STALE,
)
