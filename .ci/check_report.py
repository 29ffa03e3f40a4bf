"""Check that Snakemake's report holds each table and figure of the demo and the dashboard, with captions."""

import sys
from pathlib import Path

report = Path(sys.argv[1]).read_text(encoding="utf-8")
config = ["demo_supervised", "demo_unsupervised"]
names = [f"{name}.html" for name in config] + [f"{name}_cost_against_time.png" for name in config]
names.append("dashboard.html")
# The first words of each caption.
captions = [
    "Time, cost and quality of each method",
    "How far each solver is",
    "All tables, figures",
]
faults = [f"not in the report: {words}" for words in [*names, *captions] if words not in report]
print(f"report: {len(report) / 1e6:.1f} MB, {len(faults)} faults")
sys.exit("\n".join(faults) or 0)
