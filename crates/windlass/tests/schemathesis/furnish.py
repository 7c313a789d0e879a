"""Fills a server with one of everything that operations are about, through its API."""

import hashlib
import hmac
import json
import pathlib
import subprocess
import time
import urllib.error
import urllib.request

PASSWORD = "correct horse battery"
DEADLINE = 120  # seconds for whatever the server does by itself
APPLICATION = "hello"
VOLUME = "data"
DELIVERIES = pathlib.Path(__file__).resolve().parents[4] / "crates/testing/fixtures/deliveries/github.jsonl"

EXTENSION = """
metadata:
  {id: furnished, name: Furnished, description: It waits, author: Ada, category: Utility, type: install, version: "1.0.0"}
variables:
  greeting: {type: string, default: hello, description: Not said to anyone}
execution:
  run:
    - {name: Wait, type: wait, properties: {seconds: 1}}
"""


class Api:
    """Calls with one token; a refusal ends the test."""

    def __init__(self, origin, token=None):
        self.origin, self.token = origin, token

    def call(self, method, path, body=None):
        headers = {"content-type": "application/json"}
        if self.token:
            headers["authorization"] = f"Bearer {self.token}"
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.origin}/api/v1{path}", data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=40) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as error:
            raise SystemExit(f"{method} {path}: {error.code} {error.read().decode()}") from None

    def until(self, path, is_so):
        deadline = time.monotonic() + DEADLINE
        while not is_so(answer := self.call("GET", path)):
            if time.monotonic() > deadline:
                raise SystemExit(f"GET {path} does not become what the test waits for: {answer}")
            time.sleep(0.1)
        return answer


def furnish(origin, repository):
    """The tokens, the ids that calls are made with, and those that must not be deleted."""
    # What is run in the first organization runs on this machine, as root: it has host access. So its admin is asked about the
    # installation only, and everything else happens in the organization of the second person.
    admin = register(origin, "admin")
    owner = register(origin, "owner")
    organization = owner.call("GET", "/user/organizations")[0]["organization_id"]
    viewer = invite(origin, owner, organization, "viewer")
    other = invite(origin, owner, organization, "member")
    permissions = owner.call("GET", "/user/organizations")[0]["permissions"]
    key = owner.call("POST", "/auth/api-keys", {"name": "key", "organization_id": organization, "permissions": permissions})
    application = deploy(owner, organization, key["key"], repository)
    ids = {
        "organization_id": organization,
        "user_id": other.call("GET", "/user")["id"],
        "invitation_id": owner.call("POST", "/organizations/invite/send", {"email": "x@example.org", "role": "member"})["invitation"]["id"],
        **about_deploying(owner, application),
        **about_code_hosts(owner),
        **about_extensions(owner),
    }
    mine = [api.call("GET", "/user")["id"] for api in (owner, viewer, admin)]
    sessions = [session["id"] for api in (owner, viewer, admin) for session in api.call("GET", "/auth/sessions")]
    return {
        "tokens": {"owner": owner.token, "viewer": viewer.token, "key": key["key"], "admin": admin.token},
        "ids": ids,
        "kept": [organization, application, key["api_key"]["id"], *mine, *sessions],
    }


def register(origin, name, **more):
    body = {"email": f"{name}@example.org", "password": PASSWORD, **more}
    return Api(origin, Api(origin).call("POST", "/auth/register", body)["access_token"])


def invite(origin, owner, organization, role):
    body = {"organization_id": organization, "email": f"{role}@example.org", "role": role}
    token = owner.call("POST", "/organizations/invite/send", body)["token"]
    return register(origin, role, token=token)


def deploy(owner, organization, key, repository):
    """By a push: folders of the machine are for organizations with host access."""
    volume = {"name": VOLUME, "path": "/data", "shared": True}
    settings = {"name": APPLICATION, "repository": "push", "stop_seconds": 1, "drain_seconds": 1, "volumes": [volume]}
    application = owner.call("POST", "/deploy/application", settings)["id"]
    address = owner.origin.replace("http://", f"http://{key}@") + f"/{organization}/{APPLICATION}.git"
    pushed = subprocess.run(["git", "-C", repository, "push", address, "main"], capture_output=True, text=True, timeout=DEADLINE)
    if pushed.returncode != 0:
        raise SystemExit(f"The push failed:\n{pushed.stdout}{pushed.stderr}")
    return application


def about_deploying(owner, application):
    deployment = owner.call("GET", f"/deploy/application/deployments?id={application}")["deployments"][0]["id"]
    volume = f"/deploy/application/{application}/volumes/{VOLUME}"
    snapshot = owner.call("POST", f"{volume}/snapshots")["id"]
    owner.until(f"/deploy/snapshots/{snapshot}", lambda it: it["state"] not in ("queued", "running", "writing"))
    return {
        "application_id": application,
        "deployment_id": deployment,
        "volume_id": owner.call("GET", "/deploy/volumes")["volumes"][0]["id"],
        "volume_name": VOLUME,
        "snapshot_id": snapshot,
    }


def about_code_hosts(owner):
    """There is no code host in the test's network, so that only its deliveries are real."""
    samples = [json.loads(line) for line in DELIVERIES.read_text().splitlines()]
    push = next(one for one in samples if one["headers"]["X-GitHub-Event"] == "push")
    settings = {"name": "hosted", "repository": push["body"]["repository"]["clone_url"], "previews": True}
    application = owner.call("POST", "/deploy/application", settings)["id"]
    preview = owner.call("POST", f"/deploy/application/{application}/previews", {"pull_request": 7, "branch": "next"})["id"]
    secret = owner.call("GET", f"/deploy/application/{application}/webhook")["secret"]
    deliver(owner.origin, secret, push)
    deliveries = owner.call("GET", f"/deploy/application/{application}/deliveries")["deliveries"]
    return {"preview_id": preview, "delivery_id": deliveries[0]["id"]}


def deliver(origin, secret, sample):
    body = json.dumps(sample["body"]).encode()
    signature = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    headers = {**sample["headers"], "X-Hub-Signature-256": f"sha256={signature}"}
    urllib.request.urlopen(urllib.request.Request(f"{origin}/api/v1/webhook", body, headers), timeout=40).close()


def about_extensions(owner):
    extension = owner.call("POST", "/extensions", {"yaml_content": EXTENSION})["id"]
    execution = owner.call("POST", f"/extensions/{extension}/run", {"variables": {}})["id"]
    owner.until(f"/extensions/execution/{execution}", lambda it: it["status"] in ("completed", "failed"))
    installations = owner.call("GET", "/extensions/installations")["installations"]
    return {
        "extension_id": extension,
        "execution_id": execution,
        **{"installation_id": installation["id"] for installation in installations},
    }
