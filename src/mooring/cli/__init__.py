"""The command `mooring`: reads files and environment, calls the layers below, prints for people."""
