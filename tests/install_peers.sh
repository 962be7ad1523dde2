#!/usr/bin/env bash
# Installs the programs that fmx is tested with (Debian and Ubuntu), those of PyPI beside the others; does nothing if
# they are there.
set -euo pipefail

venvs=$(dirname "$0")/../.venv

# A program of PyPI in a folder of its own, for it brings tens of packages: its name, and what pip is asked for.
from_pypi() {
    [ -x "$venvs/$1/bin/$1" ] && return
    echo "installing $1"
    "${PYTHON:-python3}" -m venv "$venvs/$1"
    "$venvs/$1/bin/python" -m pip install --quiet --no-compile --disable-pip-version-check "$2"
}

from_debian() {
    declare -A package_of=([bowtie]=bowtie [bowtie-build]=bowtie [samtools]=samtools [vsearch]=vsearch [mummer]=mummer
        [primersearch]=emboss)
    local missing=() as_root=()
    for program in "${!package_of[@]}"; do
        command -v "$program" >/dev/null || missing+=("${package_of[$program]}")
    done
    # A browser for the pages of reports: the smallest one there is, without a screen.
    command -v chromium-headless-shell chromium google-chrome >/dev/null || missing+=(chromium-headless-shell)
    [ "${#missing[@]}" -eq 0 ] && return

    echo "installing ${missing[*]}"
    if ! command -v apt-get >/dev/null; then
        if [ "${CI:-}" = true ]; then
            echo "no apt-get here: install ${missing[*]} by hand" >&2
            return 1
        fi
        echo "no apt-get here: tests that need ${missing[*]} are skipped" >&2
        return 0
    fi
    [ "$(id -u)" -eq 0 ] || as_root=(sudo)
    "${as_root[@]}" apt-get update -qq
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

from_pypi snakemake 'snakemake>=9' &
snakemake=$!
from_pypi multiqc 'multiqc>=1.25' &
multiqc=$!
from_debian
wait "$snakemake"
wait "$multiqc"
