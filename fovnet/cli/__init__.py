"""The command line: each verb reads its input, calls the library, and writes.  The only package that prints, exits, or reads sys.argv.

Exit status: 0 done; 1 a bug, with its traceback in a log file; 2 wrong usage, settings or input; 3 some volumes were refused and the
others processed; 130 stopped by Ctrl-C.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
import tempfile
import traceback
from io import TextIOWrapper
from threading import Timer
from typing import Annotated, NoReturn

os.environ["OPENBLAS_NUM_THREADS"] = "1"        # before numpy is read: see fovnet.maths.threads

import typer

from fovnet import __version__
from fovnet.cli import (
    bench_answers,
    bench_searches,
    bench_simulator,
    bench_speed,
    collecting,
    deciding,
    evaluating,
    exporting,
    planning,
    predicting,
    preparing,
    searching,
)
from fovnet.cli.screen import err, out
from fovnet.errors import FovnetError

WrongUsage: type[Exception] = typer.BadParameter.__mro__[1]
"""The exception that typer raises for unknown commands or options; typer exports no name for it."""

LOUD = "bold red"
STOPPED = 130       # exit status after Ctrl-C, as in shells: 128 + SIGINT
GRACE_S = 10.0      # seconds that workers have to end after Ctrl-C

app = typer.Typer(
    no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False,
    help="Which part of the body does an MRI volume show?  From volumes to regions, extents in millimetres, honest confidence.",
    epilog="Exit status: 0 done; 1 a bug, its traceback in a log file; 2 wrong usage, settings or input; 3 done, but for what was refused "
           "or is lacking; 130 stopped by Ctrl-C.",
)
bench = typer.Typer(no_args_is_help=True, help="Measure: searches, trainings, decisions, the simulator, and what answers are worth.")
for verbs in (bench_searches.verbs, bench_speed.verbs, bench_answers.verbs, bench_simulator.verbs):
    bench.add_typer(verbs)
for verbs in (planning.verbs, preparing.verbs, searching.verbs, deciding.verbs, evaluating.verbs, predicting.verbs):
    app.add_typer(verbs)
app.add_typer(collecting.collect, name="collect")
app.add_typer(bench, name="bench")
app.add_typer(searching.searching, name="search")
app.add_typer(searching.slot, name="slot")
app.add_typer(exporting.export, name="export")


@app.callback(invoke_without_command=True)
def version(show: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False) -> None:
    if show:
        out.print(f"fovnet {__version__}")
        raise typer.Exit


def main() -> None:
    """Run the command line; expected failures give a sentence and status 2, bugs a log file, an apology and status 1."""
    for stream in (sys.stdout, sys.stderr):         # file names may not be valid UTF-8
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        status = app(standalone_mode=False)
    except WrongUsage as fault:
        _explain(fault)
        sys.exit(2)
    except FovnetError as error:
        _show_error(str(error))
        sys.exit(2)
    except OSError as fault:
        full = fault.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        if not fault.filename and not full:
            _apologise()
        wanted = "make room and give the same command again [disk-full]" if full else "give a path that can be read and written [file]"
        _show_error(f"{fault.filename or 'output'}: {fault.strerror}; {wanted}")
        sys.exit(2)
    except KeyboardInterrupt:
        status = STOPPED
    except MemoryError:
        _show_error("not enough memory; give the same command with fewer workers, or with less running beside it [memory]")
        sys.exit(2)
    except Exception:
        _apologise()
    if status == STOPPED:
        err.print("stopped; the same command goes on from here")
        _leave_for_certain()
    sys.exit(status if isinstance(status, int) else 0)


def _leave_for_certain() -> None:
    """Makes a second Ctrl-C, or GRACE_S seconds, end the process at once, and its workers with it: Python would wait until the workers
    are done."""
    signal.signal(signal.SIGINT, lambda *_: os._exit(STOPPED))
    waiting = Timer(GRACE_S, os._exit, (STOPPED,))
    waiting.daemon = True
    waiting.start()


def _apologise() -> NoReturn:
    """Writes the traceback of the current exception to a log file, apologises, and exits with status 1."""
    with tempfile.NamedTemporaryFile("wb", prefix="fovnet-", suffix=".log", delete=False) as log:
        log_text = f"fovnet {__version__}: {' '.join(sys.argv)}\n{traceback.format_exc()}"
        log.write(log_text.encode("utf-8", errors="backslashreplace"))
    err.print("bug ", style=LOUD, end="")
    err.print("Sorry: fovnet met something it was not written for.")
    err.print(f"The traceback is in {log.name}; please report it.")
    sys.exit(1)


def _explain(fault: Exception) -> None:
    """Prints what is wrong with the command line, or the help of a command group given without a command."""
    context = getattr(fault, "ctx", None)
    words = context.command_path if context else "fovnet"
    if type(fault).__name__ == "NoArgsIsHelpError":
        if message := getattr(fault, "message", ""):       # empty where rich has printed the help already
            err.print(message)
        return
    message = getattr(fault, "format_message", fault.__str__)().rstrip(".")
    message += "" if message.endswith("?") else ";"
    _show_error(f"{words}: {message} `{words} --help` says what it takes [usage]")


def _show_error(sentence: str) -> None:
    """Prints the sentence of an error on stderr."""
    err.print("error ", style=LOUD, end="")
    err.print(sentence)
