"""An engine for the tests of the lab's server: what it does when asked to."""

import os
import time
from pathlib import Path

if "STANDIN_PIDS" in os.environ:  # every worker leaves its number here
    (Path(os.environ["STANDIN_PIDS"]) / str(os.getpid())).touch()


def answer(request):
    ask = request["ask"]
    if "begun" in request:  # a file that says so
        Path(request["begun"]).touch()
    if ask == "sleep":
        time.sleep(request["seconds"])
    elif ask == "spin":
        while True:
            pass
    elif ask == "wait":
        while not Path(request["file"]).exists():
            time.sleep(0.01)
    elif ask == "crash":
        os._exit(1)
    elif ask == "print":
        print("a library that talks")
        os.write(1, b"and one that writes to the very pipe\n")
    elif ask == "fault":
        raise KeyError("a fault of the engine")
    elif ask == "nan":
        return {"values": [1.0, float("nan"), float("inf")]}
    elif ask == "large":
        return {"text": "x" * request["size"]}
    elif ask not in ("echo", "hello", "solve"):
        from maxmargin.core.errors import InputError  # on use: workers start sooner without

        raise InputError(f"There is no ask {ask!r}.")
    return {"pid": os.getpid(), "value": request.get("value")}
