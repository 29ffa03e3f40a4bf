# Low-rank kernel learning: kernels learned, and the table and figures made of them.
rule run_lowrank_batch:
    input:
        data=lambda wildcards: data_to_await(LOWRANK.batch(**wildcards), "results/lowrank"),
    output:
        "results/lowrank/{task}/{method}/{runs}.jsonl",
    log:
        "results/logs/lowrank/{task}/{method}/{runs}.log",
    conda:
        "../envs/lowrank.yaml"
    threads: 1
    resources:
        time_limit_s=LOWRANK.time_limit_s,
        memory_limit_mib=LOWRANK.memory_limit_mib,
        runtime=lambda wildcards: LOWRANK.runtime_min(LOWRANK.batch(**wildcards)),
        mem_mb=LOWRANK.memory_limit_mib + 1024,
    params:
        data=lambda wildcards: f"results/data/{LOWRANK.batch(**wildcards).dataset}.npz",
        spec=lambda wildcards: LOWRANK.batch(**wildcards).to_json(),
        state="results/.state/lowrank/{task}/{method}/{runs}",
    shell:
        "python -m kdrbench lowrank-batch --spec {params.spec:q} --data {params.data:q} --out {output:q}"
        " --state {params.state:q} --time-limit-s {resources.time_limit_s}"
        " --memory-limit-mib {resources.memory_limit_mib} > {log:q} 2>&1"


rule merge_lowrank:
    input:
        config="results/config.json",
        records=LOWRANK.records(),
    output:
        "results/lowrank.csv",
    log:
        "results/logs/lowrank/merge.log",
    conda:
        "../envs/report.yaml"
    threads: 1
    resources:
        runtime=10,
    params:
        sources=REPORT_SOURCES,
    shell:
        "python -m kdrbench lowrank-merge {input.config:q} results/lowrank --out {output:q} > {log:q} 2>&1"


rule report_lowrank:
    input:
        config="results/config.json",
        rows="results/lowrank.csv",
    output:
        multiext("reports/lowrank", ".tex", ".csv", ".json"),
        multiext("reports/lowrank_measured", ".tex", ".csv", ".json"),
        report("reports/lowrank.html", **shown("lowrank")),
        report("reports/lowrank_measured.html", **shown("lowrank")),
    log:
        "results/logs/reports/lowrank.log",
    conda:
        "../envs/report.yaml"
    threads: 1
    resources:
        runtime=10,
    params:
        sources=REPORT_SOURCES,
    shell:
        "python -m kdrbench lowrank-report --config {input.config:q} --rows {input.rows:q}"
        " --out reports/lowrank > {log:q} 2>&1"


rule figure_lowrank:
    input:
        config="results/config.json",
        rows="results/lowrank.csv",
    output:
        "reports/figures/lowrank_{task}.pdf",
        "reports/figures/lowrank_{task}.json",
        report("reports/figures/lowrank_{task}.png", **shown("lowrank_figure")),
    log:
        "results/logs/reports/lowrank_{task}_figure.log",
    conda:
        "../envs/report.yaml"
    threads: 1
    resources:
        runtime=10,
    params:
        sources=REPORT_SOURCES,
        stem="reports/figures/lowrank_{task}",
    shell:
        "python -m kdrbench lowrank-figure {wildcards.task:q} --config {input.config:q} --rows {input.rows:q}"
        " --out {params.stem:q} > {log:q} 2>&1"
