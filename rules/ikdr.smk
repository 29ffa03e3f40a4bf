rule run_batch:
    input:
        data=lambda wildcards: data_to_await(GRID.batch(**wildcards)),
    output:
        records="results/runs/{experiment}/{dataset}/{kernel}/{solver}/{folds}.jsonl",
        traces="results/traces/{experiment}/{dataset}/{kernel}/{solver}/{folds}.jsonl",
        findings="results/findings/{experiment}/{dataset}/{kernel}/{solver}/{folds}.npz",
    log:
        "results/logs/runs/{experiment}/{dataset}/{kernel}/{solver}/{folds}.log",
    conda:
        "../envs/ikdr.yaml"
    threads: GRID.threads
    resources:
        time_limit_s=lambda wildcards: GRID.time_limit_s(wildcards.experiment),
        memory_limit_mib=GRID.memory_limit_mib,
        repeat_for_s=GRID.repeat_for_s,
        runtime=lambda wildcards: GRID.runtime_min(GRID.batch(**wildcards)),
        mem_mb=GRID.memory_limit_mib + 1024,
    params:
        spec=lambda wildcards: GRID.batch(**wildcards).to_json(),
        state="results/.state/{experiment}/{dataset}/{kernel}/{solver}/{folds}",
        terms=lambda wildcards: terms_of(GRID, GRID.batch(**wildcards)),
    shell:
        "python -m kdrbench batch --spec {params.spec:q} --data results/data/{wildcards.dataset}.npz --out {output.records:q}"
        " --trace {output.traces:q} --findings {output.findings:q} --state {params.state:q} --time-limit-s {resources.time_limit_s}"
        " --memory-limit-mib {resources.memory_limit_mib} --repeat-for-s {resources.repeat_for_s} --threads {threads}"
        " --terms {params.terms:q} --ledger results/.state/spent.txt > {log:q} 2>&1"
