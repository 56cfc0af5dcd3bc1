"""The tests, in the folders of the packages that they test."""
