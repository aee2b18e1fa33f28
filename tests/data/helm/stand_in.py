"""A stand-in for the helm executable: records how it was called and answers as its scenario says.

The folder in $STAND_IN holds `scenario.json`, first words of a command line -> what to do: `stdout`, `stderr`,
`exit`, and `hang`: start a child, write `pids.json`, and wait with it (`deaf`: even after SIGTERM, which makes the file
`told`).
Every call is appended to `calls.jsonl`.
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

folder = Path(os.environ["STAND_IN"])
argv = sys.argv[1:]
scenario = json.loads((folder / "scenario.json").read_text())
words = next((key for key in scenario if argv[: len(key.split())] == key.split()), None)
answer = scenario.get(words, {})
call = {
    "argv": argv,
    "stdin": sys.stdin.read(),
    "environment": {name: text for name, text in os.environ.items() if name.startswith("HELM_")},
}
with (folder / "calls.jsonl").open("a") as calls:
    calls.write(json.dumps(call) + "\n")
sys.stderr.write(answer.get("stderr", ""))
sys.stderr.flush()
sys.stdout.write(answer.get("stdout", ""))
sys.stdout.flush()
if answer.get("hang"):
    if answer.get("deaf"):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    if answer.get("deaf"):
        signal.signal(signal.SIGTERM, lambda *_: (folder / "told").touch())
    unfinished = folder / "pids.tmp"
    unfinished.write_text(json.dumps([os.getpid(), child.pid]))
    unfinished.rename(folder / "pids.json")
    while True:
        time.sleep(600)
sys.exit(answer.get("exit", 0))
