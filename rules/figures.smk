# The figures beyond cost against time; which of them an experiment has, `figures_of` says.
rule figure_cost_against_calls:
    input:
        config="results/config.json",
        runs="results/merged/{experiment}.csv",
        traces=lambda wildcards: traces_of(GRID, wildcards.experiment),
    output:
        multiext("reports/figures/{experiment}_cost_against_calls", ".pdf", ".json"),
        report("reports/figures/{experiment}_cost_against_calls.png", **shown("cost_against_calls")),
    log:
        "results/logs/reports/{experiment}_cost_against_calls.log",
    conda:
        "../envs/report.yaml"
    threads: 1
    resources:
        runtime=10,
    params:
        sources=REPORT_SOURCES,
        stem="reports/figures/{experiment}_cost_against_calls",
    shell:
        "python -m kdrbench figures cost-against-calls {wildcards.experiment:q} --config {input.config:q} --runs {input.runs:q} --traces results/traces"
        " --out {params.stem:q} > {log:q} 2>&1"


rule figure_performance_profile:
    input:
        config="results/config.json",
        runs="results/runs.csv",
        traces=[trace for name in GRID.experiments for trace in traces_of(GRID, name)],
    output:
        multiext("reports/figures/performance_profile", ".pdf", ".json"),
        report("reports/figures/performance_profile.png", **shown("performance_profile")),
    log:
        "results/logs/reports/performance_profile.log",
    conda:
        "../envs/report.yaml"
    threads: 1
    resources:
        runtime=10,
    params:
        sources=REPORT_SOURCES,
    shell:
        "python -m kdrbench figures performance-profile --config {input.config:q} --runs {input.runs:q} --traces results/traces"
        " --out reports/figures/performance_profile > {log:q} 2>&1"


rule figure_loadings:
    input:
        config="results/config.json",
        runs="results/merged/{experiment}.csv",
        findings=lambda wildcards: findings_of(GRID, wildcards.experiment),
        data=lambda wildcards: prepared_of(GRID, wildcards.experiment),
    output:
        multiext("reports/figures/{experiment}_loadings", ".pdf", ".json"),
        report("reports/figures/{experiment}_loadings.png", **shown("loadings")),
    log:
        "results/logs/reports/{experiment}_loadings.log",
    conda:
        "../envs/report.yaml"
    threads: 1
    resources:
        runtime=10,
    params:
        sources=REPORT_SOURCES,
        stem="reports/figures/{experiment}_loadings",
    shell:
        "python -m kdrbench figures loadings {wildcards.experiment:q} --config {input.config:q} --runs {input.runs:q} --findings results/findings"
        " --data results/data"
        " --out {params.stem:q} > {log:q} 2>&1"


rule figure_scatter:
    input:
        config="results/config.json",
        runs="results/merged/{experiment}.csv",
        findings=lambda wildcards: findings_of(GRID, wildcards.experiment),
        data=lambda wildcards: prepared_of(GRID, wildcards.experiment),
    output:
        multiext("reports/figures/{experiment}_scatter", ".pdf", ".json"),
        report("reports/figures/{experiment}_scatter.png", **shown("scatter")),
    log:
        "results/logs/reports/{experiment}_scatter.log",
    conda:
        "../envs/report.yaml"
    threads: 1
    resources:
        runtime=10,
    params:
        sources=REPORT_SOURCES,
        stem="reports/figures/{experiment}_scatter",
    shell:
        "python -m kdrbench figures scatter {wildcards.experiment:q} --config {input.config:q} --runs {input.runs:q} --findings results/findings"
        " --data results/data"
        " --out {params.stem:q} > {log:q} 2>&1"


rule figure_segmentation:
    input:
        config="results/config.json",
        runs="results/merged/{experiment}.csv",
        findings=lambda wildcards: findings_of(GRID, wildcards.experiment),
        data=lambda wildcards: prepared_of(GRID, wildcards.experiment),
        pictures=lambda wildcards: pictures_of(GRID, wildcards.experiment),
    output:
        multiext("reports/figures/{experiment}_segmentation", ".pdf", ".json"),
        report("reports/figures/{experiment}_segmentation.png", **shown("segmentation")),
    log:
        "results/logs/reports/{experiment}_segmentation.log",
    conda:
        "../envs/report.yaml"
    threads: 1
    resources:
        runtime=10,
    params:
        sources=REPORT_SOURCES,
        stem="reports/figures/{experiment}_segmentation",
    shell:
        "python -m kdrbench figures segmentation {wildcards.experiment:q} --config {input.config:q} --runs {input.runs:q} --findings results/findings"
        " --data results/data"
        " --out {params.stem:q} > {log:q} 2>&1"


rule prepare_picture:
    output:
        "results/data/{dataset}.png",
    log:
        "results/logs/data/{dataset}_picture.log",
    conda:
        "../envs/ikdr.yaml"
    threads: 1
    resources:
        runtime=60,
        mirror=config["data"]["mirror"],
    shell:
        "python -m kdrbench figures picture {wildcards.dataset:q} --mirror={resources.mirror:q} --out {output:q}"
        " > {log:q} 2>&1"
