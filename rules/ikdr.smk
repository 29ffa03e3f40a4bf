# A batch of runs, or all cheap ones of a data set. What stands of the files and is asked for as it is, is kept.
rule run_batch:
    input:
        data=lambda wildcards: data_to_await(GRID.bundle(**wildcards)),
    output:
        records=update("results/runs/{experiment}/{dataset}/{cells}.jsonl"),
        traces=update("results/traces/{experiment}/{dataset}/{cells}.jsonl"),
        findings=update("results/findings/{experiment}/{dataset}/{cells}.npz"),
        summary="results/runs/{experiment}/{dataset}/{cells}.json",
    log:
        "results/logs/runs/{experiment}/{dataset}/{cells}.log",
    conda:
        "../envs/ikdr.yaml"
    threads: GRID.threads
    resources:
        time_limit_s=lambda wildcards: GRID.time_limit_s(wildcards.experiment),
        memory_limit_mib=GRID.memory_limit_mib,
        repeat_for_s=GRID.repeat_for_s,
        runtime=lambda wildcards: GRID.runtime_min(GRID.bundle(**wildcards)),
        mem_mb=GRID.memory_limit_mib + 1024,
    params:
        job=lambda wildcards: job_options(GRID, GRID.bundle(**wildcards)),
    shell:
        "python -m kdrbench batch {params.job} --data results/data/{wildcards.dataset}.npz --out {output.records:q} --trace {output.traces:q}"
        " --findings {output.findings:q} --summary {output.summary:q} --ledger results/.state/spent.txt --time-limit-s {resources.time_limit_s}"
        " --memory-limit-mib {resources.memory_limit_mib} --repeat-for-s {resources.repeat_for_s} --threads {threads} > {log:q} 2>&1"
