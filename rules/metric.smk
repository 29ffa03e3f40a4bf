# The KPCA trick: splits of Tables 1 to 3, and the tables and figures made of them.
rule run_metric_batch:
    input:
        data=lambda wildcards: metric_data_of(METRIC, **wildcards),
    output:
        "results/kpca/{dataset}/{splits}.jsonl",
    log:
        "results/logs/kpca/{dataset}/{splits}.log",
    conda:
        "../envs/ikdr.yaml"
    threads: 1
    resources:
        time_limit_s=METRIC.time_limit_s,
        memory_limit_mib=METRIC.memory_limit_mib,
        runtime=lambda wildcards: METRIC.runtime_min(METRIC.batch(**wildcards)),
        mem_mb=METRIC.memory_limit_mib + 1024,
    params:
        data="results/data/{dataset}.npz",
        spec=lambda wildcards: METRIC.batch(**wildcards).to_json(),
        state="results/.state/kpca/{dataset}/{splits}",
    shell:
        "python -m kdrbench kpca-batch --spec {params.spec:q} --data {params.data:q} --out {output:q}"
        " --state {params.state:q} --time-limit-s {resources.time_limit_s}"
        " --memory-limit-mib {resources.memory_limit_mib} > {log:q} 2>&1"


rule merge_metric:
    input:
        config="results/config.json",
        records=metric_records_of(METRIC),
    output:
        "results/kpca.csv",
    log:
        "results/logs/kpca/merge.log",
    conda:
        "../envs/report.yaml"
    threads: 1
    resources:
        runtime=10,
    params:
        sources=REPORT_SOURCES,
    shell:
        "python -m kdrbench kpca-merge {input.config:q} results/kpca --out {output:q} > {log:q} 2>&1"


rule metric_tables:
    input:
        "results/kpca.csv",
    output:
        report(metric_tables_of(METRIC, ["html"]), **shown("kpca_tables")),
        metric_tables_of(METRIC, ["tex", "csv", "json"]),
    log:
        "results/logs/reports/kpca_tables.log",
    conda:
        "../envs/report.yaml"
    threads: 1
    resources:
        runtime=10,
    params:
        sources=REPORT_SOURCES,
    shell:
        "python -m kdrbench kpca-tables {input:q} --out reports > {log:q} 2>&1"


rule metric_figure:
    input:
        config="results/config.json",
        data=lambda wildcards: metric_figure_data(METRIC, wildcards.number),
    output:
        "reports/figures/kpca_figure{number}.pdf",
        "reports/figures/kpca_figure{number}.json",
        report("reports/figures/kpca_figure{number}.png", **shown("kpca_figure")),
    log:
        "results/logs/reports/kpca_figure{number}.log",
    conda:
        "../envs/report.yaml"
    threads: 1
    resources:
        runtime=10,
    params:
        sources=REPORT_SOURCES,
        stem="reports/figures/kpca_figure{number}",
    shell:
        "python -m kdrbench kpca-figure {wildcards.number} {input.data:q} --config {input.config:q}"
        " --out {params.stem:q} > {log:q} 2>&1"
