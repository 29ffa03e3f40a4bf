rule prepare_data:
    output:
        "results/data/{dataset}.npz",
    log:
        "results/logs/data/{dataset}.log",
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
