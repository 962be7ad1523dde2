"""The option --samples of fmx search: one output per sample, or one for all with a read group per sample."""

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING

import click

from ..errors import InputError
from ..input.streams import STANDARD
from .outputs import named_group, report_of

if TYPE_CHECKING:
    from ..guides.samples import Sample
    from ..jobs.search import SearchJob
    from ..output.search_output import SearchOutput


PLACE = "{sample}"  # in the name of an output: replaced by the sample's name


def jobs_of(
    args: SimpleNamespace, samples: list, job: "SearchJob", outputs_of: "Callable[[SearchOutput], dict]"
) -> tuple[list, dict]:
    """Return (one SearchJob per sample, or one for all samples; the outputs of all, as for check_places).

    ``job``: the job without samples; ``outputs_of``: gives the outputs of a SearchOutput.  Raises UsageError,
    InputError.
    """
    if args.rg is not None:
        raise click.UsageError("--rg cannot be combined with --samples: use the sheet's column read_group")
    grouped = [(sample, _groups(args.samples, sample)) for sample in samples]
    _check_groups(args.samples, [groups for _, groups in grouped])
    places = {option: path for option, (path, _) in outputs_of(job.output).items() if path}
    each = [option for option, path in places.items() if PLACE in path]
    if not each:
        if args.collapse:
            raise click.UsageError(
                f"--collapse needs one output per sample: put {PLACE} into the names of the outputs"
            )
        first, second = (
            sum(files, ()) for files in zip(*((x.first, x.second) for x in samples), strict=True)
        )
        merged = {path: group for _, groups in grouped for path, group in groups.items()}
        jobs = [
            replace(
                job, reads=replace(job.reads, first=first, second=second),
                output=_with_groups(job.output, [merged[path] for path in (*first, *second)]),
            )
        ]  # fmt: skip
        outputs = outputs_of(jobs[0].output)
    else:
        if missing := [option for option in places if option not in each]:
            raise click.UsageError(
                f"{missing[0]} would be overwritten by each sample: put {PLACE} into its name"
            )
        several = [sample.name for sample, groups in grouped if len(set(groups.values())) > 1]
        if args.collapse and several:
            raise click.UsageError(f"--collapse: sample {several[0]} has several read groups; give it one")
        jobs = [
            replace(
                job, reads=replace(job.reads, first=one.first, second=one.second, sample=one.name),
                output=_named(_with_groups(job.output, list(groups.values())), one.name),
            )
            for one, groups in grouped
        ]  # fmt: skip
        outputs = {
            f"{option} of {job_of_sample.reads.sample}": place
            for job_of_sample in jobs
            for option, place in outputs_of(job_of_sample.output).items()
        }
    return jobs, outputs


def _groups(sheet: str, sample: "Sample") -> dict:
    """Return {path: (@RG line, its ID)} of a sample.  Raises InputError."""
    groups: dict = {}
    for path, group in zip(sample.paths, sample.groups * (2 if sample.second else 1), strict=True):
        if path in groups or path == STANDARD:
            what = "is listed twice" if path in groups else "standard input cannot be used in a sample sheet"
            raise InputError(sheet, f"sample {sample.name}", f"{path}: {what}")
        try:
            groups[path] = named_group(group or f"@RG\tID:{sample.name}\tSM:{sample.name}")
        except ValueError as error:
            raise InputError(sheet, f"sample {sample.name}", f"read_group: {error}") from error
    return groups


def _check_groups(sheet: str, groups: list) -> None:
    """Raise InputError where samples share a file, or different read groups share an ID."""
    paths: set = set()
    lines: dict = {}
    for path, (line, name) in (item for each in groups for item in each.items()):
        if path in paths:
            raise InputError(sheet, "", f"{path} is listed twice")
        paths.add(path)
        if lines.setdefault(name, line) != line:
            raise InputError(sheet, "", f"read group {name} is listed twice, with different fields")


def _with_groups(output: "SearchOutput", groups: list) -> "SearchOutput":
    """Return the output with read groups, (line, ID) for each file in order."""
    from ..output.search_output import ReadGroups

    lines, names = list(dict.fromkeys(line for line, _ in groups)), tuple(name for _, name in groups)
    read_groups = ReadGroups("\n".join(lines), names[0], of_files=names if len(lines) > 1 else ())
    return replace(output, records=replace(output.records, groups=read_groups))


def _named(output: "SearchOutput", name: str) -> "SearchOutput":
    """Return the output with {sample} in its paths replaced by ``name``."""
    if "/" in name:
        raise click.UsageError(f"sample {name}: the name contains '/' and cannot be part of a file name")

    def path_of_sample(path: str | None) -> str | None:
        return path and path.replace(PLACE, name)

    counts, reads, report = output.counts, output.reads, output.report
    return replace(
        output,
        records=replace(output.records, path=path_of_sample(output.path)),
        counts=counts and replace(counts, path=counts.path.replace(PLACE, name)),
        screen=path_of_sample(output.screen),
        reads=replace(reads, mapped=path_of_sample(reads.mapped), unmapped=path_of_sample(reads.unmapped)),
        report=report and report_of([path.replace(PLACE, name) for path in report.paths]),
    )
