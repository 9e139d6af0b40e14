"""Why a peer is quicker, where it is: one text for each kind of loss, shown only if it happened.

A key is (kind of problem, contestant). A loss without a text is shown all the same, and said to be
unexplained.
"""

from __future__ import annotations

SMALL = 50_000  # numbers in X: below, the arithmetic takes less time than the calls around it

CALLS = (
    "The data is small: ours takes dozens of steps, and their calls of NumPy cost as much for few rows."
)
KERNEL = "With so few rows its kernel cache holds all products that it needs."
DESCENT = "Coordinate descent needs few epochs for few digits, and certifies nothing; b is penalised."
STOPS = "It ends by its own rule or its limit of iterations, with a smaller margin; b is penalised."
PROGRAM = "The whole program is small enough to be solved at once; ours also measures its certificate."
UNPROVEN = "Its answer is floating point and unproven; ours includes a proof in exact arithmetic."

REASONS = {
    ("perceptron", "Perceptron"): (
        "As many epochs. On sparse and on few rows our loop is no faster, and it also decides each sign "
        "as the sum from left to right does, and keeps a history."
    ),
    ("perceptron", "SGDClassifier"): (
        "As many epochs. Ours also decides each sign as the sum from left to right does."
    ),
    ("perceptron", "Vowpal Wabbit"): (
        "Its cache holds rows in single precision, and parsing runs in a thread of its own."
    ),
    ("perceptron", "River"): "One pass against ten.",
    ("soft", "SGDClassifier"): (
        "Stochastic steps that end by a rule on the training loss; nothing bounds the error left."
    ),
    ("soft", "Snap ML"): (
        "Coordinate descent on all cores that ends when the weights move little; b is penalised, so it "
        "cannot come closer than the difference of the two problems."
    ),
    ("soft", "LIBLINEAR"): DESCENT,
    ("soft", "LinearSVC"): DESCENT,
    ("soft", "skglm"): "Working sets of the dual in few columns; b is penalised.",
    ("soft", "SVC"): KERNEL,
    ("soft", "LIBSVM"): KERNEL,
    ("hard", "LIBLINEAR"): STOPS,
    ("hard", "LinearSVC"): STOPS,
    ("hard", "SVC"): f"{KERNEL} Its margin is smaller.",
    ("hard", "LIBSVM"): f"{KERNEL} Its margin is smaller.",
    ("hard", "PIQP"): PROGRAM,
    ("hard", "Clarabel"): PROGRAM,
    ("soft", "PIQP"): PROGRAM,
    ("soft", "Clarabel"): PROGRAM,
    ("hard", "Snap ML"): "It ends when the weights move little, with a smaller margin.",
    ("separability", "HiGHS"): UNPROVEN,
    ("separability", "Clarabel"): UNPROVEN,
}


def reasons_for(kind: str, who: str, size: int) -> list[str]:
    """Why ours is slower here than ``who``; ``size`` is the count of numbers in X."""
    known = REASONS.get((kind, who))
    found = [known] if known else []
    if size < SMALL:
        found.append(CALLS)
    return found or ["Not explained yet."]
