#!/bin/sh
# Maps A.fq.gz and B.fq.gz to ref.fmx, and shows them in one report, qc/multiqc_report.html.
set -e
mkdir -p logs
for sample in A B; do
    fmx search -q -x ref.fmx "$sample.fq.gz" -o "$sample.bam" --report "logs/${sample}_mqc.json"
done
multiqc --force --outdir qc logs
