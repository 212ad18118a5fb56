"""Every five minutes: deletes expired snapshots."""

from bot.schedule import ScheduledJob
from bot.snapshots.snapshots.expiry import expire

job = ScheduledJob("snapshot-expiry", "*/5 * * * *", "UTC", expire)
