"""`python -m mooring.manifests FOLDER`: write the files of deploy/kubernetes anew; `make manifests` does it."""

import sys
from pathlib import Path

from mooring.manifests import files


def main(folder: Path) -> None:
    for name, content in files.written().items():
        (folder / name).write_text(content)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
