"""Check that Snakemake's report holds each table and figure of the demo and the dashboard, with labels."""

import sys
from pathlib import Path

report = Path(sys.argv[1]).read_text(encoding="utf-8")
config = ["demo_supervised", "demo_unsupervised"]
names = [f"{name}.html" for name in config] + [f"{name}_cost_against_time.png" for name in config]
names.append("dashboard.html")
# The labels by which its pages are found.
labels = ["demo_supervised", "time, cost and quality", "cost against time"]
faults = [f"not in the report: {words}" for words in [*names, *labels] if words not in report]
print(f"report: {len(report) / 1e6:.1f} MB, {len(faults)} faults")
sys.exit("\n".join(faults) or 0)
