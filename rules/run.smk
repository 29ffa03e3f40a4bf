# Jobs of runs, whatever their system, and the tables that hold all rows.


# A batch of runs, or all cheap ones of an experiment. The workspace keeps finished runs when the job fails or is made again.
BATCH = command(
    "batch results/.workspace/orders/{wildcards.job}.json --data results/data"
    " --time-limit-s {resources.time_limit_s} --memory-limit-mib {resources.memory_limit_mib}"
    " --repeat-for-s {resources.repeat_for_s} --threads {threads} --mirror={resources.mirror:q} > {log:q} 2>&1",
    timed=True,
)


rule run_batch:
    input:
        data=lambda wildcards: data_to_await(workflow, GRID.bundle(wildcards.job), STALE),
    output:
        records="results/runs/{job}.jsonl",
        traces="results/traces/{job}.jsonl",
        findings="results/findings/{job}.npz",
    log:
        "results/logs/runs/{job}.log",
    conda:
        "../envs/run.yaml"
    threads: GRID.threads
    resources:
        time_limit_s=lambda wildcards: f"{GRID.limits(GRID.bundle(wildcards.job).experiment).time_s:g}",
        memory_limit_mib=lambda wildcards: int(GRID.limits(GRID.bundle(wildcards.job).experiment).memory_mib),
        repeat_for_s=f"{GRID.repeat_for_s:g}",
        runtime=lambda wildcards: GRID.runtime_min(GRID.bundle(wildcards.job)),
        mem_mb=lambda wildcards: int(GRID.limits(GRID.bundle(wildcards.job).experiment).memory_mib) + 1024,
        mirror=GRID.config["data"]["mirror"],
    shell:
        BATCH


# The rows of each system. Those of an experiment are merged by the job that makes its reports.
rule merge:
    input:
        [path for name in GRID.experiments for path in GRID.experiment_paths(name, "records")],
    output:
        outputs.system_tables(GRID.config),
    log:
        f"results/logs/{R}/merge.log",
    localrule: True
    conda:
        "../envs/report.yaml"
    threads: 1
    resources:
        runtime=10,
    params:
        sources=lambda wildcards: REPORT_SOURCES(),
        experiments=GRID.experiments,
    shell:
        command(f"merge {R}/config.json --out {R} > {{log:q}} 2>&1")
