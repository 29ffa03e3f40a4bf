# What `kdrbench check` asks of a plug-in, once for its code and options. A fault is a finding and stops no run.
rule check_plugin:
    output:
        "results/checks/{plugin}.json",
    log:
        "results/logs/checks/{plugin}.log",
    # Before most runs, so that a fault is seen early.
    priority: 50
    localrule: True
    conda:
        "../envs/run.yaml"
    threads: 1
    resources:
        runtime=30,
    params:
        words=lambda wildcards: CHECKS[wildcards.plugin].words,
        sources=lambda wildcards: CHECKS[wildcards.plugin].sources_sha256,
    shell:
        command("check --out {output:q} {params.words} > {log:q} 2>&1")
