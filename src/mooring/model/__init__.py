"""Frozen data and closed lists: the words that every other layer speaks."""
