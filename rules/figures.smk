# All figures. Which an experiment has, and from what each is drawn, kdrbench.reports.outputs says.
rule figure:
    input:
        config=f"{R}/config.json",
        runs=lambda wildcards: outputs.merged_tables(GRID.config, FIGURES[wildcards.figure]),
        drawn=lambda wildcards: drawn_from(FIGURES[wildcards.figure]),
        included=INCLUDED,
    output:
        multiext(f"{REPORTS}/figures/{{figure}}", ".pdf", ".json", ".txt"),
        report(f"{REPORTS}/figures/{{figure}}.png", **captions.figure_caption(FIGURES)),
    log:
        f"results/logs/{REPORTS}/figures/{{figure}}.log",
    localrule: True
    conda:
        "../envs/report.yaml"
    threads: 1
    resources:
        runtime=10,
    params:
        sources=lambda wildcards: REPORT_SOURCES(),
        caption=lambda wildcards: captions.figure_text(FIGURES[wildcards.figure]),
    shell:
        command(
            "figure {wildcards.figure:q} --config {input.config:q}"
            f" --results {R} --out {REPORTS}/figures/{{wildcards.figure}} > {{log:q}} 2>&1"
        )


rule prepare_picture:
    output:
        "results/data/{dataset}.png",
    log:
        "results/logs/data/{dataset}_picture.log",
    localrule: True
    conda:
        "../envs/run.yaml"
    threads: 1
    resources:
        runtime=60,
        mirror=GRID.config["data"]["mirror"],
    shell:
        command("picture {wildcards.dataset:q} --mirror={resources.mirror:q} --out {output:q}" " > {log:q} 2>&1")
