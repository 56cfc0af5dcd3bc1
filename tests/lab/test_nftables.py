"""Our rules in a real kernel, in a network namespace of their own: they load, change and are refused as a whole."""

import json
import subprocess
import sys

import pytest

from mooring.core import ruleset
from mooring.model.gateway import Backend, Forward

WEB = Forward("10.0.0.5", "TCP", 80, "shop/web", (Backend("10.1.0.7", 8080), Backend("10.1.0.8", 8080)))
MORE = Forward("10.0.0.5", "TCP", 80, "shop/web", (*WEB.backends, Backend("10.1.0.9", 8080)))
SIX = Forward("fd00::5", "UDP", 53, "shop/six", (Backend("fd00:1::7", 5353),))

pytestmark = pytest.mark.usefixtures("lab")  # which has installed nftables

PROGRAM = """
import json, sys
from mooring.host.nftables import NftError, Nftables
nft = Nftables()
told = []
for text in json.load(sys.stdin):
    try:
        told.append(nft.run(text))
    except NftError as error:
        told.append(f"refused: {error}")
json.dump(told, sys.stdout)
"""


def carried_out(*texts: str) -> list[str]:
    """What each text gives, one after the other, in a namespace that ends with them."""
    command = ["unshare", "--net", sys.executable, "-c", PROGRAM]
    run = subprocess.run(command, input=json.dumps(texts), capture_output=True, text=True, check=True)
    told: list[str] = json.loads(run.stdout)
    return told


def test_a_load_and_a_change_are_what_the_kernel_holds() -> None:
    load = ruleset.load([WEB, SIX], seed=0x5EED, chains=64)
    change = ruleset.change([WEB, SIX], [MORE, SIX])
    *_, before, nothing, after = carried_out(load, "list map ip mooring be", change, "list map ip mooring be")
    assert nothing == ""
    assert "10.1.0.8 . 8080" in before
    assert "10.1.0.9 . 8080" not in before
    assert "10.0.0.5 . tcp . 80 . 2 : 10.1.0.9 . 8080" in after


def test_a_load_replaces_what_was_there() -> None:
    first, second = (ruleset.load(each, seed=1, chains=64) for each in ([WEB, SIX], [SIX]))
    *_, four, six = carried_out(first, second, "list map ip mooring services", "list map ip6 mooring services")
    assert "goto" not in four
    assert "fd00::5 . udp . 53 : goto n1" in six


def test_a_text_that_is_wrong_anywhere_changes_nothing() -> None:
    load = ruleset.load([WEB], seed=1, chains=64)
    wrong = ruleset.change([WEB], [MORE]) + "add element ip mooring services { nonsense }\n"
    _, refused, after = carried_out(load, wrong, "list map ip mooring services")
    assert refused.startswith("refused: Error")
    assert "goto n2" in after


def test_tables_of_others_are_left_alone() -> None:
    theirs = "table inet theirs {\n chain own { type filter hook input priority 0; policy accept; }\n}"
    *_, tables = carried_out(theirs, ruleset.load([WEB], seed=1, chains=64), "list tables")
    assert "table inet theirs" in tables
