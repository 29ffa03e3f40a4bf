"""What may be said of merged rows: how runs ended, which times count, claims, printed numbers, answers, summaries."""
