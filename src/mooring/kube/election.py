"""One leader among several processes, by a Lease, and an epoch that tells each leader from all before it.

A lease keeps others from acting; it cannot keep a process from acting that slept through its end. Therefore every term
has an epoch, larger than that of every term before, stored in the Lease by the very write that takes it: what a leader
sends carries its epoch, and who receives it refuses an older one.

No clock is compared with another: a candidate counts from the moment at which it saw the Lease change, a leader from
the moment before it asked for the renewal, so the leader always gives up first. A leader that sees the Lease deleted,
or without its own name in it, gives up at once.

lease                         candidate does
----------------------------  -----------------------------------------
absent                        create it
no holder, or the holder is   take it, at the version that was seen
  this very process
unchanged for its duration    take it, at the version that was seen
otherwise                     wait for a change, or for that time
"""

import asyncio
import contextlib
import random
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime

from mooring.kube import errors
from mooring.kube.api import Api
from mooring.kube.kinds import LEASES
from mooring.kube.reflector import Reflector
from mooring.kube.store import Store
from mooring.model.kubernetes import Lease, LeaseSpec, Meta, Name
from mooring.model.names import EPOCH

MOST_DIGITS = 14
"""Of an epoch: one less than a gateway takes."""


class Term:
    """The time for which this process leads. `held` is the question before every write.

    `notes` are the annotations of the Lease as they were last seen.
    """

    def __init__(
        self, epoch: int, version: str, ends: float, *, uid: str = "", notes: Mapping[str, str] | None = None
    ) -> None:
        self.epoch = epoch
        self.version = version
        self.ends = ends
        self.uid = uid
        self.notes: Mapping[str, str] = notes or {}
        self._lost = False

    def held(self) -> bool:
        return not self._lost and asyncio.get_running_loop().time() < self.ends

    def saw(self, lease: Lease) -> None:
        """The Lease, ours still, as somebody wrote it, perhaps we. Answers come after events; an epoch never falls."""
        self.version, self.notes = lease.metadata.resource_version, lease.metadata.annotations
        self.epoch = max(self.epoch, epoch_of(lease))

    def lose(self) -> None:
        """The Lease is somebody else's or gone; no renewal that was on its way brings the term back."""
        self._lost = True


