"""Routes of the dashboard and the agreement page."""

from __future__ import annotations

from typing import Final

from review.access import Right
from review.agreement import page as agreement_page
from review.dashboard import dashboard_page, figure_files, goals_page
from review.http.page_routes import get, post

FIGURES: Final = (
    get("/dashboard", "dashboard", dashboard_page.show_dashboard, Right.VIEW),
    get("/dashboard/figures/{figure}.csv", "figure_csv", figure_files.download_csv, Right.VIEW),
    get("/dashboard/figures/{figure}.svg", "figure_svg", figure_files.download_svg, Right.VIEW),
    post("/dashboard/goals", "goals_post", goals_page.save_goal, Right.LEAD),
    post("/dashboard/notes", "notes_post", goals_page.add_note, Right.LEAD),
    post("/dashboard/notes/{note:int}/remove", "note_remove", goals_page.remove_note, Right.LEAD),
    get("/agreement", "agreement", agreement_page.show_agreement, Right.LEAD),
)
