#!/usr/bin/env bash
# Installs the programs that fmx is compared with in the tests (Debian and Ubuntu); does nothing if they are there.
set -euo pipefail

venv=$(dirname "$0")/../.venv/snakemake
if [ ! -x "$venv/bin/snakemake" ]; then # apart from what fmx is installed with, for it brings forty packages
    echo "installing snakemake"
    "${PYTHON:-python3}" -m venv "$venv"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check 'snakemake>=9'
fi

declare -A package_of=([bowtie]=bowtie [bowtie-build]=bowtie [samtools]=samtools [vsearch]=vsearch [mummer]=mummer
    [primersearch]=emboss)

missing=()
for program in "${!package_of[@]}"; do
    command -v "$program" >/dev/null || missing+=("${package_of[$program]}")
done
[ "${#missing[@]}" -eq 0 ] && exit 0

echo "installing ${missing[*]}"
if ! command -v apt-get >/dev/null; then
    if [ "${CI:-}" = true ]; then
        echo "no apt-get here: install ${missing[*]} by hand" >&2
        exit 1
    fi
    echo "no apt-get here: tests that compare with ${missing[*]} are skipped" >&2
    exit 0
fi
as_root=()
[ "$(id -u)" -eq 0 ] || as_root=(sudo)
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