class Election:
    """Takes part in the election for one Lease under a name that no other process has."""

    def __init__(  # noqa: PLR0913 - the parts of an election, and its times
        self,
        api: Api,
        lease: Name,
        identity: str,
        clock: Callable[[], datetime],
        chance: random.Random,
        *,
        duration: float = 5.0,
        renewal: float = 1.0,
        trouble: Callable[[Exception], None] = lambda _: None,
    ) -> None:
        self._api = api
        self._lease = lease
        self._identity = identity
        self._clock = clock
        self._duration = duration
        self._renewal = renewal
        self._trouble = trouble
        self._store: Store[Lease] = Store()
        self._store.listen(self._seen)
        self._reflector = Reflector(
            api, LEASES, self._store, chance, namespace=lease.namespace, fields=f"metadata.name={lease.name}"
        )
        self._changed = asyncio.Event()
        self._seen_at = 0.0
        self._looked: Lease | None = None
        self._absent = False
        self._highest = 0
        self._notes: Mapping[str, str] = {}
        self._deleted = ""  # the uid of the last Lease that was seen to end
        self._in_doubt = False  # whether a write may have made the Lease ours, and nobody said so
        self._leading: tuple[Term, asyncio.Task[None]] | None = None

    async def run(self, lead: Callable[[Term], Awaitable[None]]) -> None:
        """Lead whenever it is our turn. `lead` is cancelled when the term ends; when it returns, the Lease is free."""
        follower = asyncio.create_task(self._reflector.run())
        try:
            while True:
                term = await self._acquire()
                try:
                    await self._lead(term, lead)
                finally:
                    if term.held():
                        await self._release(term.version)
        finally:
            follower.cancel()
            if self._in_doubt:
                await self._release()

    async def raise_epoch(self, term: Term, above: int) -> None:
        """Make the term's epoch larger than one that somebody has seen, as after the Lease was lost."""
        if term.epoch <= above:
            await self._write(term, above + 1)

    async def note(self, term: Term, notes: Mapping[str, str]) -> None:
        """Write annotations of the Lease."""
        await self._write(term, term.epoch, notes)

    async def _acquire(self) -> Term:
        await self._store.filled()
        while True:
            self._changed.clear()
            try:
                term = await self._try(self._newest())
            except (errors.Conflict, errors.AlreadyExists):
                self._in_doubt = False
                await self._look()  # somebody was faster
            except errors.NotFound:
                self._in_doubt = False
                self._looked, self._absent = None, True  # it is gone, and the watch did not tell
            except errors.KubeError as error:
                self._looked = None
                self._trouble(error)
            else:
                if term is not None:
                    return term
            await self._change_or(self._wait_seconds())

    async def _look(self) -> None:
        """What the Lease is now, in case that the watch does not tell."""
        try:
            looked = await self._api.get(LEASES, self._lease)
        except errors.KubeError as error:
            self._trouble(error)
            return
        if looked != self._newest():
            self._looked, self._absent = looked, False
            self._seen_at = self._now()

    def _newest(self) -> Lease | None:
        """The Lease as the watch told it last, or as it was seen beside the watch since."""
        return None if self._absent else self._looked or self._store.get(self._lease)

    async def _try(self, lease: Lease | None) -> Term | None:
        begin = self._now()
        epoch = max(self._highest, epoch_of(lease)) + 1
        if lease is not None and not self._is_free(lease, begin):
            return None
        self._in_doubt = True
        if lease is None:
            notes = {**self._notes, EPOCH: str(epoch)}  # who deletes a Lease does not mean what is written on it
            meta = Meta(name=self._lease.name, namespace=self._lease.namespace, annotations=notes)
            taken = await self._api.create(LEASES, Lease(metadata=meta, spec=self._spec(acquired=True)))
        else:
            transitions = (lease.spec.lease_transitions or 0) + 1
            taken = await self._patch(lease.metadata.resource_version, epoch, transitions=transitions)
        self._in_doubt = False
        self._highest = epoch
        meta = taken.metadata
        return Term(epoch, meta.resource_version, begin + self._duration, uid=meta.uid, notes=meta.annotations)

    async def _lead(self, term: Term, lead: Callable[[Term], Awaitable[None]]) -> None:
        """Until the term is lost or the work is done, whichever comes first."""
        work = asyncio.ensure_future(lead(term))
        renewing = asyncio.create_task(self._renew(term))
        self._leading = term, renewing
        self._check(self._store.get(self._lease))  # what was seen before the answer to our write came
        try:
            await asyncio.wait((work, renewing), return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._leading = None
            renewing.cancel()
            work.cancel()
            await asyncio.wait((work, renewing))
        if not work.cancelled():
            work.result()  # its failure is the caller's

    async def _renew(self, term: Term) -> None:
        """Returns when the term is over: somebody else wrote the Lease, or time is up without an answer.

        A request that hangs is given up after as long as it takes until the next one, so that there is a next one.
        """
        wait = self._renewal
        while term.held():
            await asyncio.sleep(min(wait, max(term.ends - self._now(), 0)))
            wait = self._renewal
            try:
                async with asyncio.timeout_at(min(self._now() + self._renewal, term.ends)):
                    await self._write(term, term.epoch)
            except errors.Conflict:
                if not await self._still_ours(term):
                    return
                wait = self._renewal / 5
            except errors.NotFound:
                return
            except (errors.KubeError, TimeoutError) as error:
                self._trouble(error)
                wait = self._renewal / 5

    async def _still_ours(self, term: Term) -> bool:
        """After a conflict: a renewal of ours whose answer was lost has changed the version, or another one leads."""
        try:
            async with asyncio.timeout_at(min(self._now() + self._renewal, term.ends)):
                lease = await self._api.get(LEASES, self._lease)
        except (errors.KubeError, TimeoutError) as error:
            self._trouble(error)
            return term.held()
        ours = lease.spec.holder_identity == self._identity
        if ours:
            term.saw(lease)
        return ours

    async def _write(self, term: Term, epoch: int, notes: Mapping[str, str] | None = None) -> None:
        begin = self._now()
        lease = await self._patch(term.version, epoch, notes=notes)
        term.saw(lease)
        term.ends = max(term.ends, begin + self._duration)
        self._highest = max(self._highest, term.epoch)

    async def _release(self, version: str = "") -> None:
        """Let the next one lead at once. When it does not work, the Lease runs out.

        Who does not know the version, or was not the last to write, looks first whether it is ours.
        """
        with contextlib.suppress(errors.KubeError, TimeoutError):
            async with asyncio.timeout(self._renewal):
                if version and await self._free(version):
                    return
                lease = await self._api.get(LEASES, self._lease)
                if lease.spec.holder_identity == self._identity:
                    await self._free(lease.metadata.resource_version)

    async def _free(self, version: str) -> bool:
        try:
            await self._api.patch(LEASES, self._lease, {"spec": {"holderIdentity": ""}}, version=version)
        except errors.Conflict:
            return False
        return True

    async def _patch(
        self, version: str, epoch: int, *, transitions: int | None = None, notes: Mapping[str, str] | None = None
    ) -> Lease:
        spec = self._spec(acquired=transitions is not None)
        change = {
            "metadata": {"annotations": {**(notes or {}), EPOCH: str(epoch)}},
            "spec": {
                "holderIdentity": spec.holder_identity,
                "leaseDurationSeconds": spec.lease_duration_seconds,
                "renewTime": spec.renew_time,
                **({} if transitions is None else {"leaseTransitions": transitions, "acquireTime": spec.acquire_time}),
            },
        }
        return await self._api.patch(LEASES, self._lease, change, version=version)

    def _spec(self, *, acquired: bool) -> LeaseSpec:
        now = self._clock().strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        return LeaseSpec(self._identity, max(round(self._duration), 1), now if acquired else None, now)

    def _seen(self, before: Lease | None, after: Lease | None) -> None:
        self._seen_at = self._now()
        self._looked, self._absent = None, False
        self._changed.set()
        if before is not None and after is None:
            self._deleted = before.metadata.uid
        if after is not None:
            self._notes = after.metadata.annotations
            if after.metadata.uid == self._deleted:
                self._deleted = ""  # etcd was put back to when it was there
        self._check(after)

    def _check(self, lease: Lease | None) -> None:
        """End the term if what was seen ends it, or know what others wrote on the Lease.

        What is older than our own last write says nothing.
        """
        if self._leading is None:
            return
        term, renewing = self._leading
        if term.uid == self._deleted or (lease is not None and self._takes(lease, term)):
            term.lose()
            renewing.cancel()
        elif lease is not None and int(lease.metadata.resource_version) > int(term.version):
            term.saw(lease)

    def _takes(self, lease: Lease, term: Term) -> bool:
        newer = int(lease.metadata.resource_version) > int(term.version)
        return newer and lease.spec.holder_identity != self._identity

    def _is_free(self, lease: Lease, now: float) -> bool:
        return lease.spec.holder_identity in {None, "", self._identity} or now >= self._free_at(lease)

    def _free_at(self, lease: Lease) -> float:
        return self._seen_at + max(self._duration, lease.spec.lease_duration_seconds or 0)

    def _wait_seconds(self) -> float:
        lease = self._newest()
        if lease is None or not lease.spec.holder_identity:
            return self._renewal
        return max(self._free_at(lease) - self._now(), self._renewal)

    def _now(self) -> float:
        return asyncio.get_running_loop().time()

    async def _change_or(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._changed.wait()


def epoch_of(lease: Lease | None) -> int:
    """The epoch of a Lease's last term. Text of others in our annotation counts as none.

    So does a number with nothing above it that a gateway would take: who leads next goes by the gateways' own.
    """
    text = lease.metadata.annotations.get(EPOCH, "") if lease else ""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS else 0
