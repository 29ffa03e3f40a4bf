# Tables, figures and pages. Which there are, and what they are made of, kdrbench.suite.reports says.


REPORTS_COMMAND = command(f"reports {{params.words}} --results {R} --out {REPORTS} > {{log:q}} 2>&1")


# What waits for the same runs is made by one job, which takes hardly longer than one table or figure.
for report_job in REPORT_JOBS:

    rule:
        name:
            report_job.name
        input:
            awaited_by(report_job),
            INCLUDED,
        output:
            flagged(report_job),
        log:
            f"results/logs/{REPORTS}/{report_job.name}.log",
        localrule: True
        conda:
            "../envs/report.yaml"
        threads: 1
        resources:
            runtime=10,
        params:
            sources=lambda wildcards: REPORT_SOURCES(),
            words=words_of(report_job),
        shell:
            REPORTS_COMMAND


# What is said of the papers: published numbers, claims, and a summary where the configuration runs what it is on.
rule papers:
    input:
        TRACES,
        outputs.system_tables(GRID.config),
        [f"{R}/merged/{name}.csv" for name in GRID.experiments],
        [path for job in REPORT_JOBS for path in outputs.stored_optima(GRID.config, job)],
    output:
        [f"{REPORTS}/published_vs_ours.csv", f"{REPORTS}/claims.json", *SUMMARY],
    log:
        f"results/logs/{REPORTS}/papers.log",
    localrule: True
    conda:
        "../envs/report.yaml"
    threads: 1
    resources:
        runtime=10,
    params:
        sources=lambda wildcards: REPORT_SOURCES(),
    shell:
        command(f"papers --results {R} --out {REPORTS} > {{log:q}} 2>&1")


rule dashboard:
    input:
        outputs.system_tables(GRID.config),
        traces=TRACES,
        published=f"{REPORTS}/published_vs_ours.csv",
        included=INCLUDED,
        parts=outputs.dashboard_parts(GRID.config) + expand("results/checks/{plugin}.json", plugin=CHECKS),
    output:
        report(f"{REPORTS}/dashboard.html", category="Dashboard", labels={"of": "all"}),
    log:
        f"results/logs/{REPORTS}/dashboard.log",
    localrule: True
    conda:
        "../envs/report.yaml"
    threads: 1
    resources:
        runtime=10,
    params:
        sources=lambda wildcards: REPORT_SOURCES(),
    shell:
        command(f"dashboard --results {R} --out {REPORTS} > {{log:q}} 2>&1")
