"""Everything that people can say."""

from handlers.anf_grow import anf
from handlers.approvals import approval
from handlers.dataset_usage import dataset
from handlers.gpu_digest import gpu
from handlers.notices import notices
from handlers.quota import quota
from handlers.snapshot_cancelling import snapshot
from handlers.train_offers import train

COMMANDS = (train, dataset, snapshot, quota, gpu, anf, approval, notices)
