"""Who may say what and click what where; the table is written by hand, not derived from the code.

Each row is said or clicked for real, with a bot where there is something for it to act on.
"""

import pytest
from structlog.testing import capture_logs

from bot.commands.repeating import AGAIN
from handlers.declared import COMMANDS
from tests.handlers.command_client import (
    ALICE,
    BOB,
    CAROL,
    DAN,
    ELSEWHERE,
    ERIN,
    FAR,
    FAY,
    MIA,
    TEAM_A,
    TEAM_B,
)  # fmt: skip
from tests.handlers.furnished import Furnished

DIRECT = "D0DIRECT"
# Who: the owner of what it is about, another Member, a Lead, an Admin, the Former member who owned
# it, a lead of anotHer team, a Guest, a Stranger; all of them in the team's channel.
IN_THE_CHANNEL = {
    "o": ALICE, "m": MIA, "l": ERIN, "a": CAROL, "f": FAY, "h": BOB, "g": DAN, "s": FAR,
}  # fmt: skip
# Where else, with `--team team-a` if the verb takes it: the Former owner in a direct message, the
# other team's lead in their own cHannel, the Owner in a direct message and in a channel of no team.
ELSEWHERE_TOO = {
    "F": (FAY, DIRECT), "H": (BOB, TEAM_B), "D": (ALICE, DIRECT), "E": (ALICE, ELSEWHERE),
}  # fmt: skip

