"""What is worth an event on a Service, in words for `kubectl describe`. Knows nothing of how events are written."""

from collections.abc import Iterable

from msgspec import Struct

from mooring.core import shares
from mooring.model.kubernetes import Condition, Name, Service
from mooring.model.reasons import Reason
from mooring.model.steps import Clear, Publish, Step, Tell

NORMAL, WARNING = "Normal", "Warning"
QUIET = {Reason.WAITING_FOR_ADDRESS.value, Reason.NO_ADDRESS_YET.value, Reason.WAITING_FOR_GATEWAYS.value}
"""On the way to something better; the condition is enough."""


WORTH_A_WARNING = {
    Reason.NO_ENDPOINTS.value,
    Reason.BAD_ENDPOINT.value,
    Reason.CLIENT_HIDDEN.value,
    Reason.NETWORK_POLICY.value,
    Reason.ADDRESS_RETIRED.value,
    Reason.GATEWAY_REFUSES.value,
}
"""We have done our part, and its owner should look at it all the same."""


class News(Struct, frozen=True):
    """One event: what was done, and why a person may want to know."""

    type: str
    reason: str
    action: str
    note: str


def news(service: Service, step: Step) -> tuple[News, ...]:
    """What a step that was just taken is worth telling."""
    shown = ", ".join(each.ip or each.hostname for each in service.status.load_balancer.ingress)
    match step:
        case Publish(addresses, conditions):
            return *_published(service, shown, addresses), *_warnings(conditions)
        case Clear(conditions) if shown:
            return News(NORMAL, "Withdrawn", "Withdraw", f"{shown} is no longer its address."), *_warnings(conditions)
        case Tell(conditions):
            told = _warnings(conditions)
            # All Services hear of it at once; only who has no address yet waits for it.
            return tuple(each for each in told if not shown or each.reason != Reason.NO_GATEWAY.value)
        case _:
            return ()


def _published(service: Service, shown: str, addresses: tuple[str, ...]) -> tuple[News, ...]:
    """Nothing, where it only shows other ports of the same address: its owner has changed them."""
    if not shown:
        return (News(NORMAL, "Published", "Publish", f"Its address is {' and '.join(addresses)}."),)
    if shown != ", ".join(addresses):
        note = f"It showed {shown}, which is not its address; it shows {', '.join(addresses)} now."
    elif shares.told(service):
        note = f"It showed {shown} in another ipMode; it shows it as it is configured now."
    else:
        return ()
    return (News(WARNING, "Restored", "Publish", note),)


def moved(had: Iterable[str | None], has: Iterable[str | None]) -> tuple[News, ...]:
    """It is given other addresses than those that it had, as far as these are known."""
    old, new = ([each for each in every if each is not None] for every in (had, has))
    if not old or not new or set(old) <= set(new):
        return ()
    return (News(NORMAL, "Moved", "Annotate", f"It moves from {' and '.join(old)} to {' and '.join(new)}."),)


def kept(address: str, loser: Name) -> News:
    """Another Service claimed what it has."""
    note = f"It keeps {address}. {loser} claimed one of its ports there, and gets another address."
    return News(NORMAL, "Kept", "Serve", note)


def _warnings(conditions: tuple[Condition, ...]) -> tuple[News, ...]:
    return tuple(
        News(WARNING, each.reason, "Serve", each.message)
        for each in conditions
        if (each.status != "True" or each.reason in WORTH_A_WARNING) and each.reason not in QUIET
    )
