"""Steps in words: for one line of a log, and for `mooring plan`."""

from mooring.core.cleaning import CleaningStep, Doom, GiveBack, Label, Pair, Remove, Rescue, Unpair
from mooring.core.security_group import CloseRules, GroupStep, Guard, MakeGroup, OpenRules, RemoveGroup
from mooring.model import steps
from mooring.model.cloud import FloatingIp, Port
from mooring.model.reasons import Reason

AnyStep = steps.Step | CleaningStep | GroupStep

PHRASES: dict[type[AnyStep], tuple[str, str]] = {
    steps.Rest: ("nothing to do", "nothing"),
    steps.Manage: ("taken on", "take it on: annotation and finalizers"),
    steps.MakePort: ("address made", "make a port, with a floating IP where they are wanted"),
    steps.Annotate: ("port given", "give it a port that has room for it, for each family of addresses"),
    steps.PutBack: ("floating IP put back", "put its floating IP back on its port"),
    steps.DoNotKeep: ("floating IP no longer kept", "no longer let its floating IP stay when nobody needs it"),
    steps.Keep: ("floating IP kept for good", "let its floating IP stay when nobody needs it any more"),
    steps.Push: ("gateways told", "tell the gateways"),
    steps.Publish: ("address published", "publish its address"),
    steps.Clear: ("address withdrawn", "take its address back"),
    steps.Tell: ("conditions written", "write its conditions"),
    steps.Forget: ("port taken away", "take its port away"),
    steps.LetGo: ("let go", "let it go: annotation and finalizers"),
    Pair: ("gateway may use addresses", "let a gateway use addresses"),
    Unpair: ("gateway may no longer use addresses", "no longer let a gateway use addresses"),
    Label: ("tagged as ours", "tag it as ours"),
    Doom: ("tagged as going", "tag it as going, because nobody needs it"),
    Rescue: ("kept after all", "keep it after all"),
    Remove: ("deleted", "delete it"),
    GiveBack: ("given back", "give it back: without our mark, and on no port of ours"),
    MakeGroup: ("security group made", "make a security group for the gateways"),
    OpenRules: ("security group opened", "let more through the gateways' security group"),
    CloseRules: ("security group closed", "let less through the gateways' security group"),
    Guard: ("security groups of a gateway changed", "put the security group on a gateway's port, or take it off"),
    RemoveGroup: ("security group deleted", "delete a security group that no gateway needs"),
}
"""What was done, and what would be done."""


UNTOLD = ("conditions taken away", "take its conditions away")
"""Of a Service that is to say nothing more."""
HELD_BACK = "clean-up stopped: nobody needs these, and they are too many at once"


def done(step: AnyStep) -> str:
    return _phrases(step)[0]


def to_do(step: AnyStep) -> str:
    return _phrases(step)[1]


def _phrases(step: AnyStep) -> tuple[str, str]:
    return UNTOLD if step == steps.Tell(()) else PHRASES[type(step)]


def details(step: AnyStep) -> dict[str, str]:
    """What a step is done with."""
    found: dict[str, str] = {}
    for name in step.__struct_fields__:
        match getattr(step, name):
            case Port() as port:
                found |= {"port": port.id, "address": ",".join(each.ip_address for each in port.fixed_ips)}
            case FloatingIp() as floating_ip:
                found |= {"floating_ip": floating_ip.id, "address": floating_ip.floating_ip_address}
            case Reason() as reason:
                found["reason"] = reason.value
            case str(text) if text:
                found[name] = text
            case tuple(items) if name == "conditions":
                found |= {"reasons": ",".join(each.reason for each in items)} if items else {}
            case tuple(items) if items:
                found[name] = ",".join(getattr(each, "id", None) or str(each) for each in items)
    return found
