"""What an experiment of this system holds beside what all experiments do."""

SCHEMA = {
    "required": ["shrinkages", "draws"],
    "properties": {
        "shrinkages": {
            "type": "array",
            "items": {"type": "number", "minimum": 0, "maximum": 1},
            "minItems": 1,
            "description": "how far class means are drawn to the overall mean; each leaves a row",
        },
        "draws": {"type": "integer", "minimum": 1, "description": "random halves of each data set"},
    },
}
