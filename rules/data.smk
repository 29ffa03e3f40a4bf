rule prepare_data:
    output:
        "results/data/{dataset}.npz",
    log:
        "results/logs/data/{dataset}.log",
    conda:
        "../envs/ikdr.yaml"
    threads: 1
    resources:
        runtime=60,
    params:
        mirror=config["data"]["mirror"],
        content=lambda wildcards: content_of(wildcards.dataset),
    shell:
        "python -m kdrbench prepare {wildcards.dataset:q} --mirror={params.mirror:q} --out {output:q} > {log:q} 2>&1"
