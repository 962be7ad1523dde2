"""The fmx command: subcommands imported on first use, and errors turned into exit codes."""

import gc
import importlib
import os
import re
import signal
import sys
import time
from collections.abc import Sequence
from contextlib import suppress

import click

from .. import system
from .._version import __version__
from ..errors import MESSAGE, FmxError, LostDeviceError, brief
from ..system import open_closed_streams, started, tell

_SYNONYMS = {  # options of other programs, and what fmx calls them
    "-p": "--threads", "-v": "--mismatches", "-S": "--format", "-b": "--format", "--gpu": "--engine",
}  # fmt: skip
_GROUPS = {
    "Find and count": ("search", "index", "locate", "count", "offtargets", "mem", "pairwise"),
    "Shards and indexes": ("merge", "inspect"),
    "Installation": ("compile",),
}


class _Commands(click.Group):
    """The commands of _GROUPS, modules of cli/commands, each imported when it is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands, in the order of help."""
        return [name for names in _GROUPS.values() for name in names]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands under their headings."""
        width = max(map(len, self.list_commands(ctx)))
        for heading, names in _GROUPS.items():
            known = [(name, self.get_command(ctx, name)) for name in names]
            rows = [(f"{name:{width}}", command.get_short_help_str(90)) for name, command in known if command]
            with formatter.section(heading):
                formatter.write_dl(rows)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """Return the command of a name, or None."""
        if name not in self.list_commands(ctx):
            return None
        return importlib.import_module(f".commands.{name}", __package__).command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple:
        """The command that the first argument names.  Raises UsageError, which suggests a similar name."""
        word, names = args[0], self.list_commands(ctx)
        if word in names or ctx.resilient_parsing:
            return super().resolve_command(ctx, args)
        from difflib import get_close_matches  # only for errors

        similar = get_close_matches(word, names, 1)
        advice = (
            f": did you mean {similar[0]}?" if similar else f"; the commands are {', '.join(sorted(names))}"
        )
        raise click.UsageError(f"no command {word}{advice}", ctx)


# The command line: errors become exit codes here, and only here.
#
# Exit codes: 0 done; 1 the work failed; 2 the command was wrong; 129, 130, 143 stopped by HUP, INT, TERM;
# 141 the reader of the output closed the pipe.


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100, "show_default": True},
)
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
@click.version_option(__version__, "-V", "--version", prog_name="fmx", message="%(prog)s %(version)s")
def fmx(debug: bool) -> None:
    """Find every place where a DNA read occurs, letter for letter, in a reference genome.

    \b
    fmx index ref.fa                      build ref.fmx once
    fmx search reads.fq.gz > hits.sam     map reads
    fmx locate -p GATTACA                 list every occurrence
    """


def run(arguments: Sequence[str], start: float | None = None) -> int:
    """Run one command line that began at ``start`` (of time.monotonic); return the exit code."""
    started.set(start or time.monotonic())
    debug = "--debug" in arguments[:1]
    try:
        for before, argument in zip(["fmx", *arguments], arguments, strict=False):
            if not argument or re.fullmatch("--[a-z-]+=", argument):  # usually a variable without a value
                raise click.UsageError(f"empty argument after '{argument or before}'")
        # Not fmx.main: it would turn a closed pipe into exit code 1.
        with fmx.make_context("fmx", list(arguments)) as context:
            fmx.invoke(context)
        sys.stdout.flush()
        return 0
    except click.exceptions.NoArgsIsHelpError as error:
        with suppress(OSError):
            error.show()
        return error.exit_code
    except click.ClickException as error:
        tell(f"fmx: error: {brief(_usage_text(error, arguments), MESSAGE - 100)}")
        return error.exit_code
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except (KeyboardInterrupt, click.Abort) as stop:
        number = stop.args[0] if isinstance(stop, system.Stopped) else signal.SIGINT
        name = signal.Signals(number).name
        tell("fmx: interrupted" if number == signal.SIGINT else f"fmx: stopped by {name}")
        return 128 + number
    except BrokenPipeError:
        _forget_stdout()
        return 141
    except LostDeviceError as error:
        # Exit at once: a normal exit lets numba free memory of the lost device, with a traceback each time.
        os._exit(_report(error, str(error), debug))  # _report flushes stdout and stderr
    except FmxError as error:
        return _report(error, str(error), debug)
    except MemoryError as error:
        return _report(error, "out of memory; use fewer threads or a machine with more memory", debug)
    except RuntimeError as error:
        if "start new thread" not in str(error):
            raise
        advice = "use fewer threads (-t), or raise the limits of this shell"
        return _report(error, f"cannot start a thread: {advice}", debug)
    except OSError as error:
        trace, what = error.__traceback__, error.strerror or str(error)
        while trace and trace.tb_next:
            trace = trace.tb_next
        if error.filename:
            what = f"{error.filename}: {what}"
        elif trace and trace.tb_frame.f_code is click.echo.__code__:  # it wrote help or another answer
            what = f"standard output: cannot write: {what}"
        return _report(error, what, debug)


def _usage_text(error: click.ClickException, arguments: Sequence[str]) -> str:
    """The message of a usage error, in the style of all errors; for a missing argument also where to look."""
    if isinstance(error, click.NoSuchOption) and error.ctx:
        unknown, command = error.option_name, error.ctx.command
        with_one_dash = [f"-{word}" for word in arguments if word.startswith(unknown)]
        advised = [_SYNONYMS.get(unknown), *with_one_dash, *(error.possibilities or ())]
        names = {name for param in command.params for name in param.opts}
        similar = [f": did you mean {name}?" for name in advised if name in names]
        advice = [*similar, f"; see '{error.ctx.command_path} --help'"][0]
        return f"no option {unknown} in '{error.ctx.command_path}'{advice}"
    text = re.sub("^(Missing|Option|Got) ", lambda first: first[0].lower(), error.format_message())
    text = re.sub("^Invalid value for (.*?):", lambda name: f"{name[1].replace(chr(39), '')}:", text)
    text = re.sub(r"(?<=argument )'\[?([A-Z.]+?)\]?(\.\.\.)?\]?'", r"\1", text.removesuffix("."))
    context = error.ctx if isinstance(error, click.UsageError) else None
    if context and (text.startswith("got unexpected extra") or isinstance(error, click.MissingParameter)):
        return f"{text}; see '{context.command_path} --help'"
    return text


def _report(error: BaseException, message: str, debug: bool) -> int:
    if debug:
        import traceback

        for line in "".join(traceback.format_exception(error)).splitlines():
            tell(line)
    tell(f"fmx: error: {message}")
    _forget_stdout()
    return 1


def _forget_stdout() -> None:
    """Flush stdout, or redirect it to /dev/null, so that Python does not fail on it at exit."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def main(start: float | None = None) -> None:
    """Run the ``fmx`` command of a process that began at ``start`` (of time.monotonic; None: now)."""
    open_closed_streams()
    if "_FMX_COMPLETE" in os.environ:  # click's shell completion
        fmx.main(prog_name="fmx")
    gc.disable()  # a run creates no cyclic garbage; scanning the compiler's objects only delays the start
    system.run_with_signals(run, sys.argv[1:], start)
