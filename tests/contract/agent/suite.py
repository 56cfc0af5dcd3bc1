"""The suite as a whole: the one list of what the twins and the real parts of a gateway's host have to pass alike."""

from tests.contract.agent import disk, rules
from tests.contract.agent.rules import told

__all__ = ["TestChanges", "TestFiles", "TestLines", "TestLoads", "TestMemories", "TestTables", "TestWatching", "told"]


class TestTables(rules.Tables): ...


class TestChanges(rules.Changes): ...


class TestLoads(rules.Loads): ...


class TestMemories(rules.Memories): ...


class TestWatching(rules.Watching): ...


class TestFiles(disk.Files): ...


class TestLines(disk.Lines): ...
