# Data sets that are made or that scikit-learn holds, all by one job.
if BUNDLED:

    rule prepare_bundled:
        output:
            [f"results/data/{dataset}.npz" for dataset in BUNDLED],
        log:
            "results/logs/data/bundled.log",
        localrule: True
        conda:
            "../envs/run.yaml"
        threads: 1
        resources:
            runtime=60,
        params:
            # The same for all configurations, which share the files.
            sha256=bundled_sha256(),
        shell:
            command(f"prepare {' '.join(BUNDLED)} --out results/data > {{log:q}} 2>&1")


rule prepare_data:
    output:
        "results/data/{dataset}.npz",
    log:
        "results/logs/data/{dataset}.log",
    wildcard_constraints:
        dataset=f"(?!(?:{'|'.join(BUNDLED)})\\.npz)[A-Za-z0-9_-]+",
    localrule: True
    conda:
        "../envs/run.yaml"
    threads: 1
    resources:
        runtime=60,
        # No parameter: the source of data does not change their values.
        mirror=GRID.config["data"]["mirror"],
    params:
        definition=lambda wildcards: GRID.data_definition(wildcards.dataset),
        sha256=lambda wildcards: GRID.data_sha256(wildcards.dataset),
    shell:
        command(
            "prepare {wildcards.dataset:q} --definition {params.definition:q}"
            " --mirror={resources.mirror:q} --out {output:q} > {log:q} 2>&1"
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
        command("prepare {wildcards.dataset:q} --mirror={resources.mirror:q} --out {output:q} > {log:q} 2>&1")
