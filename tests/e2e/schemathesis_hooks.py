"""What the schema cannot say, for schemathesis: requests that are right by themselves and wrong only for the state that
they meet would otherwise drown those that are wrong in the schema."""

import os

import schemathesis

TENANT = os.environ["TANGRAM_TEST_TENANT"]
YAML = "application/yaml"


def is_negative(case):
    return case.meta is not None and case.meta.generation.mode.is_negative


def documents(body):
    return body.get("items", [body]) if isinstance(body, dict) else []


@schemathesis.hook
def before_call(context, case, kwargs):
    """The operator says for whom a job is, no tenant becomes a child of itself, and no two documents of one apply have
    one name."""
    if is_negative(case):
        return
    if case.path == "/v1/leases" and isinstance(case.body, dict):
        case.body.setdefault("tenant", TENANT)
        case.body["npus"] = 4096  # more than there are: the stream of a lease that is given would never end
        return
    names = set()
    for number, document in enumerate(documents(case.body)):
        if not isinstance(document, dict):
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
