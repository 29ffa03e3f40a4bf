"""From records to tables and figures beside the published numbers."""
