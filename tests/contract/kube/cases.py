"""All cases of the Kubernetes contract: every public coroutine of the modules here is one, and takes a world."""

import importlib
import inspect

import pytest

from tests.contract.kube.world import Case

MODULES = (
    "creating",
    "changing",
    "status",
    "deleting",
    "services",
    "plain_kinds",
    "cluster_kinds",
    "custom",
    "listing",
    "watching",
    "typed",
    "about",
)


def all_cases() -> list[Case]:
    found: list[Case] = []
    for name in MODULES:
        module = f"tests.contract.kube.{name}"
        pytest.register_assert_rewrite(module)
        members = inspect.getmembers(importlib.import_module(module), inspect.iscoroutinefunction)
        found += [case for title, case in members if not title.startswith("_") and case.__module__ == module]
    return found


def title(case: Case) -> str:
    return f"{case.__module__.rpartition('.')[2]}.{getattr(case, '__name__', '')}"
