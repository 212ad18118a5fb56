"""Reports metrics of a run to Quartermaster, by a line in the log of the program.

    import quartermaster

    quartermaster.log(step=100, loss=0.41)

This prints `quartermaster: {"step": 100, "loss": 0.41}`, and nothing is sent anywhere. The file has
no dependencies: install it, or copy it beside your program.
"""

import json
import math
import os
import sys

__all__ = ["log"]

_RANKS = ("RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID")


def log(metrics=None, *, step=None, epoch=None, all_ranks=False, **more):
    """Prints the values of metrics at a step or an epoch, as one line.

    Metrics are numbers by name, as keywords or as a dictionary: `log({"val/loss": 0.4}, epoch=3)`.
    Tensors and arrays of one value are numbers, too; NaN and infinity are kept. Only the first of
    several processes prints, unless `all_ranks` is set. TypeError names a value that is no number.
    """
    values = {**(metrics or {}), **more}
    line = {
        name: _number(name, value)
        for name, value in (("step", step), ("epoch", epoch), *values.items())
        if value is not None
    }
    if values and (all_ranks or _rank() == 0):
        # One write, so that lines of several threads and processes do not mix.
        sys.stdout.write(f"quartermaster: {json.dumps(line)}\n")
        sys.stdout.flush()


def _number(name, value):
    """The value as JSON has it: an int, a float, or the name of a number that JSON lacks."""
    if isinstance(value, bool) or isinstance(value, (str, bytes)):
        raise TypeError(f"{name} is {value!r}, which is no number")
    if isinstance(value, int):
        return value
    try:
        number = float(value)
    except (TypeError, ValueError, RuntimeError) as error:
        raise TypeError(f"{name} is no number: {error}") from error
    if math.isnan(number):
        return "nan"
    if math.isinf(number):
        return "inf" if number > 0 else "-inf"
    return number


def _rank():
    """The number of this process among those that a launcher started; 0 for a program alone."""
    found = (os.environ[name] for name in _RANKS if os.environ.get(name, "").isdigit())
    return int(next(found, 0))
