"""Who takes part: every contestant, its package, and what it is told to do."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata

from benchmarks.peers import margin as peers_margin
from benchmarks.peers import online as peers_online
from benchmarks.peers import programs as peers_programs
from benchmarks.peers.measure import Problem
from benchmarks.peers.online import Contest

Make = Callable[[Problem], Contest]
OURS = "maxmargin"


@dataclass
class Peer:
    """A contestant; ``makes`` has an entry for every kind of problem that it solves."""

    name: str
    package: str  # as it is installed
    module: str  # as it is imported
    how: str
    makes: dict[str, Make]
    efforts: tuple[float, ...] = ()  # for the curve of the error against the time
    compiles: float = 0.0  # seconds, about, in a process that begins


def margins(make: Make) -> dict[str, Make]:
    """Both machines."""
    return {"soft": make, "hard": make}


TOLERANCES = (1e-1, 1e-2, 1e-3, 1e-4, 1e-6, 1e-8)

PEERS = (
    Peer(
        OURS,
        "maxmargin",
        "maxmargin",
        "defaults: relative gap 1e-6 for `SoftMarginSVC`, 1e-9 for `HardMarginSVC`; "
        "`Perceptron(max_iter=10)`; `separability` with its proof",
        {
            "perceptron": peers_online.ours,
            "separability": peers_programs.ours,
            **margins(peers_margin.ours),
        },
        (1e-1, 1e-2, 1e-3, 1e-4, 1e-6, 1e-9),
        compiles=1.0,
    ),
    Peer(
        "Perceptron",
        "scikit-learn",
        "sklearn",
        "`Perceptron(max_iter=10, tol=None, shuffle=False)`: the same epochs; "
        "on sparse rows its b moves a hundredth as fast",
        {"perceptron": peers_online.sklearn_perceptron},
    ),
    Peer(
        "SGDClassifier",
        "scikit-learn",
        "sklearn",
        "hinge loss; ten epochs, or, for the soft margin, its own rule with alpha = 1/(nC)",
        {"perceptron": peers_online.sklearn_sgd, "soft": peers_margin.sgd},
        (1, 3, 10, 30, 100, 300),
    ),
    Peer(
        "LinearSVC",
        "scikit-learn",
        "sklearn",
        '`LinearSVC(loss="hinge")`; it penalises b',
        margins(peers_margin.linear_svc),
        TOLERANCES,
    ),
    Peer(
        "SVC",
        "scikit-learn",
        "sklearn",
        '`SVC(kernel="linear")`',
        margins(peers_margin.svc),
        (1.0, *TOLERANCES[:5]),
    ),
    Peer(
        "LIBLINEAR",
        "liblinear-official",
        "liblinear",
        "`-s 3 -B 1`; it penalises b",
        margins(peers_margin.liblinear),
        (10.0, 1.0, *TOLERANCES[:4]),
    ),
    Peer(
        "LIBSVM",
        "libsvm-official",
        "libsvm",
        "`-t 0`",
        margins(peers_margin.libsvm),
        (1.0, *TOLERANCES[:5]),
    ),
    Peer(
        "intelex SVC",
        "scikit-learn-intelex",
        "sklearnex",
        '`sklearnex.svm.SVC(kernel="linear")`',
        margins(peers_margin.intelex),
    ),
    Peer(
        "Snap ML",
        "snapml",
        "snapml",
        "`SupportVectorMachine(fit_intercept=True)` on all cores; it penalises b",
        margins(peers_margin.snap),
        (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6),
    ),
    Peer(
        "skglm",
        "skglm",
        "skglm",
        "`LinearSVC(max_iter=1000)` with a column of ones, which is penalised",
        {"soft": peers_margin.skglm},
        compiles=8.0,
    ),
    Peer(
        "PIQP",
        "piqp",
        "piqp",
        "the whole quadratic program",
        margins(peers_programs.piqp),
        (1e-1, 1e-2, 1e-3, 1e-4, 1e-6, 1e-8),
    ),
    Peer(
        "Clarabel",
        "clarabel",
        "clarabel",
        "the whole quadratic or linear program",
        {**margins(peers_programs.clarabel), "separability": peers_programs.clarabel},
        (1e-1, 1e-2, 1e-3, 1e-4, 1e-6, 1e-8),
    ),
    Peer(
        "HiGHS",
        "scipy",
        "scipy",
        '`scipy.optimize.linprog(method="highs")`: any plane, or none; nothing is proven',
        {"separability": peers_programs.highs},
    ),
    Peer(
        "River",
        "river",
        "river",
        "`linear_model.Perceptron`, one pass over dicts",
        {"perceptron": peers_online.river},
    ),
    Peer(
        "Vowpal Wabbit",
        "vowpalwabbit",
        "vowpalwabbit",
        "hinge loss, ten passes over a file in its own format, with a cache",
        {"perceptron": peers_online.vowpal},
    ),
)


def attendance(peer: Peer) -> tuple[str | None, str]:
    """The version that is installed, and "" or why it cannot take part: found by trying."""
    try:
        version = metadata.version(peer.package)
    except metadata.PackageNotFoundError:
        return None, "did not install"
    if importlib.util.find_spec(peer.module) is None:
        return version, "is installed, and cannot be imported"
    return version, ""
