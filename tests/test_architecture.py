"""Rules of the house that no linter keeps; import order is kept by import-linter."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
CODE = ("bot", "handlers", "jobs", "playground")
ALL = (*CODE, "tests", "benchmarks")
SAYS_NOTHING = {"base", "common", "helpers", "manager", "misc", "utils"}
GUARDS = {
    "bot/database/group_commit.py",  # raised again in the thread that asked for the transaction
    "bot/cluster/api/watch.py",  # a watch that dies leaves the view to grow old
    "bot/reconcile/loop.py",  # a poison row must not stop the next one
    "bot/reconcile/wakeups.py",  # a change that one area cannot read concerns others too
    "bot/slack/receiving/reception.py",  # one request that breaks is answered so
    "bot/slack/sending/sender.py",  # nor one message the others
    "bot/slack/receiving/sockets.py",  # one connection is followed by another
    "bot/threads.py",  # a thread outlives what one pass raises, and work what other work raises
    "bot/home/facts.py",  # a request that cannot be shown must not hide the others
    "bot/home/source.py",  # nor one person's page those of others
    "bot/commands/dispatcher.py",  # the person reads a reference, the log has the traceback
}


def sources(*packages: str) -> Iterator[tuple[str, str]]:
    for package in packages:
        for path in sorted((ROOT / package).rglob("*.py")):
            if "migrations/versions" not in path.as_posix():
                yield path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")


def modules(*packages: str) -> Iterator[tuple[str, str, ast.Module]]:
    return ((name, source, ast.parse(source)) for name, source in sources(*packages))


def functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef))


def test_no_file_is_longer_than_400_lines() -> None:
    lengths = {name: len(source.splitlines()) for name, source in sources(*ALL)}
    assert {name: lines for name, lines in lengths.items() if lines > 400} == {}


def test_no_function_is_longer_than_40_lines() -> None:
    lengths = {
        f"{name}:{function.lineno} {function.name}": function.end_lineno - function.lineno + 1
        for name, _, tree in modules(*ALL)
        for function in functions(tree)
        if function.end_lineno
    }
    assert {name: lines for name, lines in lengths.items() if lines > 40} == {}


def test_every_module_name_says_what_it_holds() -> None:
    names = [Path(name) for name, _ in sources(*ALL)]
    assert [n for n in names if SAYS_NOTHING & {n.stem, *n.parent.parts}] == []


def test_only_the_guards_catch_every_exception() -> None:
    catching = {
        name
        for name, _, tree in modules("bot", "handlers", "jobs")
        for node in ast.walk(tree)
        if isinstance(node, ast.ExceptHandler) and swallows_everything(node)
    }
    assert catching == GUARDS


def swallows_everything(handler: ast.ExceptHandler) -> bool:
    if any(isinstance(n, ast.Raise) and n.exc is None for n in handler.body):
        return False
    caught = {
        n.id for n in ast.walk(handler.type or ast.Name("Exception")) if isinstance(n, ast.Name)
    }
    return bool(caught & {"BaseException", "Exception"})


def test_test_names_tell_the_behaviour_in_words() -> None:
    # Fewer words tell too little, more tell two things.
    names = [
        function.name
        for _, _, tree in modules("tests")
        for function in functions(tree)
        if function.name.startswith("test_")
    ]
    too_short_or_long = [n for n in names if not 4 <= len(n.split("_")) - 1 <= 8]
    assert too_short_or_long == []
    assert names