TABLE = {
    "/train submit new --image ghcr.io/acme/lane:3.1 --gpus 1 -- python train.py": "omla.... ..D.",
    "/train submit more --image ghcr.io/acme/lane:3.1 --sweep lr=0.1,0.01 -- train {lr}": (
        "omla.... ..D."
    ),
    "/train list": "omla.... ..D.",
    "/train show lane": "omla.... ..D.",
    "/train logs lane": "omla.... ..D.",
    "/train logs lane --follow": "omla.... ..D.",
    "/train stop lane": "o.la.... ..D.",
    "/train stop grid": "o.la.... ..D.",
    "/train resubmit old": "omla.... ..D.",
    "/train why lane": "omla.... ..D.",
    "/train watch theirs": "omla.... ..D.",
    "/train unwatch wide": "omla.... ..D.",
    "/train open nb": "o....... ..D.",
    "/train extend nb 1h": "o.la.... ..D.",
    "/train scale wide 2": "o.la.... ..D.",
    "/train export lane": "omla.... ..D.",
    "/train compare lane old": "omla.... ..D.",
    "/train compare lane old --by epoch": "omla.... ..D.",
    "/train compare lane old --by nodes": "omla.... ..D.",
    "/train presets": "omla.... ..D.",
    "/train templates": "omla.... ..D.",
    "/train flow list": "omla.... ..D.",
    "/train flow save more old": "omla.... ..D.",
    "/train flow show nightly": "omla.... ..D.",
    "/train flow show nightly --argo": "omla.... ..D.",
    "/train flow run nightly": "omla.... ..D.",
    '/train flow schedule nightly --cron "0 2 * * *"': "omla.... ..D.",
    "/train flow unschedule weekly": "omla.... ..D.",
    "/train flow delete weekly": "omla.... ..D.",
    "/dataset add more s3://lake/more/": "omla.... ..D.",
    "/dataset list": "omla.... ..D.",
    "/dataset show chest-xray": "omla.... ..D.",
    "/dataset ls chest-xray@v3 train/": "omla.... ..D.",
    "/dataset head chest-xray@v3 labels.csv": "omla.... ..D.",
    "/dataset version faces": "omla.... ..D.",
    "/dataset diff chest-xray@v3 retina@v1": "omla.... ..D.",
    "/dataset remove faces": "o.la.... ..D.",
    "/dataset cache retina@v1 --yes": "omla.... ..D.",
    "/dataset evict chest-xray@v3": "omla.... ..D.",
    "/dataset evict theirs@v3": "...a.... ....",
    "/dataset pin chest-xray@v3 --reason deadline": "omla.... ..D.",
    "/dataset unpin kept@v3": "omla.... ..D.",
    "/dataset unpin kept@v3 --all": "o.la.... ..D.",
    "/dataset extend chest-xray@v3 3d": "omla.... ..D.",
    "/dataset touch chest-xray@v3": "omla.... ..D.",
    "/dataset keep chest-xray 3d": "omla.... ..D.",
    "/dataset push imagenet:/run-9 s3://lake/run-9 --yes": "omla.... ..D.",
    "/dataset put faces": "omla.... ..D.",
    "/dataset usage": "omla.... ..D.",
    "/snapshot create lane-data": "omla.... ..D.",
    "/snapshot list": "omla.... ..D.",
    "/snapshot show imagenet": "omla.... ..D.",
    "/snapshot delete lane-data": "o.la.... ..D.",
    "/snapshot pin lane-data --reason paper": "omla.... ..D.",
    "/snapshot unpin imagenet": "omla.... ..D.",
    "/snapshot unpin imagenet --all": "o.la.... ..D.",
    "/snapshot restore lane-data --as fresh": "omla.... ..D.",
    "/snapshot restore lane-data --in-place --reason paper": "omla.... ..D.",
    "/snapshot clone imagenet --as mine": "omla.... ..D.",
    "/snapshot cancel again": "o.la.... ..D.",
    '/snapshot schedule lane-data "0 2 * * *" --max 14': "omla.... ..D.",
    "/snapshot unschedule imagenet": "o.la.... ..D.",
    "/snapshot schedules": "omla.... ..D.",
    "/pvc list": "omla.... ..D.",
    "/pvc show imagenet": "omla.... ..D.",
    "/pvc unused": "omla.... ..D.",
    "/pvc resize imagenet 2Ti": "..la.... ....",
    "/pvc copy scratch --as shared --class azurenetappfiles": "..la.... ....",
    "/pvc delete team-a-data": "..la.... ....",
    "/quota status": "omla.... ..D.",
    "/quota request +8 --for 1d --reason deadline": "omla.... ..D.",
    "/quota request +8 --for 1d --reason deadline --break-glass": "...a.... ....",
    "/quota set 8": "...a.... ....",
    "/quota history": "omla.... ..D.",
    "/quota revoke": "o.la.... ..D.",
    "/team show team-a": "omla.... ..D.",
    "/team create fresh --gpus 2": "...a.... ....",
    "/team set team-a --gpus 8": "...a.... ....",
    "/team remove vision": "...a.... ....",
    "/gpu nccl --nodes 2": "omla.... ..D.",
    "/gpu network": "omla.... ..D.",
    "/gpu status": "omla.... .HD.",
    "/gpu nodes": "omla.... .HD.",
    "/gpu top": "omla.... ..D.",
    "/gpu top --all": "...a.... ....",
    "/gpu idle": "omla.... ..D.",
    "/gpu show lane": "omla.... ..D.",
    "/gpu wait off": "omla.... ..D.",
    "/gpu report": "omla.... ..D.",
    "/gpu digest": "omla.... ..DE",
    "/gpu digest --dm": "omla.... ..DE",
    "/gpu digest --post": "..la.... ....",
    "/gpu digest set --at 09:00": "...a.... ....",
    "/anf volumes": "omla.... ..D.",
    "/anf pools": "..la.... .H..",
    "/anf show lane-data": "omla.... ..D.",
    "/anf level lane-data ultra --yes": "..la.... ....",
    "/anf throughput models 100 --yes": "..la.... ....",
    "/anf grow lane-data 2Ti": "..la.... ....",
    "/anf repair lane-data": "...a.... ....",
    "/anf pool create new-1 --size 4TiB --level premium": "...a.... ....",
    "/approval list": "..la.... ....",
    "/notices show": "omlafh.. FHDE",
    "/notices thread": "omlafh.. FHDE",
    "/notices dm": "omlafh.. FHDE",
    "/notices none": "omlafh.. FHDE",
    "/qm whoami": "omlafh.. FHDE",
    "/qm status": "omla.... .HD.",
    "/qm audit": "..la.... ....",
    "/qm leftovers": "omla.... ..D.",
    "[train.logs]": "omla.... ..D.",
    "[train.curves]": "omla.... ..D.",
    "[train.unfollow]": "o....... ..D.",
    "[train.unwatch]": "omla.... ..D.",
    "[train.stop]": "o.la.... ..DE",
    "[train.stop-sweep]": "o.la.... ..D.",
    "[train.compare-sweep]": "omla.... ..D.",
    "[train.curves-of-sweep]": "omla.... ..D.",
    "[train.resubmit]": "omla.... ..D.",
    "[train.open]": "o....... ..D.",
    "[train.extend]": "o.la.... ..DE",
    "[train.keep]": "o.la.... ..DE",
    "[train.requeue]": "o.la.... ..D.",
    "[train.cache]": "o....... ..D.",
    "[train.withdraw]": "o.la.... ..D.",
    "[dataset.page]": "omla.... ..D.",
    "[dataset.cache]": "omla.... ..D.",
    "[dataset.version]": "omla.... ..D.",
    "[dataset.push]": "omla.... ..D.",
    "[dataset.push_stop]": "o.la.... ..D.",
    "[dataset.put_grant]": "o....... ..D.",
    "[dataset.evict]": "omla.... ..D.",
    "[dataset.extend]": "omla.... .HD.",
    "[dataset.pin]": "omla.... .HD.",
    "[dataset.remove_orphan]": "...a.... ....",
    "[snapshot.delete]": "o.la.... ..D.",
    "[snapshot.restore]": "omla.... ..D.",
    "[snapshot.unschedule]": "o.la.... ..D.",
    "[snapshot.revert-saved]": "omla.... ..D.",
    "[snapshot.revert-unsaved]": "omla.... ..D.",
    "[snapshot.cancel-revert]": "o.la.... ..D.",
    "[snapshot.cancel]": "o.la.... ..D.",
    "[pvc.resize]": "..la.... ....",
    "[pvc.resize-withdraw]": "..la.... ....",
    "[pvc.copy]": "..la.... ....",
    "[pvc.copy-stop]": "..la.... ....",
    "[pvc.delete]": "..la.... ....",
    "[pvc.delete-ask]": "..la.... ....",
    "[pvc.delete-cancel]": "..la.... ....",
    "[team.remove]": "...a.... ....",
    "[team.withdraw]": "...a.... ....",
    "[quota.adopt]": "...a.... ....",
    "[quota.rewrite]": "...a.... ....",
    "[quota.step]": "o....... ..D.",
    "[quota.unstep]": "o....... ..D.",
    "[gpu.snooze]": "o.la.... ..DE",
    "[gpu.unwait]": "o....... ..D.",
    "[gpu.mine]": "omla.... ..DE",
    "[anf.go]": "..la.... ....",
    "[anf.give-back]": "..la.... ....",
    "[anf.repair]": "...a.... ....",
    "[anf.repair-withdraw]": "...a.... ....",
    "[anf.grow]": "..la.... ....",
    "[anf.grow-withdraw]": "..la.... ....",
    "[notices.choose]": "omlafh.. FHDE",
    "[qm.refresh]": "omlafh.. FHDE",
    "[anf.pool]": "...a.... ....",
    "[anf.pool-ask]": "...a.... ....",
    "[anf.pool-withdraw]": "...a.... ....",
    "[qm.withdraw-removal]": "o.la.... ..D.",
    "[train.link]": "omlafh.. FHDE",
    "[approval.approve]": "...a.... ....",
    "[approval.deny]": "...a.... ....",
    "[again]": "o....... ..D.",
}  # fmt: skip


