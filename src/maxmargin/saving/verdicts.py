"""Why a run ended, as JSON; with the verdict and its proof where these were the reason."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from maxmargin import checker
from maxmargin.certificates.proof import Proof
from maxmargin.certificates.verdict import Verdict, Work
from maxmargin.core.errors import InputError
from maxmargin.core.stopping_rules import StopReason
from maxmargin.core.witness import Witness
from maxmargin.saving.codec import (
    Reader,
    bad,
    decode,
    encode,
    from_extended,
    from_fraction,
    to_extended,
    to_fraction,
)


def encode_reason(reason: StopReason) -> dict[str, Any]:
    """Return a reason as plain values."""
    written = {"rule": reason.rule, "sentence": reason.sentence, "solved": bool(reason.solved)}
    if isinstance(reason.verdict, Verdict):
        written["verdict"] = _encode_verdict(reason.verdict)
    return written


def decode_reason(reader: Reader) -> StopReason:
    """Return the reason that was written."""
    rule, sentence, solved = reader.text("rule"), reader.text("sentence"), reader.flag("solved")
    verdict = _decode_verdict(reader.reader("verdict")) if "verdict" in reader else None
    reader.done()
    return StopReason(rule, sentence, solved, verdict)


def _encode_verdict(verdict: Verdict) -> dict[str, Any]:
    witness, w = verdict.witness, verdict.w
    return {
        "kind": verdict.kind,
        "w": None if w is None else [to_extended(v) for v in w.tolist()],
        "b": None if verdict.b is None else to_extended(verdict.b),
        "plane_is_exact": bool(verdict.plane_is_exact),
        "margin": None if verdict.margin is None else [to_extended(v) for v in verdict.margin],
        "witness": None if witness is None else _encode_witness(witness),
        "on_plane": np.asarray(verdict.on_plane, dtype=np.int64),
        "negative": encode(verdict.negative),
        "positive": encode(verdict.positive),
        "rank": None if verdict.rank is None else int(verdict.rank),
        "proof": verdict.proof.to_dict(),
        "work": [int(v) for v in verdict.work],
        "features": [str(v) for v in verdict.features],
    }


def _decode_verdict(reader: Reader) -> Verdict:
    kind = reader.text("kind")
    if kind not in ("separable", "touching", "overlapping"):
        raise bad(reader.called("kind"), "'separable', 'touching' or 'overlapping'", kind)
    margin = _numbers(reader, "margin")
    if margin is not None and len(margin) != 2:
        raise bad(reader.called("margin"), "two numbers", margin)
    w, b = _numbers(reader, "w"), reader.take("b")
    rank = reader.take("rank")
    if rank is not None and type(rank) is not int:
        raise bad(reader.called("rank"), "an integer or null", rank)
    witness = reader.take("witness")
    verdict = Verdict(
        kind=kind,
        w=None if w is None else np.array(w),
        b=None if b is None else from_extended(b, reader.called("b")),
        plane_is_exact=reader.flag("plane_is_exact"),
        margin=None if margin is None else (margin[0], margin[1]),
        witness=None if witness is None else _decode_witness(Reader(witness, "witness", reader.parts)),
        on_plane=reader.array("on_plane", int, (None,)),
        negative=_label(reader, "negative"),
        positive=_label(reader, "positive"),
        rank=rank,
        proof=_decode_proof(reader.take("proof")),
        work=Work(*reader.array("work", int, (4,)).tolist()),
        features=tuple(reader.texts("features")),
    )
    reader.done()
    if verdict.w is not None and len(verdict.w) != len(verdict.features):
        raise bad(reader.called("w"), f"a list of {len(verdict.features)} numbers", w)
    return verdict


def _label(reader: Reader, key: str) -> Any:
    label = decode(reader.take(key), reader.called(key))
    try:
        hash(label)
    except TypeError:
        raise bad(reader.called(key), "a label", label) from None
    return label


def _numbers(reader: Reader, key: str) -> list[float] | None:
    if (values := reader.take(key)) is None:
        return None
    if type(values) is not list:
        raise bad(reader.called(key), "a list of numbers or null", values)
    return [from_extended(v, reader.called(key)) for v in values]


def _encode_witness(witness: Witness) -> dict[str, Any]:
    return {
        "positive": np.asarray(witness.positive, dtype=np.int64),
        "positive_weights": [to_fraction(v) for v in witness.positive_weights],
        "negative": np.asarray(witness.negative, dtype=np.int64),
        "negative_weights": [to_fraction(v) for v in witness.negative_weights],
        "point": [to_extended(v) for v in witness.point.tolist()],
        "means": bool(witness.means),
    }


def _decode_witness(reader: Reader) -> Witness:
    positive = reader.array("positive", int, (None,))
    negative = reader.array("negative", int, (None,))
    witness = Witness(
        positive=positive,
        positive_weights=_fractions(reader, "positive_weights", len(positive)),
        negative=negative,
        negative_weights=_fractions(reader, "negative_weights", len(negative)),
        point=np.array(reader.extended_list("point"), dtype=np.float64),
        means=reader.flag("means"),
    )
    reader.done()
    return witness


def _fractions(reader: Reader, key: str, length: int) -> np.ndarray:
    values = np.empty(length, dtype=object)
    for k, text in enumerate(reader.items(key, length)):
        values[k] = from_fraction(text)
    return values


def _decode_proof(value: Any) -> Proof:
    try:
        return Proof(checker.parse(json.dumps(value)))
    except checker.Rejected as error:
        raise InputError(f"the proof of the verdict must be unchanged, but {error}.") from error
