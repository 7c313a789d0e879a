"""Calls everything that a real server describes, in every way that its description allows and in some that it does not:
    run.py SECONDS
with the tokens of an owner, a viewer, an API key and an admin of the installation. scripts/schemathesis calls it."""

import collections
import contextlib
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

import furnish

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[3]
WINDLASS = os.environ["WINDLASS"]
GRACE = 120  # seconds that Schemathesis may take longer than it was told
# In a minute there is no time for more than values at random; what lies at the edges of each schema comes in longer runs.
LONG, LONG_ENOUGH = "examples,coverage,fuzzing,stateful", 300
# A run in which most calls were refused before they came to anything would show nothing.
ENOUGH = 30
LEAST_SUCCESS = 0.1
MOST_REFUSED = 0.05
MOST_FAULTS = 50

# No limit may hide what is behind it, and no wait may use up the time.
GENEROUS = {
    "address-requests": 0,
    "account-requests": 0,
    "key-requests": 0,
    "login-attempts": 100000,
    "code-attempts": 1000,
    "webhook-failures": 100000,
    "connection-calls": 100000,
    "address-connections": 0,
    "open-registration": "true",
    "user-organizations": 1000,
    "organization-applications": 10000,
    "organization-executions": 1000,
    "member-keys": 1000,
    "open-invitations": 10000,
    "request-seconds": 30,
    "idle-seconds": 5,
    "fetch-seconds": 5,
    "allow-private-targets": "true",
}


@contextlib.contextmanager
def server(folder):
    """A server that answers, and its log."""
    data, log = folder / "data", folder / "server.log"
    origin = f"http://127.0.0.1:{free_port()}"
    settings = [word for name, value in GENEROUS.items() for word in (f"--{name}", str(value))]
    where = ["--data-dir", data, "--listen", origin.removeprefix("http://"), "--edge-http", "127.0.0.1:0"]
    where += ["--edge-https", "127.0.0.1:0"]
    with open(log, "wb") as out:
        child = subprocess.Popen([WINDLASS, "serve", *where, *settings], stdout=out, stderr=out, cwd=folder)
    try:
        wait_for(origin, child, log)
        yield origin, log
    finally:
        subprocess.run([WINDLASS, "stop", "--data-dir", data], capture_output=True, timeout=60, check=False)
        try:
            child.wait(30)
        except subprocess.TimeoutExpired:
            child.kill()


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def wait_for(origin, child, log):
    deadline = time.monotonic() + 60
    host, port = origin.removeprefix("http://").split(":")
    while True:
        with contextlib.suppress(OSError), socket.create_connection((host, int(port)), 5):
            return
        if child.poll() is not None or time.monotonic() > deadline:
            raise SystemExit(f"The server does not start:\n{log.read_text()}")
        time.sleep(0.1)


def make_repository(folder):
    shutil.copytree(ROOT / "examples/hello", folder)
    git = ["git", "-C", folder, "-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
    for command in (["init", "--quiet", "--initial-branch=main"], ["add", "."], ["commit", "--quiet", "-m", "Say hello"]):
        subprocess.run([*git, *command], check=True)
    return folder


class Caller:
    """Calls everything with one token, for so many seconds, beside the others."""

    def __init__(self, who, origin, furnished, seconds, folder):
        self.who, self.deadline = who, time.monotonic() + seconds + GRACE
        self.folder = folder / who
        self.folder.mkdir()
        self.answers, self.said = self.folder / "answers", self.folder / "said"
        self.answers.touch()
        command = [
            *(pathlib.Path(sys.executable).parent / "st", "--config-file", HERE / "schemathesis.toml", "run", "--no-color"),
            *("--max-time", str(seconds), "--phases", LONG if seconds >= LONG_ENOUGH else "fuzzing"),
            *("--header", f"Authorization: Bearer {furnished['tokens'][who]}"),
            *(("--include-path-regex", "/instance") if who == "admin" else ()),
            *(("--seed", os.environ["SEED"]) if "SEED" in os.environ else ()),
            f"{origin}/api/v1/openapi.json",
        ]
        environment = {**os.environ, "PYTHONPATH": str(HERE), "FURNISHED": json.dumps(furnished), "ANSWERS": str(self.answers)}
        with open(self.said, "wb") as out:
            self.child = subprocess.Popen(command, cwd=self.folder, env=environment, stdout=out, stderr=out)

    def wait(self):
        """Whether all was as described, and the calls came to something."""
        try:
            status = self.child.wait(max(1, self.deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            self.child.kill()
            status = "it did not end in time"
        if status != 0 or os.environ.get("VERBOSE"):
            print(self.said.read_text())
            print(f"{self.who}: Schemathesis ended with: {status}")
        counted = collections.Counter(tuple(line.split()) for line in self.answers.read_text().splitlines())
        return status == 0 and judged(self.who, counted)


def judged(who, counted):
    """Says what was answered; whether the calls came to something."""
    by_status = collections.Counter()
    for (name, status), times in sorted(counted.items()):
        by_status[status] += times
        if os.environ.get("VERBOSE"):
            print(f"  {name} {status} {times}")
    total = sum(by_status.values())
    said = ", ".join(f"{times} x {status}" for status, times in sorted(by_status.items()))
    print(f"{who}: {total} calls of {len({name for name, _ in counted})} operations: {said}")

    def share(*statuses):
        return sum(times for status, times in by_status.items() if status.startswith(statuses)) / max(total, 1)

    # The admin has few seconds, calls little in them, and names mostly an organization of others, which is refused.
    if who == "admin" and (total < ENOUGH or share("2") > 0):
        return True
    if total < ENOUGH or share("2") < LEAST_SUCCESS or share("401", "429") > MOST_REFUSED:
        print(f"{who}: too few calls, too few that succeeded, or too many that were not let in")
        return False
    return True


def main(seconds):
    with tempfile.TemporaryDirectory(prefix="windlass-schemathesis.") as folder:
        folder = pathlib.Path(folder)
        with server(folder) as (origin, log):
            furnished = furnish.furnish(origin, make_repository(folder / "hello"))
            callers = [Caller(who, origin, furnished, seconds, folder) for who in ("owner", "viewer", "key")]
            # About the installation there are few operations.
            callers.append(Caller("admin", origin, furnished, max(5, seconds // 10), folder))
            # All of them, also when one has failed.
            good = all([caller.wait() for caller in callers])
        said = log.read_text(errors="replace")
        if os.environ.get("KEEP_LOG"):
            pathlib.Path(os.environ["KEEP_LOG"]).write_text(said)
        # An answer of 5xx says no more than that the log has its cause; and jobs have no caller who would see one.
        faults = [line for line in said.splitlines() if "panicked" in line or " ERROR " in line]
        for line in faults[:MOST_FAULTS]:
            print(line)
        panics = [line for line in faults if "panicked" in line]
        return 0 if good and not panics else 1


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(130))
    sys.exit(main(int(sys.argv[1])))
