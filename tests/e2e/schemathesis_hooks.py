"""What the schema cannot say, for schemathesis: requests that are right by themselves and wrong only for the state that
they meet would otherwise drown those that are wrong in the schema."""

import os
import re

import schemathesis

TENANT = os.environ["TANGRAM_TEST_TENANT"]
OWN_TOKEN = os.environ["TANGRAM_TEST_OWN_TOKEN"]  # ids and names of the one that these requests carry, as a pattern
YAML = "application/yaml"
AHEAD = "8000000000000.0"  # a cursor that no journal has reached: refused with 409


def is_negative(case):
    return case.meta is not None and case.meta.generation.mode.is_negative


def documents(body):
    return body.get("items", [body]) if isinstance(body, dict) else []


@schemathesis.hook
def before_call(context, case, kwargs):
    """The operator says for whom a job is, no tenant becomes a child of itself, no two documents of one apply have one
    name, and nobody waits for events that never come. The token that opens the door is not ended: every later answer
    would be 401."""
    if "{token}" in case.path and re.fullmatch(OWN_TOKEN, str(case.path_parameters.get("token"))):
        case.path_parameters["token"] = "none"
    if is_negative(case):
        return
    if case.path == "/v1/events" and (case.query or {}).get("after") != "oldest":  # what is there comes at once
        case.query = {**(case.query or {}), "after": AHEAD}
        case.headers = {name: value for name, value in (case.headers or {}).items() if name != "Last-Event-ID"}
        return
    if case.path == "/v1/leases" and isinstance(case.body, dict):
        case.body.setdefault("tenant", TENANT)
        case.body["npus"] = 4096  # more than there are: the stream of a lease that is given would never end
        return
    if case.path == "/v1/fit":
        query = {"tenant": TENANT, **(case.query or {})}
        if "sliceMemory" in query or "sliceAiCores" in query:  # a slice is of one NPU, and has its own memory
            query = {name: value for name, value in query.items() if name not in ("npus", "memory")}
        case.query = query
        return
    names = set()
    for number, document in enumerate(documents(case.body)):
        if not isinstance(document, dict):
            continue
        if "role" in document and "name" in document:  # a token: one of a tenant acts for one, and no other does
            document.pop("tenant", None)
            if document["role"] == "tenant":
                document["tenant"] = TENANT
            continue
        metadata = document.get("metadata")
        if metadata and metadata.get("name") in names:
            metadata["name"] = f"n{number}"
        if metadata:
            names.add(metadata.get("name"))
        spec = document.get("spec")
        if "command" in document:
            document.setdefault("tenant", TENANT)
        elif document.get("kind") == "Job":
            spec.setdefault("tenant", TENANT)
        elif document.get("kind") == "Tenant" and spec is not None:
            spec.pop("parent", None)


@schemathesis.hook
def filter_case(context, case):
    """In YAML a text may stand without quotes, so that a number or a truth value in its place is right."""
    return not (case.media_type == YAML and is_negative(case))
