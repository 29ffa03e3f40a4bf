rule scaling_reports:
    input:
        config="results/config.json",
        runs=scaling_runs_of(GRID),
    output:
        multiext("reports/complexity", ".tex", ".csv", ".json"),
        multiext("reports/figures/scaling", ".pdf", ".json"),
        report("reports/complexity.html", **shown("complexity")),
        report("reports/figures/scaling.png", **shown("scaling")),
    log:
        "results/logs/reports/scaling.log",
    conda:
        "../envs/report.yaml"
    threads: 1
    resources:
        runtime=10,
    params:
        sources=REPORT_SOURCES,
    shell:
        "python -m kdrbench scaling {input.runs:q} --config {input.config:q} --out reports > {log:q} 2>&1"


rule paired_tests:
    input:
        "results/runs.csv",
    output:
        multiext("reports/paired_tests", ".tex", ".csv", ".json"),
        report("reports/paired_tests.html", **shown("paired_tests")),
    log:
        "results/logs/reports/paired_tests.log",
    conda:
        "../envs/report.yaml"
    threads: 1
    resources:
        runtime=10,
    params:
        sources=REPORT_SOURCES,
    shell:
        "python -m kdrbench paired-tests {input:q} --out reports/paired_tests > {log:q} 2>&1"


rule claims:
    input:
        **claim_records_of(GRID),
        config="results/config.json",
    output:
        "reports/claims.json",
        report("reports/claims.html", **shown("claims")),
    log:
        "results/logs/reports/claims.log",
    conda:
        "../envs/report.yaml"
    threads: 1
    resources:
        runtime=10,
    params:
        sources=REPORT_SOURCES,
        records=" ".join(f"--{name} {path}" for name, path in claim_records_of(GRID).items()),
    shell:
        "python -m kdrbench claims --config {input.config:q} {params.records} --out reports/claims > {log:q} 2>&1"
