"""The cache: named after what things are made from, whole or not there, made once."""

import json
import shutil
from pathlib import Path

import pytest

from mooring.lab import locking, waiting
from mooring.lab.assets import store
from tests.tools import apart


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    folder = tmp_path / "recipe"
    (folder / "inner").mkdir(parents=True)
    (folder / "a").write_text("1")
    (folder / "inner/b").write_text("2")
    return folder


def test_a_key_depends_on_every_ingredient_and_on_their_order() -> None:
    ingredients = [(), ("a",), ("a", "b"), ("b", "a"), ("ab",), ("a", ""), ("", "a")]
    assert len({store.key(*each) for each in ingredients}) == len(ingredients)
    assert store.key("a", "b") == store.key("a", b"b")


def test_a_key_is_a_short_word_for_a_file_name() -> None:
    assert len(store.key("a")) == 16
    assert store.key("a").isalnum()


def test_a_folder_stands_for_the_names_and_contents_of_its_files(recipe: Path, tmp_path: Path) -> None:
    before = store.key(recipe)
    shutil.copytree(recipe, tmp_path / "elsewhere")
    assert store.key(tmp_path / "elsewhere") == before
    (recipe / "__pycache__").mkdir()
    (recipe / "__pycache__/a.pyc").write_text("what Python left")
    assert store.key(recipe) == before


@pytest.mark.parametrize(
    ("name", "text"), [("a", "2"), ("inner/b", "1"), ("c", ""), ("inner/a", "1")], ids=["a", "b", "new", "deep"]
)
def test_another_file_or_content_is_another_key(name: str, text: str, recipe: Path) -> None:
    before = store.key(recipe)
    (recipe / name).write_text(text)
    assert store.key(recipe) != before


def test_another_file_name_is_another_key(recipe: Path) -> None:
    before = store.key(recipe)
    (recipe / "a").rename(recipe / "b")  # still the first one
    assert store.key(recipe) != before


def test_a_file_stands_for_its_content(recipe: Path) -> None:
    assert store.key(recipe / "a") == store.key("1") != store.key(recipe / "inner/b")


FAILURE = """
import json
from mooring.lab import place
from mooring.lab.assets import store

target = place.CACHE / "thing"

def broken(draft):
    (draft / "half").touch()
    raise OSError("the disk is full")

def make(draft):
    (draft / "seen").write_text(" ".join(sorted(each.name for each in draft.iterdir())))

def fail(draft):
    raise AssertionError("it is there already")

try:
    store.ensure(target, broken)
except OSError as error:
    raised = str(error)
there = target.exists()
store.ensure(target, make)
store.ensure(target, fail)
names = sorted(each.name for each in place.CACHE.iterdir() if not each.name.startswith("."))
print(json.dumps([raised, there, names, sorted(each.name for each in target.iterdir()), (target / "seen").read_text()]))
"""


def test_what_could_not_be_made_is_not_there_and_the_next_one_begins_afresh(tmp_path: Path) -> None:
    raised, there, names, files, seen = json.loads(apart.run(FAILURE, tmp_path))
    assert (raised, there) == ("the disk is full", False)
    assert names == ["thing"]
    assert files == ["seen"]
    assert seen == ""  # nothing of the half lay in the draft


# Whoever makes goes on only when all others stand at the lock: the kernel lists those who wait with an arrow.
THREADS = """
import os
import threading
from pathlib import Path
from mooring.lab import place, waiting
from mooring.lab.assets import store

made = []

def waiters():
    lines = [line.split() for line in Path("/proc/locks").read_text().splitlines()]
    return sum("->" in line and str(os.getpid()) in line for line in lines)

def make(draft):
    made.append(draft)
    waiting.until(lambda: waiters() == 3, seconds=10, what="the others to stand at the lock")
    (draft / "file").touch()

def want():
    store.ensure(place.CACHE / "thing", make)
    assert (place.CACHE / "thing/file").exists()

threads = [threading.Thread(target=want) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(len(made))
"""


def test_threads_that_want_the_same_make_it_once(tmp_path: Path) -> None:
    assert apart.run(THREADS, tmp_path) == "1\n"


PROCESS = """
import sys
from mooring.lab import place
from mooring.lab.assets import store

def make(draft):
    print("making", flush=True)
    sys.stdin.readline()
    (draft / "file").touch()

store.ensure(place.CACHE / "thing", make)
print((place.CACHE / "thing/file").exists(), flush=True)
"""


def stands_at_a_lock(pid: int) -> bool:
    lines = [line.split() for line in Path("/proc/locks").read_text().splitlines()]
    return any("->" in line and str(pid) in line for line in lines)


def test_processes_that_want_the_same_make_it_once(tmp_path: Path) -> None:
    with apart.start(PROCESS, tmp_path) as one:
        assert one.stdout is not None
        assert one.stdout.readline() == "making\n"
        with apart.start(PROCESS, tmp_path) as other:
            waiting.until(lambda: stands_at_a_lock(other.pid), seconds=10, what="the other to stand at the lock")
            assert one.communicate("go on\n")[0] == "True\n"
            assert other.communicate()[0] == "True\n"


def test_who_does_not_want_to_wait_is_told_that_somebody_is_there(tmp_path: Path) -> None:
    file = tmp_path / "locks/one"
    with locking.held(file):
        with pytest.raises(BlockingIOError), locking.held(file, wait=False):
            pass
        with locking.held(tmp_path / "locks/other", wait=False):
            pass
    with locking.held(file, wait=False):
        pass
