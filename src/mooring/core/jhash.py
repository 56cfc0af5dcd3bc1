"""The kernel's hash by which packets are given a slot, so that it can be told from outside which slot a client has."""

import struct

WORD = 0xFFFFFFFF


def scaled(octets: bytes, seed: int, number: int) -> int:
    """What `jhash ... mod NUMBER seed SEED` of nftables is: the hash, scaled to so many values."""
    return jhash(octets, seed) * number >> 32


def jhash(octets: bytes, seed: int) -> int:
    """Bob Jenkins' lookup3 as Linux has it, of whole words, by which all is counted."""
    words = struct.unpack(f"={len(octets) // 4}I", octets)
    a = b = c = 0xDEADBEEF + len(octets) + seed & WORD
    while len(words) > 3:  # noqa: PLR2004 - as many as there are in the state
        a, b, c = _mixed(a + words[0] & WORD, b + words[1] & WORD, c + words[2] & WORD)
        words = words[3:]
    rest = (*words, 0, 0, 0)
    return _final(a + rest[0] & WORD, b + rest[1] & WORD, c + rest[2] & WORD)


def _mixed(a: int, b: int, c: int) -> tuple[int, int, int]:
    for first, second, third in ((4, 6, 8), (16, 19, 4)):
        a, c = (a - c & WORD) ^ _rotated(c, first), c + b & WORD
        b, a = (b - a & WORD) ^ _rotated(a, second), a + c & WORD
        c, b = (c - b & WORD) ^ _rotated(b, third), b + a & WORD
    return a, b, c


def _final(a: int, b: int, c: int) -> int:
    c = (c ^ b) - _rotated(b, 14) & WORD
    a = (a ^ c) - _rotated(c, 11) & WORD
    b = (b ^ a) - _rotated(a, 25) & WORD
    c = (c ^ b) - _rotated(b, 16) & WORD
    a = (a ^ c) - _rotated(c, 4) & WORD
    b = (b ^ a) - _rotated(a, 14) & WORD
    return (c ^ b) - _rotated(b, 24) & WORD


def _rotated(word: int, by: int) -> int:
    return (word << by | word >> 32 - by) & WORD
