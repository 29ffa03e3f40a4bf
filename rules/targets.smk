# What can be asked for by name: `snakemake --cores 20 neurips2019_table4`. Every experiment that is run is a target, and
# so are the papers' tables and figures.
for target_name, target_files in TARGETS.items():

    rule:
        name:
            target_name
        input:
            target_files,
        localrule: True


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
