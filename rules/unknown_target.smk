# Reached only by a name that is neither a rule nor a file below a folder: it ends with the near names.
rule unknown_target:
    input:
        lambda wildcards: refuse_target(wildcards.unknown, TARGETS, GRID.config["experiments"]),
    output:
        "{unknown}",
    log:
        "results/logs/{unknown}.log",
    wildcard_constraints:
        unknown="[A-Za-z0-9_-]+",
    conda:
        "../envs/report.yaml"
    threads: 1
    resources:
        runtime=1,
    shell:
        "false > {log:q} 2>&1"
