"""Statistics of decisions: hourly figures, dashboard, agreement, rejections."""
