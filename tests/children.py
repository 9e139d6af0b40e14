"""Work in a process of its own, which may use little memory, and must not die by a signal.

A function of a test file yields (case, outcome) pairs of text; it runs in a child, and what it yielded
comes back. If the child dies, the failure names the case that it died of.
"""

import importlib
import json
import resource
from pathlib import Path

from forks import run_apart


def run(module, function, *given, memory=None):
    """Return {case: outcome} of ``module.function(*given)``; ``memory``: bytes it may take above now."""
    code, out, err = run_apart(module, function, json.dumps([memory, *map(str, given)]))
    lines = [json.loads(line) for line in out.splitlines()]
    assert code == 0, f"the child ended with {code} after {lines[-1:]}: {err[-2_000:]}"
    return {case: outcome for case, outcome in lines if outcome is not None}


def outcome(function, *given):
    """What became of a call: the first line of an error of ours, or the type of another, or nothing."""
    from maxmargin.core.errors import InputError

    try:
        function(*given)
    except InputError as error:
        return f"refused: {error}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "went through"


def main(module, function, given):
    """The child: each case is announced before it is tried."""
    memory, *arguments = json.loads(given)
    work = getattr(importlib.import_module(module), function)
    if memory is not None:
        taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (taken + memory, taken + memory))
    for case, call in work(*arguments):
        print(json.dumps([case, None]), flush=True)
        print(json.dumps([case, outcome(call)]), flush=True)
