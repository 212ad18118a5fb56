"""Everything that people can say."""

from handlers.approvals import approval
from handlers.dataset_usage import dataset
from handlers.gpu import gpu
from handlers.quota import quota
from handlers.train_records import train

COMMANDS = (train, dataset, quota, gpu, approval)
