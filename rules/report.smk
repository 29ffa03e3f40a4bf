# Tables and pages. Which there are, kdrbench.reports.outputs says.
rule table:
    input:
        config=f"{R}/config.json",
        runs=lambda wildcards: outputs.merged_tables(GRID.config, TABLES[wildcards.table]),
        stored=lambda wildcards: [*INCLUDED, *laid_out_from(TABLES[wildcards.table])],
        figures=lambda wildcards: expand(f"{REPORTS}/figures/{{name}}.png", name=TABLES[wildcards.table].figures),
    output:
        multiext(f"{REPORTS}/{{table}}", ".tex", ".csv", ".json"),
        report(f"{REPORTS}/{{table}}.html", **captions.table_caption(TABLES)),
    log:
        f"results/logs/{REPORTS}/{{table}}.log",
    localrule: True
    conda:
        "../envs/report.yaml"
    threads: 1
    resources:
        runtime=10,
    params:
        sources=lambda wildcards: REPORT_SOURCES(),
        caption=lambda wildcards: captions.table_text(TABLES[wildcards.table]),
    shell:
        command(
            "table {wildcards.table:q} {input.figures:q} --config {input.config:q}"
            f" --results {R} --out {REPORTS} > {{log:q}} 2>&1"
        )


rule typeset_table:
    input:
        f"{REPORTS}/{{table}}.tex",
    output:
        f"{REPORTS}/{{table}}.pdf",
    log:
        f"results/logs/{REPORTS}/{{table}}_typeset.log",
    localrule: True
    conda:
        "../envs/report.yaml"
    threads: 1
    resources:
        runtime=10,
    params:
        sources=lambda wildcards: REPORT_SOURCES(),
    shell:
        command("typeset {input:q} --out {output:q} > {log:q} 2>&1")


rule published_vs_ours:
    input:
        outputs.system_tables(GRID.config),
        config=f"{R}/config.json",
    output:
        f"{REPORTS}/published_vs_ours.csv",
        report(f"{REPORTS}/published_vs_ours.html", **captions.page_caption("published_vs_ours")),
    log:
        f"results/logs/{REPORTS}/published_vs_ours.log",
    localrule: True
    conda:
        "../envs/report.yaml"
    threads: 1
    resources:
        runtime=10,
    params:
        sources=lambda wildcards: REPORT_SOURCES(),
        caption=captions.page_text("published_vs_ours"),
    shell:
        command(
            "published-vs-ours --config {input.config:q}"
            f" --results {R} --out {REPORTS}/published_vs_ours > {{log:q}} 2>&1"
        )


rule claims:
    input:
        outputs.system_tables(GRID.config),
        config=f"{R}/config.json",
    output:
        f"{REPORTS}/claims.json",
        report(f"{REPORTS}/claims.html", **captions.page_caption("claims")),
    log:
        f"results/logs/{REPORTS}/claims.log",
    localrule: True
    conda:
        "../envs/report.yaml"
    threads: 1
    resources:
        runtime=10,
    params:
        sources=lambda wildcards: REPORT_SOURCES(),
        caption=captions.page_text("claims"),
    shell:
        command(f"claims --config {{input.config:q}} --results {R} --out {REPORTS}/claims > {{log:q}} 2>&1")


# What was found of the papers, and of leagues, atlases and noise; no page where a configuration runs none.
rule summary:
    input:
        [f"{R}/merged/{name}.csv" for name in GRID.experiments],
        outputs.system_tables(GRID.config),
        config=f"{R}/config.json",
        traces=[path for name in GRID.experiments for path in GRID.experiment_paths(name, "traces")],
        stored=[path for one in TABLES.values() for path in laid_out_from(one)],
    output:
        SUMMARY,
    log:
        f"results/logs/{REPORTS}/summary.log",
    localrule: True
    conda:
        "../envs/report.yaml"
    threads: 1
    resources:
        runtime=10,
    params:
        sources=lambda wildcards: REPORT_SOURCES(),
    shell:
        command(
            "summary --config {input.config:q}" f" --results {R} --reports .. --out {REPORTS}/summary > {{log:q}} 2>&1"
        )


DASHBOARD = command(
    "dashboard {params.parts} --config {input.config:q} --published {input.published:q}"
    f" --results {R} --out {{output:q}} > {{log:q}} 2>&1"
)


rule dashboard:
    input:
        outputs.system_tables(GRID.config),
        config=f"{R}/config.json",
        traces=[path for name in GRID.experiments for path in GRID.experiment_paths(name, "traces")],
        published=f"{REPORTS}/published_vs_ours.csv",
        included=INCLUDED,
        parts=outputs.dashboard_parts(GRID.config) + expand("results/checks/{plugin}.json", plugin=CHECKS),
    output:
        report(f"{REPORTS}/dashboard.html", **captions.page_caption("dashboard")),
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
        caption=captions.page_text("dashboard"),
        parts=lambda wildcards, input: listed(input.parts, workflow),
    shell:
        DASHBOARD
