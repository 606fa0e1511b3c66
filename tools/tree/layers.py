"""Who may include whom (docs/architecture.md §2), and what the core must not touch."""

import re

from tree.source import Finding, line_of

# From the bottom up: a folder may include only folders above it in this list.
ORDER = ["base", "model", "catalog", "calendar", "quota", "queue", "placement", "scheduler", "ports", "net", "journal",
         "device", "runner", "wire", "service", "client", "server", "kube", "cli", "simulate", "bin"]
CORE = {"model", "catalog", "calendar", "quota", "queue", "placement", "scheduler"}
IMPLEMENTATIONS = {"journal", "device", "runner"}  # of ports; only bin wires them to service

# Narrower than the order. A longer key (a folder in a folder) wins.
ALLOWED = {
    "base": set(),
    **{folder: {"base"} | CORE for folder in CORE},
    "ports": {"base", "model"},
    "net": {"base"},
    "client": {"base", "net", "wire"},
    "server": {"base", "net", "wire", "service"},
    "kube": {"base", "net", "ports", "wire", "service"},
    "kube/api": {"base", "net"},
    "kube/node": {"base", "net", "ports", "wire", "service", "device"},
    "kube/manager": {"base", "net", "wire"} | CORE,  # the cluster's single writer, as service is a machine's
    "cli": {"base", "net", "wire", "client"},
}

# A part of a folder that the folder's other parts build on: of its own folder it includes only itself.
FOUNDATIONS = {"kube/api"}

# Folders that share nothing with the product: only what is named here, besides their own.
APART = {"guard": ["tangram/guard_abi.h"], "ascendsim": ["acl/"]}

CORE_HEADERS = {
    "<chrono>", "<ctime>", "<time.h>", "<sys/time.h>", "<random>", "<fstream>", "<iostream>", "<ostream>", "<istream>",
    "<sstream>", "<cstdio>", "<stdio.h>", "<filesystem>", "<thread>", "<mutex>", "<shared_mutex>", "<atomic>",
    "<condition_variable>", "<future>", "<cmath>", "<math.h>", "<unordered_map>", "<unordered_set>", "<locale>",
    "<cstdlib>", "<stdlib.h>", "<unistd.h>", "<fcntl.h>", "<sys/socket.h>", "<sys/stat.h>",
}
CORE_WORDS = [
    (r"\b(?:float|double)\b", "floating point"),
    (r"\bunordered_(?:multi)?(?:map|set)\b", "a container in hash order"),
    (r"\b(?:system|steady|high_resolution)_clock\b", "a clock"),
    (r"(?<![\w.>:])(?:std::)?time\s*\(|\b(?:gettimeofday|clock_gettime|localtime|gmtime)\b", "a clock"),
    (r"(?<![\w.>:])(?:std::)?s?rand\s*\(|\b(?:random_device|mt19937\w*|default_random_engine|getrandom)\b",
     "a random number"),
    (r"\bgetenv\b", "the environment"),
    (r"\b(?:printf|fprintf|fopen|cout|cerr|clog)\b", "input or output"),
]


def folder_of(path):
    parts = path.split("/")
    return parts[1] if parts[0] == "src" and len(parts) > 2 else None


def allowed_from(path):
    """The folders that the file may include, besides its own."""
    parts = path.split("/")[1:-1]
    for depth in range(len(parts), 0, -1):
        rule = ALLOWED.get("/".join(parts[:depth]))
        if rule is not None:
            return rule
    below = set(ORDER[:ORDER.index(parts[0])])
    # wire, service and their users know only the interface; the implementations may know each other by order.
    return below if parts[0] in IMPLEMENTATIONS | {"bin"} else below - IMPLEMENTATIONS


def check_includes(tree):
    folders = {folder_of(path) for path in tree.sources("src")} - {None}
    for path in tree.sources("src"):
        folder = folder_of(path)
        if folder is None:
            yield Finding(path, 1, "a source lies in a folder of src/, not in src/ itself")
            continue
        if folder not in ORDER and folder not in APART:
            yield Finding(path, 1, f"the folder src/{folder} has no place in the order of tools/tree/layers.py")
            continue
        for line, kind, name in tree.includes(path):
            target = name.split("/")[0]
            if kind == "<":
                if "/" in name and target in folders:
                    yield Finding(path, line, f'<{name}> is of this project: write "{name}"')
                continue
            message = include_problem(path, folder, target, name, folders)
            if message:
                yield Finding(path, line, message)


def include_problem(path, folder, target, name, folders):
    if "/" not in name:
        return f'"{name}" must be written with its folder'
    if target == folder:
        part = "/".join(path.split("/")[1:3])
        if part in FOUNDATIONS and not name.startswith(part + "/"):
            return f"{part} may not include what is built on it ({name})"
        return None
    if folder in APART:
        good = any(name == one or (one.endswith("/") and name.startswith(one)) for one in APART[folder])
        return None if good else f"{folder} shares nothing with the product, but includes {name}"
    if target in APART:
        return f"the product includes {name}, and must not know {target}"
    if target == "tangram":
        return None
    if target not in folders:
        return f"there is no src/{target}, but {name} is included"
    if target not in allowed_from(path):
        return f"{folder} may not include {target} ({name})"
    if folder in CORE and name == "base/log.h":
        return "the core may not include base/log.h"
    return None


def check_core(tree):
    for path in tree.sources("src"):
        if folder_of(path) not in CORE:
            continue
        for line, kind, name in tree.includes(path):
            if f"<{name}>" in CORE_HEADERS:
                yield Finding(path, line, f"the core may not include <{name}>")
            elif kind == "<" and "/" in name:
                yield Finding(path, line, f"the core includes only the standard library, not <{name}>")
        code = tree.code(path)
        for pattern, what in CORE_WORDS:
            for match in re.finditer(pattern, code):
                yield Finding(path, line_of(code, match.start()), f"the core may not use {what}: {match.group(0).strip()}")


def check_guard(tree):
    for path in tree.sources("src"):
        if folder_of(path) != "guard":
            continue
        for line, _, name in tree.includes(path):
            if name == "iostream":
                yield Finding(path, line, "the guard may not include <iostream>")
        code = tree.code(path)
        for match in re.finditer(r"\b(?:throw|try|catch|abort|std::terminate)\b", code):
            yield Finding(path, line_of(code, match.start()), f"the guard may not use {match.group(0)}")


def check_wrapped_libraries(tree):
    """A library that is slow to compile, or whose types must not spread, stays behind the folder that wraps it."""
    homes = {"boost/beast": ("src/net/", 2), "boost/asio": ("src/net/", None), "sqlite3.h": ("src/journal/", 2), "xxhash.h": ("src/journal/", 1),
             "spdlog/": ("src/base/log.cc", 1), "grpcpp/": ("src/kube/node/kubelet_link.cc", 1)}
    for library, (home, most) in homes.items():
        users = [path for path in tree.sources("src") if folder_of(path) != "ascendsim"
                 and any(name.startswith(library) for _, kind, name in tree.includes(path) if kind == "<")]
        for path in users:
            if not path.startswith(home):
                yield Finding(path, 1, f"{library} belongs in {home} alone")
        users = [path for path in users if path.startswith(home)]
        if most is not None and len(users) > most:
            yield Finding(users[-1], 1, f"{library} is included by {len(users)} files, {most} may: {', '.join(users)}")
