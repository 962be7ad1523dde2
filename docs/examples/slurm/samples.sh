#!/bin/sh
#SBATCH --array=1-100
#SBATCH --cpus-per-task=4
#SBATCH --mem=8G
reads=$(sed -n "${SLURM_ARRAY_TASK_ID}p" samples.txt)
fmx search -q -x ref.fmx "$reads" -o "$(basename "$reads" .fq.gz).bam" -t 4
