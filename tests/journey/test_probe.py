"""What real clients ask first, as a checklist kept outside this repository, against a real `vitals demo`."""

import os
import subprocess
import sys
from pathlib import Path

import anyio
import pytest

from tests.processes import app_at, vitals

# A preflight is what a web page of another origin sends, and no such page may call /mcp: an unauthenticated request
# gets 401 whatever its method, so the browser stops the page. CORS is for the metadata alone.
JUSTIFIED = {"OPTIONS preflight (browser clients only)"}


@pytest.mark.process
def test_every_first_request_of_real_clients_is_answered_as_they_need_it(tmp_path: Path) -> None:
    shared = Path(os.environ.get("VITALS_SHARED") or Path(__file__).parents[3] / "shared")
    probe = shared / "tools" / "probe_rs.py"
    if not probe.is_file():
        pytest.skip("No tools/probe_rs.py. Set VITALS_SHARED to the folder that holds it.")

    with vitals("demo", env={"TMPDIR": str(tmp_path)}, folder=tmp_path / "run") as process:

        async def token() -> str:
            async with app_at(process) as app:
                return app.access_token

        command = [sys.executable, str(probe), process.mcp_url, anyio.run(token)]
        said = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False).stdout

    lines = [line for line in said.splitlines() if line[:3] in {"   ", "!! "}]
    assert len(lines) > 50, said
    bad = {line[3:61].strip() for line in lines if line.startswith("!!")}
    assert bad == JUSTIFIED
