rule freeze_config:
    output:
        "results/config.json",
    log:
        "results/logs/freeze_config.log",
    # The first job: `kdrbench status` reads what it writes.
    priority: 100
    conda:
        "../envs/report.yaml"
    threads: 1
    resources:
        runtime=10,
    params:
        config=GRID.to_json(),
    shell:
        "python -m kdrbench freeze-config --config {params.config:q} --out {output:q} > {log:q} 2>&1"


# An experiment's own rows, so that its table waits for no other experiment.
rule merge_experiment:
    input:
        config="results/config.json",
        records=lambda wildcards: records_of(GRID, wildcards.experiment),
    output:
        "results/merged/{experiment}.csv",
    log:
        "results/logs/merged/{experiment}.log",
    conda:
        "../envs/report.yaml"
    threads: 1
    resources:
        runtime=10,
    params:
        sources=REPORT_SOURCES,
    shell:
        "python -m kdrbench merge {input.config:q} results/runs --experiment {wildcards.experiment:q}"
        " --out {output:q} > {log:q} 2>&1"


rule merge_runs:
    input:
        config="results/config.json",
        records=records_of(GRID),
    output:
        "results/runs.csv",
    log:
        "results/logs/merge_runs.log",
    conda:
        "../envs/report.yaml"
    threads: 1
    resources:
        runtime=10,
    params:
        sources=REPORT_SOURCES,
    shell:
        "python -m kdrbench merge {input.config:q} results/runs --out {output:q} > {log:q} 2>&1"


rule table:
    input:
        config="results/config.json",
        runs="results/merged/{experiment}.csv",
        figure="reports/figures/{experiment}_cost_against_time.png",
    output:
        "reports/{experiment}.tex",
        "reports/{experiment}.csv",
        report("reports/{experiment}.html", **shown("table")),
    log:
        "results/logs/reports/{experiment}_table.log",
    conda:
        "../envs/report.yaml"
    threads: 1
    resources:
        runtime=10,
    params:
        sources=REPORT_SOURCES,
    shell:
        "python -m kdrbench table {wildcards.experiment:q} --config {input.config:q} --runs {input.runs:q}"
        " --figure {input.figure:q} --out reports > {log:q} 2>&1"


rule typeset_table:
    input:
        "reports/{experiment}.tex",
    output:
        "reports/{experiment}.pdf",
    log:
        "results/logs/reports/{experiment}_typeset.log",
    conda:
        "../envs/report.yaml"
    threads: 1
    resources:
        runtime=10,
    params:
        sources=REPORT_SOURCES,
    shell:
        "python -m kdrbench typeset {input:q} --out {output:q} > {log:q} 2>&1"


rule published_vs_ours:
    input:
        config="results/config.json",
        runs="results/runs.csv",
        metric=metric_rows_of(METRIC),
        lowrank=LOWRANK.table,
    output:
        "reports/published_vs_ours.csv",
        report("reports/published_vs_ours.html", **shown("published_vs_ours")),
    log:
        "results/logs/reports/published_vs_ours.log",
    conda:
        "../envs/report.yaml"
    threads: 1
    resources:
        runtime=10,
    params:
        sources=REPORT_SOURCES,
        metric=metric_option(METRIC),
        lowrank=lambda wildcards, input: [f"--lowrank={table}" for table in input.lowrank],
    shell:
        "python -m kdrbench published-vs-ours --config {input.config:q} --runs {input.runs:q} {params.metric} {params.lowrank:q}"
        " --out reports/published_vs_ours > {log:q} 2>&1"


rule figure_cost_against_time:
    input:
        config="results/config.json",
        runs="results/merged/{experiment}.csv",
        traces=lambda wildcards: traces_of(GRID, wildcards.experiment),
    output:
        "reports/figures/{experiment}_cost_against_time.pdf",
        "reports/figures/{experiment}_cost_against_time.json",
        report("reports/figures/{experiment}_cost_against_time.png", **shown("cost_against_time")),
    log:
        "results/logs/reports/{experiment}_cost_against_time.log",
    conda:
        "../envs/report.yaml"
    threads: 1
    resources:
        runtime=10,
    params:
        sources=REPORT_SOURCES,
        stem="reports/figures/{experiment}_cost_against_time",
    shell:
        "python -m kdrbench figure {wildcards.experiment:q} --config {input.config:q} --runs {input.runs:q}"
        " --traces results/traces --out {params.stem:q} > {log:q} 2>&1"


rule dashboard:
    input:
        config="results/config.json",
        runs="results/runs.csv",
        traces=traces_of(GRID),
        ledger="reports/published_vs_ours.csv",
        parts=dashboard_parts(REPORTS),
    output:
        report("reports/dashboard.html", **shown("dashboard")),
    log:
        "results/logs/reports/dashboard.log",
    conda:
        "../envs/report.yaml"
    threads: 1
    resources:
        runtime=10,
    params:
        sources=REPORT_SOURCES,
    shell:
        "python -m kdrbench dashboard {input.parts:q} --config {input.config:q} --runs {input.runs:q}"
        " --traces results/traces --ledger {input.ledger:q} --out {output:q} > {log:q} 2>&1"
