"""What is worth an event on a Service, in words for `kubectl describe`. Knows nothing of how events are written."""

from collections.abc import Iterable

from msgspec import Struct

from mooring.core import quoting, shares, wishes
from mooring.model import names
from mooring.model.kubernetes import Condition, Name, Service
from mooring.model.reasons import Reason
from mooring.model.steps import Clear, Manage, Publish, Step, Tell

NORMAL, WARNING = "Normal", "Warning"
QUIET = {Reason.WAITING_FOR_ADDRESS.value, Reason.NO_ADDRESS_YET.value, Reason.WAITING_FOR_GATEWAYS.value}
"""On the way to something better; the condition is enough."""


WORTH_A_WARNING = {
    Reason.NO_ENDPOINTS.value,
    Reason.PORT_WITHOUT_ENDPOINTS.value,
    Reason.BAD_ENDPOINT.value,
    Reason.NOBODY_MAY_CALL.value,
    Reason.CLIENT_HIDDEN.value,
    Reason.NETWORK_POLICY.value,
    Reason.ADDRESS_RETIRED.value,
    Reason.ADDRESS_UNMARKED.value,
    Reason.GATEWAY_REFUSES.value,
    Reason.BAD_ANNOTATION.value,
    Reason.CLAIMED_TWICE.value,
    Reason.ANNOTATION_IGNORED.value,
    Reason.WISH_REFUSED.value,
    Reason.PAIRS_LIMIT.value,
    Reason.QUOTA_EXCEEDED.value,
    Reason.NO_MORE_ADDRESSES.value,
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
        case Manage():
            return _overruled(service)
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


def _overruled(service: Service) -> tuple[News, ...]:
    """Who is served, and wrote something into our mark, may have wanted to opt out."""
    said = service.metadata.annotations.get(names.MANAGED, "")
    if said.lower() in {"", "true"}:
        return ()
    note = (
        f'Its annotation {names.MANAGED} said {quoting.quoted(said)}: it is served on. Write "false" there to opt out.'
    )
    return (News(WARNING, Reason.BAD_ANNOTATION.value, "Manage", note),)


def _published(service: Service, shown: str, addresses: tuple[str, ...]) -> tuple[News, ...]:
    """Nothing, where it only shows other ports of the same address: its owner has changed them.

    shows no more            shows from now on  ->  event
    -------------            -----------------      -----
    nothing                  one, or one more       Published
    a family not wanted      nothing else           Withdrawn: its owner gave it up
    else                     -                      Restored: somebody wrote there
    """
    had = [each.ip or each.hostname for each in service.status.load_balancer.ingress]
    gone = [each for each in had if each not in addresses]
    new = [each for each in addresses if each not in had]
    if new and not gone:
        return (News(NORMAL, "Published", "Publish", f"Its address is {' and '.join(addresses)}."),)
    if gone and not new and not {wishes.family_of(each) for each in gone} & set(wishes.families(service)):
        return (News(NORMAL, "Withdrawn", "Withdraw", f"{' and '.join(gone)} is no longer its address."),)
    if shown != ", ".join(addresses):
        note = f"It showed {shown}, which is not its address; it shows {', '.join(addresses)} now."
    elif shares.told(service):
        note = f"It showed {shown} in another ipMode; it shows it as it is configured now."
    else:
        return ()
    return (News(WARNING, "Restored", "Publish", note),)


def moved(had: Iterable[str | None], has: Iterable[str | None]) -> tuple[News, ...]:
    """It is given other addresses than those that it had, as far as these are known. One more or less is no move."""
    old, new = ([each for each in every if each is not None] for every in (had, has))
    if not old or not new or set(old) <= set(new) or set(new) <= set(old):
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
