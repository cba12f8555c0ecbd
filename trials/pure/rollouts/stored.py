"""Figures of a rollout as they are stored with a step, and read again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from trials.pure.rollouts.bounds import NO_SUMS, ArmFigures, Measure, RolloutFigures
from trials.pure.statistics.sequential import ClusterSums


def figures_json(figures: RolloutFigures) -> dict[str, Any]:
    """Both arms, by measure."""
    return {"live": _arm_json(figures.live), "candidate": _arm_json(figures.candidate)}


def parse_figures(stored: Mapping[str, Any]) -> RolloutFigures:
    """The figures that :func:`figures_json` wrote; measures of another release are left out."""
    return RolloutFigures(live=_arm(stored.get("live", {})), candidate=_arm(stored.get("candidate", {})))


def _arm_json(arm: ArmFigures) -> dict[str, Any]:
    return {
        "p95_ms": arm.p95_ms,
        "left_out": arm.left_out,
        "measures": {
            measure.value: {**asdict(sums), "counted": arm.counted(measure)}
            for measure, sums in arm.sums.items()
        },
    }


def _arm(stored: Mapping[str, Any]) -> ArmFigures:
    found = {Measure(name): each for name, each in stored.get("measures", {}).items() if name in set(Measure)}
    return ArmFigures(
        sums={measure: _sums(each) for measure, each in found.items()},
        p95_ms=float(stored.get("p95_ms", 0.0)),
        effective={measure: float(each.get("counted", 0.0)) for measure, each in found.items()},
        left_out=int(stored.get("left_out", 0)),
    )


def _sums(stored: Mapping[str, Any]) -> ClusterSums:
    return ClusterSums(**{name: stored.get(name, zero) for name, zero in asdict(NO_SUMS).items()})
