"""The store: forward only, deletions told, indexes exact."""

from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st

from mooring.kube.store import MOST_GONE, Store
from mooring.model.kubernetes import Service
from tests.kube.objects import service, shop

Told = list[tuple[str | None, str | None]]


def listened(store: Store[Service]) -> Told:
    """What a listener is told from now on: versions before and after."""
    told: Told = []
    store.listen(lambda before, after: told.append((_version(before), _version(after))))
    return told


def _version(each: Service | None) -> str | None:
    return each.metadata.resource_version if each else None


def by_colour(each: Service) -> Iterable[str]:
    colour = each.metadata.labels.get("colour")
    return (colour,) if colour else ()


def test_changes_are_told_as_before_and_after() -> None:
    store: Store[Service] = Store()
    told = listened(store)
    store.put(service("a", 1))
    store.put(service("a", 2))
    store.remove(service("a", 3))
    assert told == [(None, "1"), ("1", "2"), ("2", None)]
    assert store.get(shop("a")) is None


def test_what_is_old_or_known_is_not_taken_in() -> None:
    store: Store[Service] = Store()
    store.put(service("a", 5))
    told = listened(store)
    store.put(service("a", 5))
    store.put(service("a", 4))
    store.remove(service("a", 4))
    assert told == []
    assert len(store) == 1


def test_late_news_of_something_that_ended_do_not_bring_it_back() -> None:
    store: Store[Service] = Store()
    store.put(service("a", 5))
    store.remove(service("a", 7))
    store.put(service("a", 6))
    assert store.get(shop("a")) is None
    store.put(service("a", 8, uid="another"))
    assert store.get(shop("a")) is not None


def test_an_end_that_comes_before_its_beginning() -> None:
    store: Store[Service] = Store()
    store.remove(service("a", 7))
    store.put(service("a", 6))
    assert len(store) == 0


def test_made_again_under_the_same_name_is_told_as_an_end_and_a_beginning() -> None:
    store: Store[Service] = Store()
    store.put(service("a", 1, uid="first"))
    told = listened(store)
    store.put(service("a", 9, uid="second"))
    assert told == [("1", None), (None, "9")]


def test_a_list_tells_the_deletions_that_nobody_saw() -> None:
    store: Store[Service] = Store()
    for each in (service("a", 1), service("b", 2), service("c", 3)):
        store.put(each)
    told = listened(store)
    assert store.replace([service("a", 1), service("c", 8)], "10")
    assert told == [("2", None), ("3", "8")]
    assert store.complete


def test_what_is_newer_than_a_list_stays() -> None:
    store: Store[Service] = Store()
    store.put(service("written", 12))
    store.put(service("changed", 13))
    store.replace([service("changed", 4)], "10")
    assert [each.metadata.resource_version for each in store.all()] == ["13", "12"]


def test_what_a_list_has_older_than_we_do_was_restored_from_a_backup() -> None:
    """The list is newer than what we hold: had nothing been put back, it would have that, or something newer."""
    store: Store[Service] = Store()
    store.put(service("a", 7))
    store.put(service("b", 9))
    told = listened(store)
    assert store.replace([service("a", 3), service("b", 3)], "8")
    assert told == [("7", "3")]


def test_the_newest_version_is_of_what_is_held_what_ended_or_what_was_settled() -> None:
    store: Store[Service] = Store()
    assert store.newest == 0
    store.put(service("a", 3))
    assert store.newest == 3
    store.remove(service("a", 5))
    assert store.newest == 5
    store.settled("7")
    assert store.newest == 7


def test_a_list_older_than_one_before_is_not_taken_in() -> None:
    store: Store[Service] = Store()
    store.replace([service("a", 9)], "10")
    assert not store.replace([], "8")
    assert len(store) == 1


def test_a_cluster_that_went_back_takes_us_with_it() -> None:
    store: Store[Service] = Store()
    store.replace([service("a", 9), service("b", 10)], "10")
    told = listened(store)
    store.reset([service("a", 3)], "5")
    assert told == [("10", None), ("9", "3")]
    store.put(service("a", 6))
    assert told[-1] == ("3", "6")