@pytest.mark.timeout(300)
def test_everybody_may_what_the_table_says(everything: Furnished) -> None:
    assert {row: who_may(everything, row) for row in TABLE} == TABLE


def test_every_verb_and_button_has_a_row() -> None:
    verbs = {f"/{command.name} {verb}" for command in COMMANDS for verb in command.verbs}
    buttons = {f"[{action}]" for command in COMMANDS for action in command.buttons}
    rows = {row if row.startswith("[") else " ".join(row.split()[:2]) for row in TABLE}
    assert rows == verbs | buttons | {f"[{AGAIN}]"}


def who_may(everything: Furnished, row: str) -> str:
    """The letters of those who are not refused; nobody is answered that something broke."""
    told = "".join(
        letter if is_allowed(everything, person, TEAM_A, row) else "."
        for letter, person in IN_THE_CHANNEL.items()
    )
    elsewhere = "".join(
        letter if is_allowed(everything, person, place, row) else "."
        for letter, (person, place) in ELSEWHERE_TOO.items()
    )
    return f"{told} {elsewhere}"


def is_allowed(everything: Furnished, person: str, channel: str, row: str) -> bool:
    """Whether what they say or click is answered with anything but that they may not."""
    everything.put_back(FAY if person == FAY else ALICE)
    client = everything.client
    with capture_logs() as logs:
        if row.startswith("["):
            action = row.strip("[]")
            client.clicks(person, channel, action, everything.values[action])
        else:
            client.says(person, channel, _for_team_a(row) if channel != TEAM_A else row)
    broken = [each for each in logs if each["event"] not in {"refused", "failed"}]
    assert broken == [], row
    return not any(
        each["event"] == "refused" and each["kind"] == "NotAllowedError" for each in logs
    )


def _for_team_a(text: str) -> str:
    name, verb = text.removeprefix("/").split()[:2]
    (command,) = [each for each in COMMANDS if each.name == name]
    if not any(each.dashed == "--team" for each in command.verbs[verb].parameters):
        return text
    before, dashes, rest = text.partition(" -- ")
    return f"{before} --team team-a{dashes}{rest}"
