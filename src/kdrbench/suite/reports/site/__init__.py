"""A static site of several records: machines, versions, users' submissions side by side."""
