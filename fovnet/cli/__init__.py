"""The command line: each verb reads its input, calls the library, and writes.  The only package
that prints, exits, or reads sys.argv.

Exit status: 0 done; 1 a bug, with its traceback in a log file; 2 wrong usage, settings or input; 3
some volumes were refused and the others processed; 130 stopped by Ctrl-C; 141 the reader of the
output has ended (`fovnet codes | head -1`).
"""

from __future__ import annotations

import logging
import os
import select
import signal
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from threading import Timer
from typing import Annotated, NoReturn

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before numpy is read: see fovnet.machine.threads

import typer

from fovnet._version import __version__
from fovnet.cli.screen import err, out
from fovnet.cli.verbs import CommandLine
from fovnet.errors import FovnetError
from fovnet.unforeseen import is_disk_full, log_of

WrongUsage: type[Exception] = typer.BadParameter.__mro__[1]
"""The exception that typer raises for unknown commands or options; typer exports no name for it."""

ERROR_STYLE = "bold red"
EXIT_STOPPED = 130  # exit status after Ctrl-C, as in shells: 128 + SIGINT
EXIT_UNREAD = 141  # likewise 128 + SIGPIPE
GRACE_AFTER_STOP_S = 10.0  # seconds that workers have to end after Ctrl-C

app = typer.Typer(
    cls=CommandLine,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Which part of the body does an MRI volume show?  Regions, their extents in millimetres, and an "
    "honest confidence.",
    epilog="Exit status: 0 done; 1 a bug, its traceback in a log file; 2 wrong usage, settings or input; 3 "
    "done, except for what was refused or is missing; 130 stopped by Ctrl-C; 141 the reader of the "
    "output ended first.",
)


@app.callback(invoke_without_command=True)
def version(
    show_version: Annotated[
        bool, typer.Option("--version", help="Print the version and stop.")
    ] = False,
) -> None:
    if show_version:
        out.print(f"fovnet {__version__}")
        raise typer.Exit


def main(command: typer.Typer = app) -> None:
    """Run the command line, or that of a script; expected failures give a sentence and status 2,
    bugs a log file, an apology and status 1.

    If the reader of the output has ended, it ends quietly: the remaining output goes to the null
    device.
    """
    polled_outputs = select.poll()
    for descriptor in (1, 2):
        with suppress(OSError):  # closed from the start
            # a copy, as rich replaces a broken stdout by the null device
            polled_outputs.register(os.dup(descriptor), 0)
    try:
        _run_and_exit(command)
    except (BrokenPipeError, SystemExit) as fault:
        is_broken_pipe = isinstance(fault, BrokenPipeError)
        # typer and rich make a SystemExit of a broken pipe
        if not is_broken_pipe and not isinstance(fault.__context__, BrokenPipeError):
            raise
        has_reader_ended = any(event & select.POLLERR for _, event in polled_outputs.poll(0))
        if not has_reader_ended:  # the broken pipe is fovnet's own, to a worker
            unexpected_fault: Exception = RuntimeError(fault)
            if isinstance(fault, Exception):
                unexpected_fault = fault
            _apologise_and_exit(unexpected_fault)
        for descriptor in (1, 2):
            os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)
        sys.exit(EXIT_UNREAD)


def _run_and_exit(command: typer.Typer) -> None:
    """Runs a command and exits; raises only a broken pipe."""
    for stream in (sys.stdout, sys.stderr):  # file names may not be valid UTF-8
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        with _silent_libraries():
            status = command(standalone_mode=False)
        for stream in filter(None, (sys.stdout, sys.stderr)):
            stream.flush()
    except WrongUsage as fault:
        _show_wrong_usage(fault)
        sys.exit(2)
    except FovnetError as error:
        _show_error(str(error))
        sys.exit(2)
    except BrokenPipeError:
        raise
    except OSError as fault:
        remedy = "give a path that can be read and written [file]"
        if is_disk_full(fault):
            remedy = "free some space and run the same command again [disk-full]"
        elif not fault.filename:
            _apologise_and_exit(fault)
        _show_error(f"{fault.filename or 'output'}: {fault.strerror}; {remedy}")
        sys.exit(2)
    except KeyboardInterrupt:
        status = EXIT_STOPPED
    except MemoryError:
        _show_error(
            "not enough memory; run the same command with fewer workers, or with fewer other programs "
            "running [memory]"
        )
        sys.exit(2)
    except Exception as fault:
        _apologise_and_exit(fault)
    if status == EXIT_STOPPED:
        err.print("stopped; the same command resumes from here")
        _ensure_end()
    if not isinstance(status, int):
        status = 0
    sys.exit(status)


@contextmanager
def _silent_libraries() -> Iterator[None]:
    """Keeps warnings and log messages of libraries from the terminal while the block runs, also
    those of child processes: numpy, pydicom and nibabel report thousands on odd files, and what
    matters for an answer is among its notes.  PYTHONWARNINGS and `python -W` show the warnings."""
    level_before = logging.root.manager.disable
    shows_warnings = sys.warnoptions or "PYTHONWARNINGS" in os.environ
    with warnings.catch_warnings():
        if not shows_warnings:
            warnings.simplefilter("ignore")
            os.environ["PYTHONWARNINGS"] = "ignore"
        logging.disable()
        try:
            yield
        finally:
            logging.disable(level_before)
            if not shows_warnings:
                del os.environ["PYTHONWARNINGS"]


def _ensure_end() -> None:
    """Makes a second Ctrl-C, or GRACE_AFTER_STOP_S seconds, end the process at once, and its workers
    with it: Python would wait until the workers are done."""
    signal.signal(signal.SIGINT, lambda *_: os._exit(EXIT_STOPPED))
    timer = Timer(GRACE_AFTER_STOP_S, os._exit, (EXIT_STOPPED,))
    timer.daemon = True
    timer.start()


def _apologise_and_exit(fault: Exception) -> NoReturn:
    """Writes the traceback of an exception to a log file, apologises, and exits with status 1."""
    log_file = log_of(fault, " ".join(sys.argv))
    err.print("bug ", style=ERROR_STYLE, end="")
    err.print("Sorry: fovnet failed with an unexpected error.")
    err.print(f"The traceback is in {log_file}; please report it.")
    sys.exit(1)


def _show_wrong_usage(fault: Exception) -> None:
    """Prints what is wrong with the command line, or the help of a command group given without a
    command."""
    context = getattr(fault, "ctx", None)
    command = "fovnet"
    if context:
        command = context.command_path
    if type(fault).__name__ == "NoArgsIsHelpError":
        # empty where rich has printed the help already
        if message := getattr(fault, "message", ""):
            err.print(message)
        return
    message = getattr(fault, "format_message", fault.__str__)().rstrip(".")
    list_faults = getattr(fault.__cause__, "errors", None)  # of pydantic, which tells no value
    if list_faults is not None:
        message += f" (given: {list_faults()[0]['input']})"
    if not message.endswith("?"):
        message += ";"
    listed_things = "options"
    if message.startswith("No such command"):
        listed_things = "commands"
    _show_error(f"{command}: {message} `{command} --help` lists the {listed_things} [usage]")


def _show_error(sentence: str) -> None:
    """Prints the sentence of an error on stderr."""
    err.print("error ", style=ERROR_STYLE, end="")
    err.print(sentence)
