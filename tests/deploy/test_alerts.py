"""The alerts: about figures that exist, each with a sentence, a meaning and a section of the guide."""

import re
from typing import Any

import msgspec
import pytest
import reference_metrics

from tests.source_copy import ROOT

FOLDER = ROOT / "deploy" / "monitoring"
GUIDE = "docs/guides/monitor.md"
RULES: dict[str, Any] = msgspec.yaml.decode((FOLDER / "mooring.rules.yaml").read_bytes())
ALERTS: list[dict[str, Any]] = [rule for group in RULES["groups"] for rule in group["rules"]]
FAMILIES = {
    each.name: each for each in (*reference_metrics.families("controller"), *reference_metrics.families("agent"))
}
FIGURE = re.compile(r"(?P<name>\bmooring_\w+)(?:\{(?P<matchers>[^}]*)\})?(?P<range>\[\w+\])?")
MATCHER = re.compile(r'(?P<label>\w+)(?:=~|!~|!=|=)"(?P<value>[^"]*)"')
GROUPING = re.compile(r"\b(?:by|without|on|ignoring) \(([^)]*)\)")
DURATION = re.compile(r"\d+(s|m|h|d)")
AGGREGATION = re.compile(r"\b(?:sum|max)\b(?: by \((?P<labels>[^)]*)\))?")
WORDS = {"sum", "max", "by", "on", "and", "or", "unless", "absent", "increase"}
ADDED = {"instance", "job", "cluster"}
"""Labels that Prometheus gives to all that it asks for, and the one that its owner gives where there are several."""


def by_name(alert: dict[str, Any]) -> str:
    return str(alert["alert"])


def test_there_are_few_and_each_has_a_name_of_its_own() -> None:
    names = [by_name(each) for each in ALERTS]
    assert len(set(names)) == len(names) <= 20
    assert all(each.startswith("Mooring") for each in names)


@pytest.mark.parametrize("alert", ALERTS, ids=by_name)
def test_an_alert_is_whole(alert: dict[str, Any]) -> None:
    assert set(alert) <= {"alert", "expr", "for", "labels", "annotations"}
    assert alert["labels"] in ({"severity": "page"}, {"severity": "ticket"})
    assert set(alert["annotations"]) == {"summary", "description", "runbook"}
    assert all(alert["annotations"].values())
    assert DURATION.fullmatch(alert.get("for", "1m"))


@pytest.mark.parametrize("alert", ALERTS, ids=by_name)
def test_it_is_about_figures_and_labels_that_exist(alert: dict[str, Any]) -> None:
    figures = list(FIGURE.finditer(alert["expr"]))
    assert figures
    for figure in figures:
        family = FAMILIES[figure["name"]]
        matched = list(MATCHER.finditer(figure["matchers"] or ""))
        assert {each["label"] for each in matched} <= set(family.labels)
        assert (family.type == "counter") == bool(figure["range"]), f"a counter is seen by its increase: {family.name}"
    labels = {label for each in figures for label in FAMILIES[each["name"]].labels} | ADDED
    named = [label.strip() for group in GROUPING.findall(alert["expr"]) for label in group.split(",")]
    named += re.findall(r"\$labels\.(\w+)", " ".join(alert["annotations"].values()))
    assert set(named) <= labels


@pytest.mark.parametrize("alert", ALERTS, ids=by_name)
def test_its_expression_is_one(alert: dict[str, Any]) -> None:
    """No word that Prometheus does not know, and as many brackets as are needed."""
    text = FIGURE.sub("", alert["expr"])
    assert set(re.findall(r"[a-z_]+", GROUPING.sub("", text))) <= WORDS
    for opening, closing in ("()", "[]", "{}"):
        assert text.count(opening) == text.count(closing)


@pytest.mark.parametrize("alert", ALERTS, ids=by_name)
def test_no_cluster_is_counted_with_another(alert: dict[str, Any]) -> None:
    for each in AGGREGATION.finditer(alert["expr"]):
        assert (each["labels"] or "").split(",")[0] == "cluster", each.group()


def test_states_and_outcomes_are_those_that_there_are() -> None:
    known = {"state": reference_metrics.LABELS["state"]}
    for alert in ALERTS:
        for each in MATCHER.finditer(alert["expr"]):
            if each["label"] == "state":
                assert f"`{each['value']}`" in known["state"]
            else:
                assert all(code.isdigit() for code in each["value"].split("|"))


def test_each_has_its_section_in_the_guide_and_no_section_is_left_over() -> None:
    headings = re.findall(r"^## (Mooring\w+)$", (ROOT / GUIDE).read_text(), re.MULTILINE)
    assert headings == [by_name(each) for each in ALERTS]
    for each in ALERTS:
        assert each["annotations"]["runbook"] == f"{GUIDE}#{by_name(each).lower()}"


def test_the_operator_s_object_is_the_same() -> None:
    made = msgspec.yaml.decode((FOLDER / "prometheusrule.yaml").read_bytes())
    assert (made["apiVersion"], made["kind"]) == ("monitoring.coreos.com/v1", "PrometheusRule")
    assert made["spec"] == RULES
