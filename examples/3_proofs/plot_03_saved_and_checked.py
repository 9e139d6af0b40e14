"""
A proof in a file, checked by somebody else
===========================================

A verdict can be saved as a small JSON file and sent along with the data. Whoever
receives both can check the proof with nothing but Python's standard library: the
checker shares no code with the solver, and all its sums are in integers. A proof of
other data, or a proof that was changed, is rejected.
"""

import json
import subprocess
import sys
import tempfile
from hashlib import sha256
from pathlib import Path

import matplotlib.pyplot as plt
from sklearn.datasets import load_iris

import maxmargin as mm

iris = load_iris(as_frame=True)
table = iris.frame.loc[50:, ["petal length (cm)", "petal width (cm)"]]
table["kind"] = iris.target_names[iris.target[50:]]
X, y = table.iloc[:, :2], table["kind"]

# %%
# Do versicolor and virginica overlap in their petals? The verdict comes with a
# witness: rows of both classes with the same weighted mean.

verdict = mm.separability(X, y)
print(verdict)
picture = mm.plots.SeparabilityDisplay.from_verdict(verdict, X, y)
picture.ax_.set_title("Two hulls with a common point: no line separates them")
plt.show()

# %%
# Data and proof as files. The proof holds the rows of the witness with whole numbers
# as weights, and a fingerprint of the data.

holder = tempfile.TemporaryDirectory()
folder = Path(holder.name)
table.to_csv(folder / "iris.csv", index=False)
verdict.proof.save(folder / "proof.json")
proof = json.loads((folder / "proof.json").read_text())
for key in ("kind", "rows", "features", "witness", "data", "seal"):
    print(f"{key:>8}: {proof[key]}")

# %%
# The checker is a program of its own. It answers in one sentence, and with an exit
# code: 0 if the proof holds.


def check(proof_name, data_name):
    """Run the checker on two files, and return its exit code and its sentence."""
    files = [folder / proof_name, folder / data_name]
    command = [sys.executable, "-m", "maxmargin.checker", *files, "--label", "kind"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return f"{done.returncode}  {(done.stdout + done.stderr).strip()}"


print(check("proof.json", "iris.csv"))

# %%
# Three ways to cheat: change one number of the data, change one weight of the
# witness, and change it and compute a new seal as well.

table.iloc[0, 0] += 0.1
table.to_csv(folder / "other.csv", index=False)
print(check("proof.json", "other.csv"))

proof["witness"]["weights"][0] = str(int(proof["witness"]["weights"][0]) + 1)
(folder / "changed.json").write_text(json.dumps(proof))
print(check("changed.json", "iris.csv"))

del proof["seal"]
plain = json.dumps(proof, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
proof["seal"] = sha256(plain.encode()).hexdigest()
(folder / "sealed.json").write_text(json.dumps(proof))
print(check("sealed.json", "iris.csv"))
holder.cleanup()

# %%
# The seal only guards against accidents. What counts is the arithmetic: the last
# attempt fails because the two weighted means are no longer the same point.
