"""Copy as Python: the script on the page, run in a process of its own, gives the page's numbers."""

# ruff: noqa: F401, F811 (fixtures are imported by name)

import ast
import os
import subprocess
import sys

from lab_driver import browser, kept, lab_url
from lab_driver import shared as lab
from lab_library import held_out, preset
from lab_words import facts
from serving import until
from thorough import THOROUGH

SEPARABLE = preset("separable", n=24, margin=0.25, seed=3)
OVERLAPPING = preset("overlapping", n=40, noise=0.8)
THREE = preset("three blobs", n=30)
CLIPBOARD = "navigator.clipboard.readText()"
SCRIPTS = {
    "perceptron": (held_out(SEPARABLE), {"threshold": 0.5, "rate": 0.3, "order": "shuffled", "seed": 4}),
    "averaged": (OVERLAPPING, {"averaged": True, "updates": 77}),
    "batch": (OVERLAPPING, {"step": 0.01, "intercept": False}),
    "exact": (OVERLAPPING, {}),
    "pocket": (held_out(OVERLAPPING), {"order": "random", "seed": 2}),
    "hard": (SEPARABLE, {}),
    "refused": (OVERLAPPING, {}),
    "soft": (held_out(OVERLAPPING), {"C": 0.37}),
    "three": (THREE, {"scheme": "ovo", "C": 5.0}),
}
SOME = SCRIPTS if THOROUGH else ("perceptron", "exact", "pocket", "refused", "three")
KINDS = {"averaged": "perceptron", "exact": "batch", "refused": "hard", "three": "soft"}


def test_scripts_give_the_numbers_of_the_page(lab, tmp_path):
    codes, answers = {}, {}
    for name in SOME:
        data, options = SCRIPTS[name]
        lab.open(data, algorithm=KINDS.get(name, name), options=options)
        codes[name], answers[name] = copied(lab), lab.answer()
    lab.open(SEPARABLE)
    lab.click(0.5, -0.5, view="w")
    codes["by hand"] = copied(lab)
    said = run(codes, tmp_path)
    assert lab.text("e-in").startswith(said.pop("by hand")["by hand"])
    for name, words in said.items():
        compare(name, words, answers[name])


def copied(lab):
    """The script as it is on the clipboard, on the page and in the file."""
    lab.js("navigator.clipboard.writeText('')")
    lab.press("share").press("copy-python")
    lab.part("python-dialog").wait_for()
    assert until(lambda: lab.js(CLIPBOARD))
    code = lab.js(CLIPBOARD)
    assert code == lab.part("python-code").text_content()
    saved, filename = lab.saved("python-save")
    assert saved.decode() == code and filename.endswith(".py")
    lab.js("navigator.clipboard.writeText('')")
    lab.press("python-copy")
    assert until(lambda: lab.js(CLIPBOARD) == code)
    lab.press("python-close")
    return code


def run(codes, folder):
    """What scripts print, by the word before the colon; one process runs them one after another."""
    for name, code in codes.items():
        (folder / f"{name}.py").write_text(code, "utf-8")
    paths = [str(folder / f"{name}.py") for name in codes]
    each = "import runpy, sys\nfor p in sys.argv[1:]: print('§'); runpy.run_path(p, run_name='__main__')"
    done = subprocess.run(
        [sys.executable, "-c", each, *paths],
        capture_output=True,
        timeout=300,
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    parts = done.stdout.decode().split("§\n")[1:]
    lines = [[line.split(": ", 1) for line in part.splitlines() if ": " in line] for part in parts]
    return {name: dict(pairs) for name, pairs in zip(codes, lines, strict=True)}


def compare(name, said, found):
    """What a script says against what the page said."""
    assert said["verdict"] == found["verdict"]["status"]
    assert said["fingerprint"] == found["verdict"]["fingerprint"]
    assert ("refused" in said) == (name == "refused") == ("weights" not in said)
    if name == "refused":
        return
    assert ast.literal_eval(said["weights"]) == [m["weights"] for m in found["machines"]]
    judged = found["judged"]
    assert said["errors"] == f"{judged['errors']} of {judged['n']}"
    if judged["validation_n"]:
        assert said["validation errors"] == f"{judged['validation_errors']} of {judged['validation_n']}"
    if found["run"]:
        assert facts(said["stop"]) == facts(found["run"]["stop"])


def test_without_two_classes_there_is_no_script(lab):
    lab.open(points=[[0, 0, 1, 0]])
    lab.press("share").press("copy-python")
    lab.until("() => document.querySelector('[data-name=toast].mm-bad')")
    assert "two classes" in lab.part("toast").text_content() and lab.part("python-dialog").count() == 0