def test_what_is_held_stands_for_what_is_the_same() -> None:
    store: Store[Service] = Store()
    held = service("a", 9, labels={"colour": "red"})
    store.put(held)
    assert store.taken(service("a", 9, labels={"colour": "red"})) is held
    for other in (
        service("a", 10, labels={"colour": "red"}),
        service("a", 9, uid="another"),
        service("b", 9, labels={"colour": "red"}),
    ):
        assert store.taken(other) is other


def test_what_a_restored_server_gave_the_same_version_again_is_not_the_same() -> None:
    store: Store[Service] = Store()
    store.put(service("a", 9, labels={"colour": "red"}))
    other = service("a", 9, labels={"colour": "blue"})
    assert store.taken(other) is other


def test_what_is_held_as_something_else_is_known_by_that() -> None:
    store: Store[Service] = Store(taken_as=lambda each: service(each.metadata.name, 9, labels={"colour": "red"}))
    store.put(service("a", 9))
    assert store.taken(service("a", 9)) is store.get(shop("a"))


def test_ends_are_forgotten_once_everything_up_to_them_was_taken_in_and_stay_ends() -> None:
    store: Store[Service] = Store()
    store.put(service("a", 5))
    store.remove(service("a", 7))
    store.remove(service("b", 9))
    store.settled("8")
    assert list(store._gone) == [shop("b")]  # noqa: SLF001 - what it costs cannot be seen from outside
    told = listened(store)
    store.put(service("a", 6))
    store.put(service("b", 8))
    assert told == []
    store.put(service("a", 10, uid="another"))
    assert told == [(None, "10")]


def test_what_is_held_is_changed_by_news_that_are_older_than_what_was_settled() -> None:
    store: Store[Service] = Store()
    store.put(service("a", 5))
    store.settled("8")
    store.put(service("a", 6))
    store.remove(service("a", 7))
    assert len(store) == 0


def test_late_news_of_what_a_list_did_not_have_do_not_bring_it_back() -> None:
    store: Store[Service] = Store()
    store.replace([service("a", 9)], "10")
    store.put(service("b", 8))
    assert [each.metadata.name for each in store.all()] == ["a"]


def test_a_list_older_than_what_was_settled_is_not_taken_in() -> None:
    store: Store[Service] = Store()
    store.settled("10")
    assert not store.replace([service("a", 7)], "8")
    assert store.replace([], "10")


def test_where_nothing_is_ever_settled_the_oldest_ends_are_forgotten() -> None:
    store: Store[Service] = Store()
    for version in range(1, 3 * MOST_GONE):
        store.remove(service(f"s{version}", version))
    assert len(store._gone) == MOST_GONE  # noqa: SLF001 - as above
    store.put(service(f"s{3 * MOST_GONE - 1}", 1))
    assert len(store) == 0


def test_indexes_follow_every_change() -> None:
    store: Store[Service] = Store({"colour": by_colour})
    store.put(service("b", 1, labels={"colour": "red"}))
    store.put(service("a", 2, labels={"colour": "red"}))
    assert [each.metadata.name for each in store.by("colour", "red")] == ["a", "b"]
    store.put(service("a", 3, labels={"colour": "blue"}))
    store.remove(service("b", 4))
    assert store.by("colour", "red") == ()
    assert [each.metadata.name for each in store.by("colour", "blue")] == ["a"]


def test_who_stopped_listening_is_told_nothing() -> None:
    store: Store[Service] = Store()
    told: list[Service | None] = []
    stop = store.listen(lambda _before, after: told.append(after))
    stop()
    store.put(service("a", 1))
    assert told == []


EVENTS = st.lists(st.tuples(st.sampled_from("abc"), st.booleans()), max_size=25)


@given(EVENTS, st.data())
def test_doubled_and_reordered_events_end_where_ordered_ones_do(
    events: list[tuple[str, bool]], data: st.DataObject
) -> None:
    """Each event has the version of its place. Whatever the order of arrival, the last one of each object decides."""
    numbered = [(service(name, version), gone) for version, (name, gone) in enumerate(events, start=1)]
    last = {each.metadata.name: (each, gone) for each, gone in numbered}
    arriving = data.draw(st.permutations(numbered + numbered))
    store: Store[Service] = Store({"colour": by_colour})
    for each, gone in arriving:
        (store.remove if gone else store.put)(each)
    assert {each.metadata.name: each for each in store.all()} == {
        name: each for name, (each, gone) in last.items() if not gone
    }
