"""Full-text search: queries, ranking, stems."""
