"""Bugs that a predecessor really had, as changes to our own code: what the simulation has to find.

Each is a list of (file, text, other text). A text that is no longer there makes the test fail, so the list stays true.
"""

from pathlib import Path

from msgspec import Struct


class Bug(Struct, frozen=True):
    name: str
    story: str
    changes: tuple[tuple[str, str, str], ...]
    where: str = "any"
    """The scenario in which it shows; most show in some of all."""
    historic: str = ""
    """The bug of the predecessor that it stands for, where that is not its name."""

    def put_into(self, source: Path) -> None:
        """Change a copy of the package."""
        for file, old, new in self.changes:
            path = source / file
            text = path.read_text()
            if text.count(old) < 1:
                raise ValueError(f"{self.name}: {file} has no text {old!r} any more")
            path.write_text(text.replace(old, new))


LEADER = "controller/leader.py"
AGENDA = "controller/agenda.py"
PICTURE = "core/picture.py"
HOLDINGS = "core/holdings.py"

BUGS = (
    Bug(
        "B1",
        "a job that failed is not put back into the queue",
        (
            (
                LEADER,
                'delay = queue.failed(item, not_before=getattr(error, "retry_after", None) or 0.0)',
                "queue.done(item)\n        delay = 0.0",
            ),
        ),
    ),
    Bug(
        "B2",
        "the clean-up of a start goes by what is in memory, which is not filled yet, and deletes at once",
        (
            (
                LEADER,
                "await self._followed.filled()\n",
                """await self._house.refresh()
        await self._house.clean_up(frozenset())
        await self._followed.filled()
""",
            ),
            ("core/cleaning.py", "        return Doom(what)", "        return Remove(what)"),
        ),
    ),
    Bug(
        "B3",
        "the gateways are told something before everything is known",
        ((LEADER, "await self._followed.filled()\n", "self._agenda.tell_gateways()\n"),),
    ),
    Bug(
        "B5",
        "ports are given out by their number, whatever the protocol",
        (
            (
                HOLDINGS,
                "from mooring.model.cloud import PortId\n",
                "from mooring.model.cloud import PortId\nfrom mooring.model.gateway import Key\n",
            ),
            (HOLDINGS, "Wanted(wanted.keys,", "Wanted(tuple(Key('any', key.port) for key in wanted.keys),"),
        ),
    ),
    Bug(
        "B7",
        "our mark is set in a second call",
        (
            (
                "controller/ports.py",
                '            "description": self._place.mark,\n            "security_groups"',
                '            "security_groups"',
            ),
            (
                "controller/ports.py",
                "        self._addresses.made(port)\n",
                (
                    "        port = await self._cloud.update(\n"
                    '            PORTS, port.id, {"description": self._place.mark}, revision=port.revision_number\n'
                    "        )\n"
                    "        self._addresses.made(port)\n"
                ),
            ),
        ),
    ),
    Bug(
        "B8",
        "who lost its floating IP is taken for somebody who has it",
        ((PICTURE, "reachable = self.addresses.public(port) is not None", "reachable = True"),),
        where="lost",
    ),
)

