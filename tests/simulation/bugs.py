"""Bugs that a predecessor really had, as changes to our own code: what the simulation has to find.

Each is a list of (file, text, other text). A text that is no longer there makes the test fail, so the list stays true.
"""

from pathlib import Path

from msgspec import Struct


class Bug(Struct, frozen=True):
    name: str
    story: str
    changes: tuple[tuple[str, str, str], ...]

    def put_into(self, source: Path) -> None:
        """Change a copy of the package."""
        for file, old, new in self.changes:
            path = source / file
            text = path.read_text()
            if text.count(old) < 1:
                raise ValueError(f"{self.name}: {file} has no text {old!r} any more")
            path.write_text(text.replace(old, new))


LEADER = "controller/leader.py"

BUGS = (
    Bug(
        "B1",
        "a job that failed is not put back into the queue",
        ((LEADER, "self._queue.failed(item)", "self._queue.done(item)"),),
    ),
    Bug(
        "B2",
        "the clean-up goes by what is in memory, which a start has not filled yet, and deletes at once",
        (
            (
                LEADER,
                "await self._services.filled()\n        self._queue.add(Chore.BEGIN)",
                "self._queue.add(Chore.BEGIN)",
            ),
            (LEADER, "        await self._relist()  # the watch", "        # the watch"),
            (LEADER, "self._allocations.used() | named", "self._allocations.used()"),
            ("core/cleaning.py", "        return Doom(what)", "        return Remove(what)"),
        ),
    ),
    Bug(
        "B3",
        "the gateways are told something before everything is known",
        ((LEADER, "await self._services.filled()\n", "self._queue.add(Chore.PUSH)\n"),),
    ),
    Bug(
        "B5",
        "ports are given out by their number, whatever the protocol",
        (
            (
                LEADER,
                "from mooring.model.gateway import Document, Forward",
                "from mooring.model.gateway import Document, Forward, Key",
            ),
            (LEADER, "mapping.keys(service)", "tuple(Key('any', key.port) for key in mapping.keys(service))"),
        ),
    ),
    Bug(
        "B7",
        "our mark is set in a second call",
        (
            (
                "controller/ports.py",
                '            "name": "mooring",\n            "description": self._mark,\n',
                '            "name": "mooring",\n',
            ),
            (
                "controller/ports.py",
                "        self.ports[port.id] = port\n",
                (
                    "        port = await self._cloud.update(\n"
                    '            PORTS, port.id, {"description": self._mark}, revision=port.revision_number\n'
                    "        )\n"
                    "        self.ports[port.id] = port\n"
                ),
            ),
        ),
    ),
)
