"""Writes the texts of all states, and the page that shows them: `make states`."""

import tempfile
from pathlib import Path

from tests.states.catalogue import all_shown
from tests.states.ground import ground
from tests.states.pages import texts

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder, ground(Path(folder)) as client:
        for path, text in texts(all_shown(client)).items():
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, "utf-8")
