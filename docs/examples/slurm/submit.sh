#!/bin/sh
# Maps in 64 tasks; when all have ended well, merges their shards.
job=$(sbatch --parsable array.sh)
sbatch --dependency="afterok:$job" --cpus-per-task=4 --mem=4G --wrap "fmx merge out.d -o all.sam"
