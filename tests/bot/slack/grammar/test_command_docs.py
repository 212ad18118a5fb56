from bot.slack.grammar.command_docs import commands_page
from bot.slack.grammar.registry import Registry
from tests.bot.slack.grammar.commands import declare_quota

PAGE = (
    "# Commands\n"
    "\n"
    "Generated from the declarations in `handlers/` by `make docs`.\n"
    "\n"
    "Every command also works as `/qm quota ...` and, also in threads, as "
    "`@Quartermaster quota ...`.\n"
    "With the command prefix `qm`, `/train` becomes `/qm-train`. `help` after a command, "
    "or `--help`\n"
    "after a verb, shows what works in that channel.\n"
    "\n"
    "In the thread of a card, mention the bot with the verb alone: `@Quartermaster logs` is "
    "about the\n"
    "run, dataset, snapshot or PVC of that card.\n"
    "\n"
    "## /quota\n"
    "\n"
    "GPU quota: what your team may use, uses and waits for.\n"
    "\n"
    "### /quota request\n"
    "\n"
    "Ask for more GPUs for a while. Requires the right `ask`.\n"
    "\n"
    "```\n"
    "/quota request AMOUNT [--for TIME] --reason TEXT\n"
    "```\n"
    "\n"
    "| | |\n"
    "|---|---|\n"
    "| `AMOUNT` | takes a change such as `+8` or `-2`, or a new total such as `12` |\n"
    "| `--for TIME` | takes a duration such as `15m`, `8h` or `1d12h`, "
    "from 1m to 14d; default 1d |\n"
    "| `--reason TEXT` | takes quoted text of at most 300 characters |\n"
    "\n"
    "For example:\n"
    "\n"
    "```\n"
    '/quota request +8 --for 3d --reason "CVPR deadline"\n'
    "```\n"
)


def test_the_page_is_written_from_declarations() -> None:
    page = commands_page(Registry([declare_quota()]))
    assert page == PAGE
