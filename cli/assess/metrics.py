"""``hushgate assess metrics``: figures of the policies on real events, also drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Annotated, Any

import typer

from cli.options import note_misspelt, read_lists, time_of
from cli.output import emit, stdout_is_terminal
from db.audit.filters import Filters
from db.audit.policy_metrics import policy_metrics


def metrics(
    account: Annotated[str | None, typer.Option("--account", "-a", help="Of this account (user_id).")] = None,
    since: Annotated[
        str | None,
        typer.Option(help="From this time or age on: 2026-11-21T10:00Z, 24h, 7d; default: everything."),
    ] = None,
    until: Annotated[str | None, typer.Option(help="Before this time or age; default: now.")] = None,
) -> None:
    """Print figures of each policy from the audit: confidence, rechecks, escalations, rejections by reason.

    Seven more for `validators`. A rejection by reason has its count and its share of the rejections.

    For example:

        hushgate assess metrics --account acme --since 7d
    """
    chosen = Filters(user_id=account, since=time_of("--since", since), until=time_of("--until", until))
    rows = read_lists(lambda connection: policy_metrics(connection, chosen))
    note_misspelt(rows, account)
    if not stdout_is_terminal():
        emit(rows, ())
        return
    rows = tuple(map(_with_reason_lines, rows))
    names = dict.fromkeys(name for row in rows for name in row if name != "policy")
    policies = [row["policy"] for row in rows]
    shown = [{"metric": name, **{row["policy"]: row.get(name) for row in rows}} for name in names]
    emit(shown, ["metric", *policies])


def _with_reason_lines(row: Mapping[str, Any]) -> dict[str, Any]:
    """The figures with a line for each reason of rejections."""
    figures = {name: value for name, value in row.items() if name != "rejections_by_reason"}
    reasons = row["rejections_by_reason"].items()
    return figures | {f"rejected: {name}": f"{each['count']} ({each['share']:.0%})" for name, each in reasons}


_WIDTH, _HEIGHT, _LEFT, _TOP = 720, 420, 60, 30
_PLOT_WIDTH, _PLOT_HEIGHT = 460, 330
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
_DASHES = ("", "6 3", "2 3", "8 3 2 3", "1 2", "10 4", "4 4")


def risk_coverage_svg(curves: Mapping[str, Sequence[tuple[float, float]]], title: str) -> str:
    """An SVG document with one line per policy; lines differ in colour and dash."""
    highest = max((risk for curve in curves.values() for _, risk in curve), default=0.0) or 1.0
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
        f'font-family="sans-serif" font-size="12" role="img">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="white"/>',
        f'<text x="{_LEFT}" y="18" font-size="14">{escape(title)}</text>',
        *_axes(highest),
    ]
    for index, (name, curve) in enumerate(curves.items()):
        lines += _line(index, name, curve, highest)
    return "\n".join([*lines, "</svg>", ""])


def _axes(highest: float) -> list[str]:
    bottom, right = _TOP + _PLOT_HEIGHT, _LEFT + _PLOT_WIDTH
    drawn = [f'<path d="M{_LEFT} {_TOP}V{bottom}H{right}" fill="none" stroke="#444"/>']
    for step in range(6):
        share = step / 5
        x, y = _LEFT + share * _PLOT_WIDTH, bottom - share * _PLOT_HEIGHT
        drawn += [
            f'<text x="{x:.0f}" y="{bottom + 18}" text-anchor="middle">{share:.0%}</text>',
            f'<text x="{_LEFT - 6}" y="{y + 4:.0f}" text-anchor="end">{share * highest:.0%}</text>',
            f'<path d="M{_LEFT} {y:.0f}H{right}" stroke="#ddd"/>',
        ]
    middle = _LEFT + _PLOT_WIDTH / 2
    drawn.append(f'<text x="{middle:.0f}" y="{bottom + 38}" text-anchor="middle">replies sent</text>')
    drawn.append(f'<text x="14" y="{_TOP - 8}">ungrounded among them</text>')
    return drawn


def _line(index: int, name: str, curve: Sequence[tuple[float, float]], highest: float) -> list[str]:
    colour, dash = _COLOURS[index % len(_COLOURS)], _DASHES[index % len(_DASHES)]
    step = max(1, len(curve) // 300)
    points = " ".join(
        f"{_LEFT + coverage * _PLOT_WIDTH:.1f},{_TOP + _PLOT_HEIGHT * (1 - risk / highest):.1f}"
        for coverage, risk in curve[::step]
    )
    stroke = f'fill="none" stroke="{colour}" stroke-width="2" stroke-dasharray="{dash}"'
    y = _TOP + 14 + 20 * index
    x = _LEFT + _PLOT_WIDTH + 20
    return [
        f'<polyline points="{points}" {stroke}/>',
        f'<path d="M{x} {y - 4}h30" {stroke}/>',
        f'<text x="{x + 38}" y="{y}">{escape(name)}</text>',
    ]
