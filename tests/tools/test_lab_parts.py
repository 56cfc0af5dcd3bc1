"""Order and selection of parts: tables, and properties over any parts that need one another."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mooring.lab import parts
from mooring.lab.errors import LabError
from mooring.lab.lab import Lab
from mooring.lab.parts import Part


def nothing(_: Lab) -> None:
    pass


def part(name: str, *needs: str, after: tuple[str, ...] = (), group: str = "") -> Part:
    return Part(name, nothing, needs=needs, after=after, group=group, process=group != parts.ASSETS)


CHAIN = [part("c", "b"), part("a"), part("b", "a", group="middle"), part("d", "a"), part("e", after=("d",))]


@st.composite
def worlds(draw: st.DrawFn) -> list[Part]:
    """Parts that need some of those before them, in any order."""
    made: list[Part] = []
    for number in range(draw(st.integers(1, 8))):
        earlier = st.lists(st.sampled_from([each.name for each in made] or [""]), unique=True, max_size=len(made))
        needs = tuple(name for name in draw(earlier) if name)
        after = tuple(name for name in draw(earlier) if name)
        made.append(
            part(f"p{number}", *needs, after=after, group=draw(st.sampled_from(["", "red", "blue", parts.ASSETS])))
        )
    return draw(st.permutations(made))


def standing_on(world: list[Part], names: set[str]) -> set[str]:
    """The parts of these names and, step by step, all that need them."""
    found = set(names)
    while more := {each.name for each in world if found & set(each.needs)} - found:
        found |= more
    return found


@settings(max_examples=40)
@given(worlds())
def test_every_part_comes_once_and_after_what_it_waits_for(world: list[Part]) -> None:
    names = [each.name for each in parts.ordered(world)]
    assert sorted(names) == sorted(each.name for each in world)
    for each in world:
        assert all(names.index(other) < names.index(each.name) for other in (*each.needs, *each.after))


@settings(max_examples=40)
@given(worlds(), st.data())
def test_leaving_parts_out_drops_what_needs_them_and_assets_for_nobody(world: list[Part], data: st.DataObject) -> None:
    words = sorted({each.name for each in world} | {each.group for each in world if each.group})
    without = set(data.draw(st.lists(st.sampled_from(words), unique=True)))
    named = {each.name for each in world if each.name in without or each.group in without}
    left = [each for each in parts.ordered(world) if each.name not in standing_on(world, named)]
    if not any(each.process for each in left):
        with pytest.raises(LabError, match="nothing is left"):
            parts.select(world, without)
        return
    kept, gone = parts.select(world, without)
    assert gone == sorted(standing_on(world, named))
    users = [each.name for each in left if each.group != parts.ASSETS]
    assert kept == [each for each in left if standing_on(left, {each.name}) & set(users)]


@pytest.mark.parametrize(
    ("without", "kept", "gone"),
    [
        ([], ["a", "b", "d", "c", "e"], []),
        (["c"], ["a", "b", "d", "e"], ["c"]),
        (["b"], ["a", "d", "e"], ["b", "c"]),
        (["middle"], ["a", "d", "e"], ["b", "c"]),
        (["d"], ["a", "b", "c", "e"], ["d"]),
        (["a"], ["e"], ["a", "b", "c", "d"]),
        (["e", "middle"], ["a", "d"], ["b", "c", "e"]),
    ],
)
def test_each_way_to_leave_something_out(without: list[str], kept: list[str], gone: list[str]) -> None:
    left, names = parts.select(CHAIN, without)
    assert sorted(each.name for each in left) == sorted(kept)
    assert names == gone


def test_leaving_out_everything_is_refused() -> None:
    with pytest.raises(LabError) as refused:
        parts.select(CHAIN, ["e", "a"])
    assert refused.value.what == "nothing is left without a, e"
    assert refused.value.hint


def test_assets_that_nobody_needs_are_not_made() -> None:
    world = [part("tool", group=parts.ASSETS), part("binary", "tool", group=parts.ASSETS), part("user", "binary")]
    world += [part("other"), part("image", "tool", group=parts.ASSETS)]
    assert [each.name for each in parts.select(world, [])[0]] == ["tool", "other", "binary", "user"]
    assert [each.name for each in parts.select(world, ["user"])[0]] == ["other"]


def test_an_unknown_name_is_refused_with_the_known_ones() -> None:
    with pytest.raises(LabError) as refused:
        parts.select(CHAIN, ["b", "x", "nonsense"])
    assert refused.value.what == "no part or group is called nonsense, x"
    assert refused.value.hint == "there are: a, b, c, d, e, middle"


@pytest.mark.parametrize(
    ("world", "named"),
    [
        ([part("a", "b"), part("b", "a"), part("c")], "a, b"),
        ([part("a", "a")], "a"),
        ([part("a", "nowhere"), part("b", "a")], "a, b"),
        ([part("a", after=("b",)), part("b", "a")], "a, b"),
    ],
)
def test_parts_that_can_never_start_are_named(world: list[Part], named: str) -> None:
    with pytest.raises(ValueError, match=rf": {named}$"):
        list(parts.ordered(world))


def test_waiting_for_a_part_that_is_left_out_is_no_obstacle() -> None:
    assert [each.name for each in parts.ordered([part("a", after=("nowhere",))])] == ["a"]
