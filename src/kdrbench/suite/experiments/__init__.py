"""What is asked for and what there is: configurations, merged tables, and the targets of the workflow."""
