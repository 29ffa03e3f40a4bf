"""Every published number beside ours: two verdicts, reasons, and what the published protocol gives."""
