#!/bin/sh
#SBATCH --array=1-64
#SBATCH --cpus-per-task=16
#SBATCH --mem=8G
#SBATCH --time=1:00:00
fmx search -q -x ref.fmx reads.fq.gz -o out.d -t 16 --shard $SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_COUNT