# Others, one at least for each rule: a rule that nothing can break is no rule.
MUTANTS = (
    Bug(
        "B15",
        "one Service with which something fails ends the work on all",
        (
            (
                LEADER,
                "                self._failed(queue, item, error)\n                if isinstance(error, NoGatewayPort)",
                "                raise\n                if isinstance(error, NoGatewayPort)",
            ),
        ),
    ),
    Bug(
        "B20",
        "who stops to be a load balancer is let go, and the gateways are not told",
        (
            (
                "core/mapping.py",
                "    return steps.LetGo() if seen.served else steps.Push()\n",
                "    return steps.LetGo()\n",
            ),
        ),
    ),
    Bug(
        "S1",
        "a Service keeps a port on which another one has what it wants",
        (
            (
                "core/allocation.py",
                "return self.rival(port, wanted, owner) is None",
                "return True",
            ),
        ),
    ),
    Bug(
        "S2",
        "an address is published before the gateways have acknowledged it",
        (
            (
                "core/mapping.py",
                "    if not seen.served:\n        return steps.Push()\n    if not _as",
                "    if not _as",
            ),
        ),
    ),
    Bug(
        "S3",
        "the clean-up does not ask who needs a port",
        (
            (
                "core/cleaning.py",
                "    if needed:\n",
                "    if needed and False:\n",
            ),
        ),
    ),
    Bug(
        "S4",
        "Services are changed whatever their version",
        (("controller/service_writes.py", "version = service.metadata.resource_version", "version = None"),),
    ),
    Bug(
        "S4 too",
        "ports are deleted whatever their revision",
        (("controller/ports.py", "revision=what.revision_number", "revision=None"),),
    ),
    Bug(
        "S5",
        "the finalizers of others are removed with ours",
        (
            (
                "controller/service_writes.py",
                "finalizers = [each for each in service.metadata.finalizers if each not in ours]",
                "finalizers: list[str] = []",
            ),
        ),
    ),
    Bug(
        "S5 too",
        "an address that somebody else gave is overwritten",
        (
            (
                "core/mapping.py",
                ("    if foreign(seen) and not marked(service):\n        return steps.Rest(Reason.FOREIGN_ADDRESS)\n"),
                "",
            ),
            (
                "core/mapping.py",
                "return steps.Rest(Reason.FOREIGN_ADDRESS) if foreign(seen) else steps.Clear()",
                "return steps.Clear()",
            ),
        ),
    ),
    Bug(
        "S4, epochs",
        "a leader whose Lease was lost does not ask the gateways which epochs they have seen",
        (
            (
                "controller/pushing.py",
                "        if seen >= self._term.epoch:\n            await self._raise_epoch(self._term, seen)\n",
                "",
            ),
            (
                "controller/pushing.py",
                "        await self._raise_epoch(self._term, ahead)\n        return True",
                "        return False",
            ),
        ),
    ),
    Bug(
        "S4, leaders",
        "a gateway takes what a leader sends that is none any more",
        (
            (
                "agent/gateway.py",
                "        if age <= held.age:\n",
                "        if new.epoch == held.epoch and age <= held.age:\n",
            ),
        ),
        where="two",
    ),
    Bug(
        "stays",
        "a new leader hears of Services before it has learnt who has what",
        (
            (
                LEADER,
                "        self._queue.add(Chore.BEGIN)\n        try:",
                (
                    "        self._queue.add(Chore.BEGIN)\n"
                    "        self._stop_listening = [self._services.listen(self._agenda._changed)]\n        try:"
                ),
            ),
            (
                AGENDA,
                "            self._followed.services.listen(self._changed),\n",
                "",
            ),
        ),
        where="restart",
        historic="B6",
    ),
    Bug(
        "stays too",
        "a Service is moved while it still shows its old address",
        (
            (
                "core/mapping.py",
                (
                    "    if not seen.held:\n"
                    "        return steps.Rest(Reason.FOREIGN_ADDRESS) if foreign(seen) else steps.Clear()\n"
                ),
                "",
            ),
        ),
    ),
    Bug(
        "S3, others",
        "ports are known by their name, which another cluster's have too",
        (
            (
                "controller/marked.py",
                "ports = await every(cloud, PORTS, place.mark)",
                'ports = await cloud.list(PORTS, name="mooring-kubernetes")',
            ),
        ),
    ),
    Bug(
        "rest, bound",
        "a finalizer that somebody took off is not put back",
        (("core/mapping.py", "    if not bound(service):", "    if not marked(service):"),),
    ),
    Bug(
        "rest",
        "a Service whose owner opts out keeps showing its address",
        (
            (
                "core/mapping.py",
                "    if _shown(service) and not foreign(seen):\n        return steps.Clear()\n",
                "",
            ),
        ),
    ),
    Bug(
        "S5, classes",
        "a Service of another class is let go of, because our annotations were copied into it",
        (
            (
                "core/mapping.py",
                "return of_another_class(service) and names.FINALIZER not in service.metadata.finalizers",
                "return False",
            ),
        ),
        where="churn",
    ),
    Bug(
        "one group",
        "who writes the port of another namespace's Service into its own is served there",
        (("core/allocation.py", "        if group != wanted.group:\n            return next(iter(members))\n", ""),),
    ),
    Bug(
        "stays, though others add",
        "after a restart the older one has what it added to its wishes, and who had it loses its address",
        ((HOLDINGS, "shares.given(each)", "shares.wanted(each)"),),
        where="adds",
    ),
    Bug(
        "stays, though others leave",
        "after a restart the older one has the address that it wants to share with others, and who had it loses it",
        (("core/shares.py", "in had), company)", "in had), want.company)"),),
        where="keys",
    ),
    Bug(
        "stays, wish refused",
        "who asks for an address that another one has loses its own",
        ((PICTURE, "each.kept() if each.holds and each.denied else each", "each"),),
        where="wish-later",
    ),
    Bug(
        "stays, wish unheard",
        "who asks for an address that OpenStack does not give it has lost its own before that is known",
        (("core/mapping.py", " or (waits and each.holds)", ""),),
        where="wish-later",
    ),
    Bug(
        "rest, named",
        "who names an address of a list in its annotation gets it, though nobody may ask for one",
        (
            (
                HOLDINGS,
                "return self.not_allowed(service, Wish(known.",
                "return True or self.not_allowed(service, Wish(known.",
            ),
        ),
        where="static-named",
    ),
    Bug(
        "kept",
        "what is kept for a namespace is given to the next Service that comes, of whatever namespace",
        (
            ("core/allocation.py", "free & ~self._had & ~self._reserved", "free & ~self._had"),
            (HOLDINGS, "not self._kept_for_others(port, service.metadata.namespace)", "True"),
        ),
        where="kept",
    ),
    Bug(
        "S3, elsewhere",
        "a floating IP that somebody moved to a machine is deleted, or taken off it",
        (("core/cleaning.py", "what.port_id is not None and what.port_id not in ports", "False"),),
        where="taken-elsewhere",
    ),
    Bug(
        "stays, described",
        "who has a floating IP whose description somebody changed loses it",
        (("core/addresses.py", "if each.fixed_ips and each.id not in floating)", "if False)"),),
        where="described",
    ),
    Bug(
        "rest, remade",
        "a gateway whose port was made anew may never use the addresses again",
        (("controller/controller.py", "outdated=self._outdated.set,", "outdated=lambda: None,"),),
        where="gateway-remade",
    ),
    Bug(
        "rest, lease back",
        "a Lease that was deleted once is no Lease any more, be it that a backup brought it back",
        (("kube/election.py", "if after.metadata.uid == self._deleted:", "if False:"),),
        where="lease-back",
    ),
    Bug(
        "S7, replaced",
        "who loses its annotations to `kubectl replace` is not served until it has them again",
        (
            (
                PICTURE,
                "if not mapping.can_be_managed(service):\n            return ()",
                "if not mapping.named_ports(service) or not mapping.can_be_managed(service):\n            return ()",
            ),
        ),
        where="replaced",
    ),
    Bug(
        "stays, replaced",
        "what the one shows that lost its annotations is given to another one",
        (
            (
                HOLDINGS,
                "self.give(service, self.ports_of(service))",
                "self.give(service, mapping.named_ports(service))",
            ),
        ),
        where="replaced",
    ),
    Bug(
        "rest, replaced",
        "who loses its annotations while it asks for what it cannot have never gets them again",
        (("core/mapping.py", "if lost := _lost_from_annotation(seen):", "if (lost := ()):"),),
        where="replaced-wish",
    ),
    Bug(
        "let in, replaced",
        "who loses its annotations just before an audit is let in no more",
        (
            (
                "controller/security.py",
                "if having.mapped(each, self._addresses)",
                'if each.metadata.annotations.get("openstack.org/mooring-port")',
            ),
            ("core/mapping.py", "if lost := _lost_from_annotation(seen):", "if (lost := ()):"),
        ),
        where="replaced-wish",
    ),
    Bug(
        "S7, taken off",
        "a floating IP that somebody takes off its port takes the rules from the gateways, before it is put back",
        (
            (
                PICTURE,
                "if shows or self.addresses.public(each) is not None",
                "if self.addresses.public(each) is not None",
            ),
        ),
        where="lost",
    ),
    Bug(
        "one group, none",
        "where no Service is to share an address, those of one namespace do",
        ((HOLDINGS, '"none": str,', '"none": lambda name: name.namespace,'),),
        where="alone",
    ),
    Bug(
        "rest, keys",
        "whom its owner wants to share an address with is not asked",
        ((HOLDINGS, "(self._group(service.name), wanted.company)", '(self._group(service.name), "")'),),
        where="keys",
    ),
    Bug(
        "S3, gateways",
        "what others entered in a gateway's list of addresses is taken away",
        (
            (
                "core/addresses.py",
                "kept = tuple(each for each in has if each.ip_address not in remove)",
                "kept: tuple[AddressPair, ...] = ()",
            ),
        ),
    ),
    Bug(
        "rest, gateways",
        "a gateway may still use an address whose port is gone",
        (("core/cleaning.py", "        if left := unwanted & has:", "        if left := unwanted & has - has:"),),
    ),
    Bug(
        "rest, endpoints",
        "endpoints of a Service's second slice are not followed",
        (("core/endpoints.py", "        for each in slices\n", "        for each in tuple(slices)[:1]\n"),),
        historic="B14",
    ),
    Bug(
        "rest, nodes",
        "nodes that are not ready are sent packets to",
        (("core/nodes.py", '== ("Ready", "True")', '>= ("Ready", "")'),),
        historic="B21",
    ),
    Bug(
        "rest, excluded",
        "nodes that are excluded from load balancers are sent packets to",
        (("core/nodes.py", "if node is None or names.EXCLUDED in node.metadata.labels:", "if node is None:"),),
    ),
    Bug(
        "rest, local",
        "externalTrafficPolicy Local is ignored: nodes without an endpoint are sent packets to, and drop them",
        (("core/backends.py", "if local is None or node.name in local", "if True"),),
    ),
    Bug(
        "rest, cluster",
        "the layer that the owner of a Service chose is ignored",
        (("core/layers.py", "return chosen if _is_layer(chosen) else default", "return default"),),
    ),
    Bug(
        "rest, followed",
        "a node that comes or goes is not taken in",
        (
            (
                AGENDA,
                "        self._look_at_nodes()\n        concerned",
                "        concerned",
            ),
        ),
    ),
    Bug(
        "rest, policies",
        "a NetworkPolicy that bears on a Service is not told",
        (("core/policies.py", 'if answer == "yes"', "if False"),),
    ),
    Bug(
        "S5, conditions",
        "what others say on a Service is overwritten",
        (
            (
                "core/explaining.py",
                "others = [each for each in service.status.conditions if each.type not in OURS]",
                "others: list[Condition] = []",
            ),
        ),
    ),
    Bug(
        "rest, conditions",
        "a Service that was let go still says what it was",
        (
            (
                "core/mapping.py",
                "    if has_conditions(service) and not service.deleting and not addressed_to_us(service):\n",
                "    if False:\n",
            ),
            (
                "core/explaining.py",
                "    if not mapping.addressed_to_us(seen.service):\n        return ()\n",
                "",
            ),
        ),
    ),
    Bug(
        "S3, holder",
        "a gateway that leaves loses the right to use the addresses while it still holds them",
        (
            (
                "core/roster.py",
                "    return taken_over and (away or not live(conduct, now=now))",
                "    return True",
            ),
        ),
    ),
    Bug(
        "prepared",
        "a new gateway takes its place in VRRP before its port may use the addresses",
        (("core/roster.py", "if served - allowed.get(each.port, frozenset()))", "if served - served)"),),
        where="gateway-added",
    ),
    Bug(
        "rest, record",
        "who was a gateway is not written down, and is forgotten in a crash",
        (
            (
                "controller/members.py",
                '        if text != self._term.notes.get(names.GATEWAYS, ""):',
                "        if False:",
            ),
        ),
    ),
    Bug(
        "rest, drained",
        "whom a person drained is not told so",
        (("controller/members.py", "return by_people | ", "return "),),
    ),
    Bug(
        "rest, told",
        "a gateway that came to hold the newest document without an answer is not known to hold it",
        (
            (
                "controller/agents.py",
                "                gateway.is_at(newest)\n            elif",
                "                pass\n            elif",
            ),
        ),
        where="gateway-removed",
    ),
    Bug(
        "rest, families",
        "the address of a family that is no longer wanted stays on the gateways",
        (
            (
                "core/mapping.py",
                "return steps.Rest(Reason.PROGRAMMED) if named_ports(seen.service) == ports else steps.Annotate(ports)",
                "return steps.Rest(Reason.PROGRAMMED)",
            ),
        ),
    ),
    Bug(
        "S3, kept",
        "a floating IP that its owner had before is deleted with the Service that used it",
        (("core/cleaning.py", "(keeping.kept(what) or what.port_id in inner)", "False"),),
    ),
    Bug(
        "rest, wishes",
        "who asks for an address that is taken gets another one in silence",
        (
            (
                PICTURE,
                "return asked if granted else None",
                "pass",
            ),
            ("core/grants.py", "(not wish.address or known.public(port) == wish.address)", "True"),
            (
                PICTURE,
                "taken = self._taken(service, asked) if asked else None if fits or candidate",
                "taken = None if asked or fits or candidate",
            ),
        ),
    ),
    Bug(
        "observes",
        "who is told to observe goes on as before, and its door does not close",
        (
            ("controller/fence.py", "        if not self.acts:\n", "        if False:\n"),
            ("controller/controller.py", "            self._turned.set()\n", ""),
        ),
        where="two-second-thought",
    ),
    Bug(
        "rest, restored",
        "what an API server that was restored from a backup does not know is forgotten bit by bit",
        (
            ("controller/followed.py", "    if int(listing.version) < known:\n", "    if False:\n"),
            ("kube/store.py", "_version(each) < _version(before) <= moment", "False"),
        ),
        where="restored",
    ),
    Bug(
        "rest, gone back",
        "what a Service had that an API server restored from a backup does not know of counts as let go",
        (("controller/followed.py", "not _went_back(before, after)", "True"),),
        where="restored",
    ),
    Bug(
        "rest too",
        "floating IPs are not cleaned up",
        (("controller/housekeeping.py", "            addresses.floating_ips.values(),\n", "            (),\n"),),
    ),
)
