"""Everything that people can say: each slash command, with the files that declare its verbs.

Help lists the verbs in this order.
"""

from bot.slack.grammar.declarations import Command
from bot.training.translation import translated
from handlers.anf import changes, grow, pools, repair, volumes
from handlers.approval import approval
from handlers.dataset import browsing, caches, catalogue, keeping, push, usage
from handlers.gpu import digest, network, report, use, waiting
from handlers.notices import notices
from handlers.pvc import pvc
from handlers.qm import leftovers, state
from handlers.quota import quota
from handlers.snapshot import cancelling, reverts, schedules, snapshots
from handlers.team import team
from handlers.train import (
    flows,
    offers,
    records,
    requests,
    runs,
    scaling,
    sessions,
    sweeps,
    templates,
    watching,
)

train = Command(
    "train",
    "Training runs: submit, follow, stop and resubmit",
    parts=(
        runs.train,
        watching.train,
        sessions.train,
        scaling.train,
        records.train,
        templates.train,
        offers.train,
        requests.train,
        sweeps.train,
        flows.train,
    ),
    translate=translated,
)
dataset = Command(
    "dataset",
    "Datasets: where they are stored, and what their versions contain",
    parts=(
        catalogue.dataset,
        browsing.dataset,
        caches.dataset,
        push.dataset,
        keeping.dataset,
        usage.dataset,
    ),
)
snapshot = Command(
    "snapshot",
    "Snapshots of PVCs: take, keep, restore, and clone PVCs",
    parts=(snapshots.snapshot, schedules.snapshot, reverts.snapshot, cancelling.snapshot),
)
gpu = Command(
    "gpu",
    "GPUs and the network between them",
    parts=(network.gpu, use.gpu, waiting.gpu, report.gpu, digest.gpu),
)
anf = Command(
    "anf",
    "Azure NetApp Files: volumes, pools and their service levels",
    parts=(volumes.anf, changes.anf, repair.anf, grow.anf, pools.anf),
)
qm = Command(
    "qm",
    "Who you are here, the state of the bot, who did what, and what is not used",
    parts=(state.qm, leftovers.qm),
)

COMMANDS = (train, dataset, snapshot, pvc, quota, team, gpu, anf, approval, notices, qm)
