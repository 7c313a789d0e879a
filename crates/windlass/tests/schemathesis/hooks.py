"""What Schemathesis does before and after each of its calls. Most calls get ids that exist, or nearly all answers were 404."""

import json
import os
import re
import zlib

import schemathesis

from furnish import EXTENSION

FURNISHED = json.loads(os.environ["FURNISHED"])
IDS, KEPT = FURNISHED["ids"], set(FURNISHED["kept"])
UUID = re.compile(r"[0-9a-fA-F-]{36}")
NO_ONES_ID = "01900000-0000-7000-8000-000000000000"
# What takes something away that the calls after it need, if it gets the id of that.
DESTRUCTIVE = {
    "delete_application",
    "delete_organization",
    "make_password_reset",
    "remove_user",
    "revoke_api_key",
    "revoke_my_api_key",
    "revoke_session",
    "update_user_role",
}
# Where a parameter is just called `id`.
APPLICATIONS = ("/deploy/application", "/deploy/traffic")


@schemathesis.hook
def before_call(context, case, kwargs):
    operation = case.operation
    name = operation.definition.raw.get("operationId")
    for part in (case.path_parameters, case.query, case.body):
        if isinstance(part, dict):
            put_ids(operation, part)
            if name in DESTRUCTIVE:
                spare(part)
    choose_organization(case)
    if isinstance(case.body, dict) and "yaml_content" in case.body and chance(case.body["yaml_content"], 2):
        case.body["yaml_content"] = EXTENSION.replace("furnished", f"another-{chance(case.body, 50)}")


def put_ids(operation, part):
    for key, value in part.items():
        known = IDS.get(meaning(operation.path, key))
        is_id = isinstance(value, str) and (key == "volume_name" or UUID.fullmatch(value))
        # The same for the same value: a failure must come again when the call is repeated.
        if known and is_id and chance((operation.label, key, value), 4):
            part[key] = known


def meaning(path, key):
    if key != "id":
        return key
    return "application_id" if any(beginning in path for beginning in APPLICATIONS) else "organization_id"


def spare(part):
    for key, value in part.items():
        if isinstance(value, str) and value.lower() in KEPT:
            part[key] = NO_ONES_ID


def choose_organization(case):
    """The description calls the header a text: most values that are made up would be refused before anything else is looked at."""
    for name, value in list((case.headers or {}).items()):
        if name.lower() == "x-organization-id" and chance((case.operation.label, value), 4):
            case.headers[name] = IDS["organization_id"]


def chance(value, of):
    """0 once in so many, whatever it is."""
    return zlib.crc32(repr(value).encode("utf-8", "surrogatepass")) % of


@schemathesis.hook
def after_call(context, case, response):
    name = case.operation.definition.raw.get("operationId")
    with open(os.environ["ANSWERS"], "a", encoding="utf-8") as answers:
        answers.write(f"{name} {response.status_code}\n")
